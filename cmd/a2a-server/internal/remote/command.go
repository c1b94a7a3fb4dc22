// Package remote is the base of the commands that ask a running server: how they find and reach it,
// explain its errors, and look up tasks and approvals by the ends of their ids.
package remote

import (
	"context"

	"github.com/spf13/cobra"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/signals"
)

// Command is a command that asks a running server.
type Command struct {
	*cobra.Command
	p      *cli.Program
	target *target
	As     *cli.Form // of --output, if the command has the flag
	codes  []int     // exit codes
}

// NewCommand makes c a command that asks a running server. of is what the command takes the id of,
// such as task; "": nothing. prints says whether it has the flag --output.
func NewCommand(p *cli.Program, c *cobra.Command, of string, prints bool) *Command {
	r := &Command{Command: c, p: p, As: new(cli.Form), codes: []int{cli.ExitOK, cli.ExitFailure, cli.ExitUsage, cli.ExitRefused, cli.ExitUnknown}}
	if prints {
		r.As = cli.OutputFlag(c)
	}
	r.target = targetFlags(c)
	if of != "" {
		c.Args = func(c *cobra.Command, args []string) error {
			return cli.Exactly(c, args, "; '"+cli.Again(c, of+"s", "list")+"' has them", "the id of one "+of)
		}
	}
	return r
}

// SendsMessages says that the command sends messages, which a server does not take at its socket.
func (r *Command) SendsMessages() { r.target.a2a = true }

// Exits adds exit codes of the command, beside those of each.
func (r *Command) Exits(codes ...int) { r.codes = append(r.codes, codes...) }

// Do sets the function of the command, which runs until the person interrupts it.
func (r *Command) Do(do func(ctx context.Context, s *Server, args []string) error) *cobra.Command {
	r.Long += "\nExit codes:\n" + cli.ExitCodes("  %2d  %s\n", r.codes...)
	r.RunE = func(c *cobra.Command, args []string) error {
		s, err := connect(r.p, r.target, cli.ServerFlags(c))
		if err != nil {
			return err
		}
		ctx, stop := signals.Interruptible(c.Context())
		defer stop()
		return do(ctx, s, args)
	}
	return r.Command
}
