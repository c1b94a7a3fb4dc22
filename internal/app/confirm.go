package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/internal/visible"
)

// sureFlag gives c the flag that stands for the person's confirmation. Without it, c does
// nothing unless a person is at the terminal.
func (p *program) sureFlag(c *cobra.Command) *bool {
	sure := c.Flags().Bool("yes", false, "Do not ask on the terminal.")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *sure {
			return nil
		}
		return p.needsPerson("add --yes")
	}
	return sure
}

// person reports whether a person is at the terminal.
func (p *program) person() bool {
	in, ok := p.stdin.(io.Writer) // a file, as a terminal is
	return ok && terminal(in) && terminal(p.stderr)
}

// needsPerson returns the error of a command that asks, if no person is at the terminal. or is
// the alternative that the error offers.
func (p *program) needsPerson(or string) error {
	if p.person() {
		return nil
	}
	return &exitError{exitRefused, "nothing was done: it has to be confirmed, and there is no terminal to ask on; run the command in a terminal, or " + or}
}

// maxShown is how many things a question shows that is about all of them.
const maxShown = 50

// confirmAll is confirm for a change of each thing in a table. The subject is the caller's.
func (p *program) confirmAll(ctx context.Context, s *server, lines []string, question string) error {
	me, err := s.WhoAmI(ctx)
	if err != nil {
		return s.explain(err)
	}
	if more := len(lines) - 1 - maxShown; more > 0 { // the first is the heading
		lines = append(lines[:1+maxShown], fmt.Sprintf("and %d more", more))
	}
	var text strings.Builder
	if err := table(&text, lines); err != nil {
		return err
	}
	return p.confirm(ctx, text.String(), question, me.Caller.Subject)
}

// confirm shows a text to the person at the terminal, and returns an error unless they confirm
// that the subject does what the question says.
func (p *program) confirm(ctx context.Context, text, question, subject string) error {
	if _, err := io.WriteString(p.stderr, text); err != nil {
		return err
	}
	k := &keyboard{from: p.stdin, to: p.stderr}
	for {
		line, err := k.ask(ctx, question+", as "+visible.Line(subject)+"? [y/N]")
		switch {
		case errors.Is(err, io.EOF):
			return &exitError{exitRefused, "nothing was done: standard input ended without an answer"}
		case err != nil && ctx.Err() != nil:
			return &exitError{exitRefused, "nothing was done: the command was interrupted"}
		case err != nil:
			return err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return nil
		case "", "n", "no":
			return &exitError{exitRefused, "nothing was done"}
		}
		if _, err := fmt.Fprintln(p.stderr, "Write y or n; an empty line is no."); err != nil {
			return err
		}
	}
}
