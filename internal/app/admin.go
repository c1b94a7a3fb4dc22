package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	a2aserver "a2a-server"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/visible"
)

// adminHelp is the end of the help of each command that asks a running server.
const adminHelp = `
It asks the server that runs on this machine, through the socket admin.sock in its data
folder. Only the user who runs the server, and root, may connect; who they are, and what
they may do, is in auth.socket (docs/admin.md).

Exit codes: 0 it was done, 1 it was not, 2 the command line or the configuration is
invalid, 3 you have not confirmed it, 4 it is not known whether it was done.
`

// admin is how a command reaches a running server.
type admin struct {
	data  string
	given *flags // of the configuration, which names the data folder without data
	query adminsocket.Query
}

// adminFlags gives c the flags that name a running server.
func adminFlags(c *cobra.Command) *admin {
	a := &admin{given: &flags{}}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&a.data, "data", "", "The data `folder` of the server. Defaults to the one in the configuration.")
	fileFlag(c, a.given)
	c.Flags().BoolVar(&a.query.Anonymous, "anonymous", false, "What was made without authentication, which takes the role admin.")
	c.Long += adminHelp
	return a
}

// client returns the client of the server that a names.
func (p *program) client(a *admin) (*adminsocket.Client, error) {
	data := a.data
	if data == "" {
		c, err := p.load(a.given)
		if err != nil {
			return nil, err
		}
		data = c.Data
	}
	path, err := filepath.Abs(a2aserver.AdminSocket(data))
	if err != nil {
		return nil, fmt.Errorf("find the data folder: %w", err)
	}
	return adminsocket.NewClient(path), nil
}

// asks makes c a command that asks the server that a names, until the person interrupts it.
func (p *program) asks(c *cobra.Command, a *admin, do func(ctx context.Context, client *adminsocket.Client, args []string) error) {
	c.RunE = func(c *cobra.Command, args []string) error {
		client, err := p.client(a)
		if err != nil {
			return err
		}
		ctx, stop := interruptible(c.Context())
		defer stop()
		return do(ctx, client, args)
	}
}

// sureFlag gives c the flag that stands for the person's confirmation. Without it, c does
// nothing when there is nobody to ask.
func (p *program) sureFlag(c *cobra.Command) *bool {
	sure := c.Flags().Bool("yes", false, "Do not ask on the terminal.")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *sure {
			return nil
		}
		if err := p.needsPerson(); err != nil {
			return fmt.Errorf("%w, or add --yes", err)
		}
		return nil
	}
	return sure
}

// oneArgument makes a command take one id.
func oneArgument(c *cobra.Command, of string) {
	c.Annotations = map[string]string{takesArguments: "yes"}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s takes the id of one %s; 'a2a-server %ss list' has them", within(c), of, of)
		}
		return nil
	}
}

// unknownError says that it is not known whether something was done.
type unknownError struct{ problem string }

// Error returns why, and how to find out.
func (e *unknownError) Error() string { return e.problem }

// changed returns the error of a change for the person: what is not known, and how to find
// out, if the server has not answered.
func changed(err error, what, look string) error {
	if unknown, is := errors.AsType[*adminsocket.OutcomeError](err); is {
		return &unknownError{fmt.Sprintf("it is not known whether %s: %s\nWhen the server answers again, '%s' shows it", what, visible.Text(unknown.Cause.Error()), look)}
	}
	return shownError(err)
}

// shownError returns an error of the server with its invisible characters escaped.
func shownError(err error) error {
	if e, is := errors.AsType[*adminsocket.Error](err); is {
		return errors.New(visible.Text(e.Message))
	}
	return err
}

// person reports whether somebody is at the terminal.
func (p *program) person() bool {
	in, ok := p.stdin.(io.Writer) // a file, as a terminal is
	return ok && terminal(in) && terminal(p.stderr)
}

// needsPerson returns the error of a command that asks, when there is nobody to ask.
func (p *program) needsPerson() error {
	if p.person() {
		return nil
	}
	return &refusedError{"nothing was done: it has to be confirmed, and there is no terminal to ask on; run the command in a terminal"}
}

// confirm asks the person at the terminal, and returns a [*refusedError] unless they write
// yes.
func (p *program) confirm(ctx context.Context, question string) error {
	k := &keyboard{from: p.stdin}
	for {
		line, err := k.line(ctx, func() error {
			_, err := io.WriteString(p.stderr, question+" [y/N] ")
			return err
		})
		switch {
		case errors.Is(err, io.EOF):
			return &refusedError{"nothing was done: standard input ended without an answer"}
		case err != nil && ctx.Err() != nil:
			_, _ = io.WriteString(p.stderr, "\n") // after the question; nothing depends on it
			return &refusedError{"nothing was done: the command was interrupted"}
		case err != nil:
			return fmt.Errorf("ask on the terminal: %w", err)
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return nil
		case "", "n", "no":
			return &refusedError{"nothing was done"}
		}
		if _, err := fmt.Fprintln(p.stderr, "Write y or n; an empty line is no."); err != nil {
			return err
		}
	}
}

// table prints lines of columns, which are separated by tabs.
func (p *program) table(lines []string) error { return table(p.stdout, lines) }

func table(to io.Writer, lines []string) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return err
	}
	return w.Flush()
}

// columns returns a line for table. Invisible characters are escaped, and what is empty is
// marked.
func columns(all ...string) string {
	for i, text := range all {
		if text = visible.Line(text); text == "" {
			text = none
		}
		all[i] = text
	}
	return strings.Join(all, "\t")
}

// moment returns a time as people read it; "" for none.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format(time.RFC3339)
}

// facts are names and values, one on a line, for a screen with so many columns.
type facts struct {
	strings.Builder
	columns int
}

// add adds a fact that has a value. A value that takes several lines, or would on the screen,
// is indented, so that no line of it looks like one of ours.
func (f *facts) add(name, value string) {
	value = strings.TrimRight(visible.Text(value), " \n\t")
	if value == "" {
		return
	}
	const indent = 12 // after the name
	if lines := broken(value, f.columns-indent-len(bar)-1); len(lines) > 1 {
		value = bar + strings.Join(lines, "\n"+strings.Repeat(" ", indent)+bar)
	}
	fmt.Fprintf(&f.Builder, "%-11s %s\n", name, value)
}

// maxListed is how many entries a list has unless the person asks for more.
const maxListed = 1000

// limitFlag gives c the flag that bounds a list.
func limitFlag(c *cobra.Command) *int {
	return c.Flags().Int("limit", maxListed, "How many to list at most. Default 1000.")
}

// pages reads pages until they end or have limit entries. read returns how many entries a
// page had, and the cursor of the next one. more reports whether there are others.
func pages(limit int, q *adminsocket.Query, read func() (n int, next string, err error)) (more bool, err error) {
	if limit < 1 {
		return false, usage("--limit is %d: write a number from 1", limit)
	}
	for {
		q.Limit = min(limit, adminsocket.MaxPage)
		n, next, err := read()
		if err != nil {
			return false, shownError(err)
		}
		if next == "" {
			return false, nil
		}
		if limit -= n; limit <= 0 {
			return true, nil
		}
		q.Cursor = next
	}
}

// noteMore says on stderr that a list is not whole.
func (p *program) noteMore(more bool) error {
	if !more {
		return nil
	}
	_, err := fmt.Fprintln(p.stderr, "There are more: raise --limit to list them.")
	return err
}
