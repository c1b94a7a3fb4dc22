// Package policycmd has the commands for authors of a policy: they check it, explain what it
// does with a call, run a file of expectations, and judge the calls of the log. They start no call.
package policycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/signals"
	"a2a-server/cmd/a2a-server/internal/storecmd"
	"a2a-server/cmd/a2a-server/internal/toolset"
	"a2a-server/internal/catalog"
	"a2a-server/internal/lists"
	"a2a-server/internal/visible"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A try loads the configuration that flags name, and calls visit with its tools and gates.
type try func(ctx context.Context, given *cli.Flags, visit func(context.Context, *toolset.State) error) error

// Command returns the command policy. load returns the parts that the tools and gates of a configuration are made from.
func Command(p *cli.Program, load func(*cli.Program, *cli.Flags) (toolset.Config, error)) *cobra.Command {
	try := func(ctx context.Context, given *cli.Flags, visit func(context.Context, *toolset.State) error) error {
		c, err := load(p, given)
		if err != nil {
			return err
		}
		ctx, stop := signals.Interruptible(ctx)
		defer stop()
		return toolset.Try(ctx, c, visit)
	}
	return cli.Group("policy", "check, explain, test or simulate the gates", check(p, try), explain(p, try), test(p, try), simulate(p, try))
}

func check(p *cli.Program, try try) *cobra.Command {
	return cli.Configured("check", "report gates without effect, unknown tools and roles, and conditions that would fail", func(ctx context.Context, given *cli.Flags) error {
		var problems []string
		if err := try(ctx, given, func(ctx context.Context, s *toolset.State) (err error) {
			problems, err = s.CheckPolicy(ctx)
			return err
		}); err != nil {
			return err
		}
		if len(problems) == 0 {
			return p.Printf("the policy has no problems\n")
		}
		return cli.Exit(cli.ExitFailure, fmt.Sprintf("the policy has problems (%d):\n%s", len(problems), strings.Join(lists.Map(problems, visible.Line), "\n")))
	})
}

const explainHelp = `Arguments are key=value, or an object with --json. Nothing runs, and hooks of
programs are not asked.
`

