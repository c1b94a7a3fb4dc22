package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	a2aserver "a2a-server"
	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/operator"
	"a2a-server/cmd/a2a-server/internal/remote"
	"a2a-server/cmd/a2a-server/internal/signals"
	"a2a-server/cmd/a2a-server/internal/tasks"
	"a2a-server/cmd/a2a-server/internal/toolcall"
	"a2a-server/internal/visible"
)

const callHelp = `Arguments are key=value, or one text if the tool has one required argument that is
a text. The call goes through the same gates as in the server, with the tasks in
memory and no port. If it has to be approved, the question is on the terminal:
y runs it, n rejects it, edit runs it with other arguments, and reason rejects it
with a reason. Without a terminal it is refused. Ctrl-C cancels it.

Exit codes: 0 it succeeded, 1 it failed, was canceled, or may have run or not, 2 the
command line or the configuration is invalid, 3 it was not approved.
`

func toolsCall(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "call NAME [key=value]...", Short: "run a tool once, with approvals on the terminal",
		Long: callHelp, Annotations: map[string]string{cli.TakesPairs: "yes"},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" || strings.ContainsFunc(args[0], unicode.IsSpace) {
				return cli.Usage("tools call takes the name of a tool, and its arguments as key=value; '%s' has the names", cli.Again(c, "tools", "list"))
			}
			if name, is := strings.CutPrefix(args[0], "/"); is {
				return cli.Usage("the slash is for messages: write '%s'", cli.Again(c, append([]string{"tools", "call", name}, args[1:]...)...))
			}
			return nil
		},
	}
	object := p.ObjectFlag(c)
	given := cli.ConfigFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := callText(args[0], args[1:], object)
		if err != nil {
			return err
		}
		options, by, _, err := configure(p, given)
		if err != nil {
			return err
		}
		ctx, stop := signals.Interruptible(c.Context())
		defer stop()
		err = call(ctx, p, newPrompter(p), options, by, args[0], text)
		if wrong, is := errors.AsType[usageError](err); is {
			return fmt.Errorf("%w\n'%s' has the tools and their problems, '%s' the arguments of one", wrong, cli.Again(c, "tools", "list"), cli.Again(c, "tools", "show", "NAME"))
		}
		return err
	}
	return c
}

// toolCall is the call of 'tools call'.
type toolCall struct {
	*toolcall.Server
	name   string // of the tool, for people
	answer string // of the planner to a message that is no call
}

// usageError says that a message names no call that can be made, such as one with arguments
// that cannot be read.
type usageError struct{ error }

// callError says that a call did not succeed; "" without the reason.
type callError struct{ why string }

// Error returns the reason.
func (e *callError) Error() string { return e.why }

func call(ctx context.Context, p *cli.Program, d *prompter, options a2aserver.Config, by *operator.Operator, name, text string) (err error) {
	server, err := toolcall.Start(options, by, text) //nolint:contextcheck // ctx ends the call, not the server
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	t := &talk{p: p, s: remote.Local(server.Client), prompter: d, empty: "no", call: &toolCall{Server: server, name: visible.Line(name)}}
	return t.callOnce(ctx, text)
}

// cancelTime bounds how long a canceled call is waited for.
const cancelTime = 15 * time.Second

// callOnce sends a message that is a call, and follows the call to its end, which the error is about.
func (t *talk) callOnce(ctx context.Context, text string) error {
	err := t.say(ctx, text)
	if err != nil || t.task == "" {
		return cmp.Or(t.call.Down(ctx), err, error(usageError{errors.New(problemOf(t.call.answer))}))
	}
	err = t.events(ctx)
	for errors.Is(err, errWaits) {
		if err = t.reply(ctx); err == nil {
			err = t.events(ctx)
		}
	}
	if err == nil {
		err = &callError{}
	}
	if ended, is := errors.AsType[*callError](err); is {
		return t.outcome(ended.why)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime) // ctx may have ended
	defer cancel()
	if t.s.CancelTask(last, t.task) == nil {
		_ = t.events(last) // its end is shown; why it was canceled is the error
	}
	switch {
	case t.prompter.broken() != nil:
		return fmt.Errorf("the call of %s was canceled, because its output cannot be written: %w", t.call.name, t.prompter.broken())
	case ctx.Err() != nil:
		return fmt.Errorf("the call of %s was canceled", t.call.name)
	}
	return err
}

// outcome returns the error of a call that has ended, with the text of its end.
func (t *talk) outcome(why string) error {
	refused := (t.call.Refused() || tasks.ShortState(t.state) == "canceled") && !t.unknown
	switch {
	case tasks.ShortState(t.state) == "completed" && !refused: // a tool whose result is the decision also ends well if that is no
		return nil
	case refused:
		return cli.Exit(cli.ExitRefused, cmp.Or(why, t.call.name+" was not approved"))
	}
	return errors.New(cmp.Or(why, t.call.name+" did not succeed"))
}

// noTerminal says, after the name of a tool, why its question was not asked.
const noTerminal = " was canceled: it asks something, and there is no terminal to ask on; run the command in a terminal"

// reply answers a question of the planner, which it asks because the tool wants it to.
func (t *talk) reply(ctx context.Context) error {
	if !t.prompter.person {
		return cli.Exit(cli.ExitRefused, t.call.name+noTerminal)
	}
	line, err := t.prompter.ask(ctx, "Your answer (an empty line is none):")
	switch {
	case err != nil:
		return t.unanswered(err)
	case line == "":
		return cli.Exit(cli.ExitRefused, t.call.name+" was canceled: its question was not answered")
	}
	return t.say(ctx, line)
}

// undecidable returns why an approval cannot be decided here; nil: the person decides it.
func (t *talk) undecidable(d *client.ApprovalDetail) error {
	text := t.call.name + " was not run: the call has to be approved, and there is no terminal to ask on; run the command in a terminal"
	switch a := &d.Approval; {
	case !d.May.Decide:
		text = t.call.name + ": no person can decide in this command, whose caller is anonymous: " + visible.Text(d.May.WhyNot)
	case t.prompter.person:
		return nil
	case a.Kind == client.KindOutcome:
		text = t.call.name + " may have run or not: " + visible.Text(a.Hint)
	case a.Kind != client.KindCall || a.Question != "":
		text = t.call.name + noTerminal
	}
	return t.stopped(text)
}

// unanswered returns the error of a question that got no answer.
func (t *talk) unanswered(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return t.stopped(t.call.name + " was not approved: standard input ended without an answer")
}

// stopped returns the error of a call that ends here: it was refused, unless it may have run.
func (t *talk) stopped(text string) error {
	if t.unknown {
		return errors.New(text)
	}
	return cli.Exit(cli.ExitRefused, text)
}

// problemOf returns the problem with a message, from the answer of the direct planner to it,
// which also lists the tools.
func problemOf(answer string) string {
	head, _, _ := strings.Cut(answer, "\n\n")
	_, problems, wrong := strings.Cut(head, "Nothing was run:\n")
	if !wrong {
		return "the message is no call of a tool; write its name, and key=value for each argument"
	}
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(problems), "- "), "part 1: ")
}

// callText returns the message that calls a tool, as the direct planner takes it.
func callText(name string, args []string, object func(pairs []string) (string, bool, error)) (string, error) {
	for _, a := range append([]string{name}, args...) {
		if !utf8.ValidString(a) {
			return "", cli.Usage("tools call: %s is not valid UTF-8, and no tool could get it as it is", visible.Quote(a, 80))
		}
	}
	text, isObject, err := object(args)
	if !isObject {
		text = cli.PairText(args)
	}
	return "/" + name + " " + text, err
}
