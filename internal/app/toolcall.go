package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	a2aserver "a2a-server"
	"a2a-server/internal/app/cli"
	"a2a-server/internal/app/config"
	"a2a-server/internal/app/process"
	"a2a-server/internal/app/signals"
	"a2a-server/internal/app/toolcall"
	"a2a-server/internal/visible"
)

// maxArguments is how many bytes of arguments are read from standard input.
const maxArguments = 4 << 20

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
	object := c.Flags().String("json", "", "The arguments as a JSON `object`; - reads it from standard input.")
	given := cli.ConfigFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := callText(p, args[0], args[1:], *object, c.Flags().Changed("json"))
		if err != nil {
			return err
		}
		options, _, err := configure(p, given)
		if err != nil {
			return err
		}
		options.Log = process.NewLogger(config.Log{Level: "error", Format: "console"}, p.Stderr)
		ctx, stop := signals.Interruptible(c.Context())
		defer stop()
		err = call(ctx, p, options, args[0], text)
		if wrong, is := errors.AsType[*toolcall.Error](err); is {
			return fmt.Errorf("%w\n'%s' has the tools and their problems, '%s' the arguments of one", wrong, cli.Again(c, "tools", "list"), cli.Again(c, "tools", "show", "NAME"))
		}
		return err
	}
	return c
}

func call(ctx context.Context, p *cli.Program, options a2aserver.Config, name, text string) error {
	d := newPrompter(p, name)
	end, err := toolcall.Run(ctx, options, text, d)
	d.end()
	switch {
	case errors.Is(err, toolcall.ErrNobody) && end.Unknown:
		return errors.New(cmp.Or(d.refusal, visible.Line(name)+" may have run or not"))
	case errors.Is(err, toolcall.ErrNobody):
		return cli.Exit(cli.ExitRefused, cmp.Or(d.refusal, visible.Line(name)+" was canceled: "+visible.Text(err.Error())))
	case d.broken() != nil:
		return fmt.Errorf("the call of %s was canceled, because its output cannot be written: %w", visible.Line(name), d.broken())
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return fmt.Errorf("the call of %s was canceled", visible.Line(name))
	case err != nil:
		return err
	case end.OK && !end.Refused: // a tool whose result is the decision also ends well if that is no
		return nil
	}
	why := visible.Text(end.Text)
	switch {
	case why == "" && end.Refused:
		why = visible.Line(name) + " was not approved"
	case why == "":
		why = visible.Line(name) + " did not succeed"
	}
	if end.Refused {
		return cli.Exit(cli.ExitRefused, why)
	}
	return errors.New(why)
}

// callText returns the message that calls a tool, as the direct planner takes it.
func callText(p *cli.Program, name string, args []string, object string, isObject bool) (string, error) {
	for _, a := range append([]string{name}, args...) {
		if !utf8.ValidString(a) {
			return "", cli.Usage("tools call: %s is not valid UTF-8, and no tool could get it as it is", visible.Quote(a, 80))
		}
	}
	if !isObject {
		return "/" + name + " " + cli.PairText(args), nil
	}
	if len(args) > 0 {
		return "", cli.Usage("tools call: write the arguments with --json or as key=value, not both")
	}
	var from io.Reader
	if object == "-" {
		if from = p.Stdin; from == nil {
			return "", cli.Usage("tools call: --json is -, and there is no standard input")
		}
	}
	object, err := cli.ReadObject("tools call", object, from, maxArguments)
	return "/" + name + " " + object, err
}