func explain(p *cli.Program, try try) *cobra.Command {
	c := &cobra.Command{
		Use: "explain TOOL [key=value]...", Short: "say what the gates do with a call, and why", Long: explainHelp,
		Annotations: map[string]string{cli.TakesPairs: "yes"},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("policy explain takes the name of a tool, and its arguments as key=value; '%s' has the names", cli.Again(c, "tools", "list"))
			}
			return nil
		},
	}
	as := cli.OutputFlag(c)
	object := p.ObjectFlag(c)
	subject := c.Flags().String("caller", "", "The `subject` of the requester, such as corp:alice. Default: an anonymous caller.")
	tenant := c.Flags().String("tenant", "", "The `tenant` of the requester.")
	roles := c.Flags().StringSlice("roles", nil, "The `roles` of the requester, separated by commas.")
	chain := c.Flags().StringSlice("chain", nil, "The `parties` that act for the requester, separated by commas.")
	given := cli.ConfigFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		call := catalog.TrialCall{Tool: args[0], By: auth.Trial(*subject, *tenant, *roles, *chain)}
		text, isObject, err := object(args[1:])
		if isObject && err == nil {
			call.Args, err = tool.DecodeArgs([]byte(text))
		}
		if err != nil {
			return err
		}
		return try(c.Context(), given, func(ctx context.Context, s *toolset.State) (err error) {
			if !isObject {
				if len(args) == 2 && strings.HasPrefix(strings.TrimSpace(args[1]), "{") {
					return cli.Usage("policy explain: an object of arguments follows --json, as in --json '{\"a\": 1}'")
				}
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

const simulateHelp = `The calls come from a backup: a file, or one that the server makes at its admin socket and
TMPDIR has room for. The configuration judges them with its tools, for the requester of then.
The log lacks the gate that allowed a call, the tool as it was, and the time, which is that of
the task's status. Not judged: hooks, states of conversations, and grants, which count as ask.
`

// simulation is the result of the command.
type simulation struct {
	calls, changed int
	open           int            // no gate was asked, or their tasks are damaged
	kinds          map[string]int // of changes, such as "allow -> ask"
	changes        []string       // the newest task first, at most [cli.MaxListed]
}

func simulate(p *cli.Program, try try) *cobra.Command {
	var ago, backup string
	c := cli.Configured("simulate", "say what the gates would do now with the calls of the last days", func(ctx context.Context, given *cli.Flags) error {
		d, err := cli.Span(ago)
		if err != nil || d <= 0 {
			return cli.Usage("--since is %q: write days such as 7d, or a duration such as 12h", ago)
		}
		ctx, stop := signals.Interruptible(ctx)
		defer stop()
		s, since := simulation{kinds: map[string]int{}}, time.Now().Add(-d)
		return try(ctx, given, func(_ context.Context, by *toolset.State) error { // whose context ends too soon
			if err := storecmd.Planned(ctx, by.AdminSocket(), by.OwnSocket(), backup, since, func(c *engine.PlannedCall) { s.judge(ctx, by, c) }); err != nil {
				return err
			}
			return p.Printf("since %s: %s", since.UTC().Format(time.RFC3339), s.text())
		})
	})
	c.Long = simulateHelp
	c.Flags().StringVar(&ago, "since", "7d", "How long ago the calls were planned at most: days such as 7d, or a `duration` such as 12h.")
	c.Flags().StringVar(&backup, "backup", "", "Read the calls of a backup, a `file`, instead of those of a server.")
	return c
}

// judge counts a call, and whether the policy would say something else.
func (s *simulation) judge(ctx context.Context, by *toolset.State, c *engine.PlannedCall) {
	if s.calls++; c.Was == "" {
		s.open++
		return
	}
	args, _ := tool.DecodeArgs(c.Args) // which the server did then
	e, err := by.Explain(ctx, catalog.TrialCall{Tool: c.Tool, Args: args, By: c.By})
	now, why, mask := "cannot be judged", tool.ErrMasked.Error(), c.Mask
	switch {
	case err == nil:
		now, why, mask = string(e.Action), strings.Join(e.Decisive(), ", "), approval.Union(mask, e.Merged.Mask)
	case len(mask) == 0 || errors.Is(err, tool.ErrUnknownTool):
		why = err.Error()
	}
	if len(mask) > len(c.Mask) && c.Was == approval.ActionDeny { // the reason has a hint, maybe with more
		c.Why = tool.ErrMasked.Error()
	}
	switch {
	case now != string(c.Was):
	case c.Terms == nil || c.Terms.Same(e.Merged):
		return
	default:
		now, c.Why, why = now+" on other terms", demands(c.Terms), demands(&e.Merged)
	}
	now = fmt.Sprintf("%s -> %s", c.Was, now)
	s.kinds[now]++
	if s.changed++; s.changed <= cli.MaxListed {
		s.changes = append(s.changes, fmt.Sprintf("\n%s: %s %s\n  %s of task %s, %s, by %s\n  then: %s\n  now: %s\n", now, visible.Line(c.Tool), visible.Clip(string(approval.MaskArgs(c.Args, mask)), 2000),
			visible.Line(c.Call), c.Task, c.At.UTC().Format(time.RFC3339), visible.Line(c.By.Subject), cmp.Or(visible.Line(c.Why), "-"), cmp.Or(visible.Line(why), "-")))
	}
}

// demands returns terms on a line, with their gates.
func demands(t *approval.Terms) string {
	gates := []string{t.Gate}
	for _, n := range t.Needs {
		if !slices.Contains(gates, n.Gate) {
			gates = append(gates, n.Gate)
		}
	}
	return strings.Join(gates, ", ") + ": " + strings.Join(t.Words(), "; ")
}

// text returns s for people.
func (s *simulation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d would change; listed: %d\n", display.Count(s.calls, "planned call"), s.changed, len(s.changes))
	for _, kind := range slices.Sorted(maps.Keys(s.kinds)) {
		fmt.Fprintf(&b, "  %d %s\n", s.kinds[kind], kind)
	}
	fmt.Fprintf(&b, "left out: %d, about which no gate was asked, or whose tasks cannot be read\n", s.open)
	return b.String() + strings.Join(s.changes, "")
}
