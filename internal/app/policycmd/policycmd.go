// Package policycmd has the commands for authors of a policy: they check it, explain what it
// does with a call, and run a file of expectations. They start no call.
package policycmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/auth"
	"a2a-server/internal/app/cli"
	"a2a-server/internal/toolset"
	"a2a-server/internal/visible"
)

// maxArguments is how many bytes of arguments are read from standard input.
const maxArguments = 4 << 20

// A Try loads the configuration that flags name, and calls visit with its tools and gates.
type Try func(ctx context.Context, given *cli.Flags, visit func(context.Context, *toolset.State) error) error

// Command returns the command policy.
func Command(p *cli.Program, try Try) *cobra.Command {
	return cli.Group("policy", "check, explain or test the gates", check(p, try), explain(p, try), test(p, try))
}

func check(p *cli.Program, try Try) *cobra.Command {
	return cli.Configured("check", "report gates without effect, unknown tools and roles, and conditions that would fail", func(ctx context.Context, given *cli.Flags) error {
		var problems []string
		if err := try(ctx, given, func(ctx context.Context, s *toolset.State) (err error) {
			problems, err = s.CheckPolicy(ctx)
			return err
		}); err != nil {
			return err
		}
		if len(problems) == 0 {
			_, err := fmt.Fprintln(p.Stdout, "the policy has no problems")
			return err
		}
		for i := range problems {
			problems[i] = visible.Line(problems[i])
		}
		return cli.Exit(cli.ExitFailure, fmt.Sprintf("the policy has problems (%d):\n%s", len(problems), strings.Join(problems, "\n")))
	})
}

const explainHelp = `Arguments are key=value, or an object with --json. Nothing runs, and hooks of
programs are not asked.
`

func explain(p *cli.Program, try Try) *cobra.Command {
	c := &cobra.Command{
		Use: "explain TOOL [key=value]...", Short: "say what the gates do with a call, and why", Long: explainHelp,
		Annotations: map[string]string{cli.TakesPairs: "yes"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("policy explain takes the name of a tool, and its arguments as key=value; 'a2a-server tools list' has the names")
			}
			return nil
		},
	}
	as := cli.OutputFlag(c)
	object := c.Flags().String("json", "", "The arguments as a JSON `object`; - reads it from standard input.")
	subject := c.Flags().String("caller", "", "`Subject` of the requester, such as corp:alice. Default: an anonymous caller.")
	tenant := c.Flags().String("tenant", "", "`Tenant` of the requester.")
	roles := c.Flags().StringSlice("roles", nil, "`Roles` of the requester, separated by commas.")
	chain := c.Flags().StringSlice("chain", nil, "`Parties` that act for the requester, separated by commas.")
	given := cli.ConfigFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		call := toolset.TrialCall{Tool: args[0], By: requester(*subject, *tenant, *roles, *chain)}
		isObject := c.Flags().Changed("json")
		if isObject {
			if len(args) > 1 {
				return cli.Usage("policy explain: write the arguments with --json or as key=value, not both")
			}
			var from io.Reader
			if *object == "-" {
				from = p.Stdin
			}
			text, err := cli.ReadObject("policy explain", *object, from, maxArguments)
			if err != nil {
				return err
			}
			if call.Args, err = decode(text); err != nil {
				return err
			}
		}
		return try(c.Context(), given, func(ctx context.Context, s *toolset.State) (err error) {
			if !isObject {
				if call.Args, err = s.Arguments(ctx, call.Tool, call.By, args[1:]); err != nil {
					return err
				}
			}
			e, err := s.Explain(ctx, call)
			if err != nil {
				return err
			}
			return p.Show(*as, e, e.Text())
		})
	}
	return c
}

// requester returns the caller that flags or a case describe.
func requester(subject, tenant string, roles, chain []string) auth.Principal {
	if subject == "" && tenant == "" && len(roles)+len(chain) == 0 {
		return auth.Anonymous()
	}
	return auth.Principal{Subject: subject, Tenant: tenant, Roles: roles, Chain: chain, Method: "policy"}
}
