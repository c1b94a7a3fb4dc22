package app

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/toolset"
	"a2a-server/internal/catalog"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

func toolsShow(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "show NAME", Short: "print one tool of the local configuration, with its gates and the digest to pin it by"}
	c.Args = func(c *cobra.Command, args []string) error {
		return cli.Exactly(c, args, "; '"+cli.Again(c, "tools", "list")+"' has them", "the name of one tool")
	}
	as := cli.OutputFlag(c)
	given := cli.ConfigFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		all, err := inspect(c.Context(), p, given, *as)
		if err != nil {
			return err
		}
		var names []string
		for i := range all.Tools {
			t := &all.Tools[i]
			names = append(names, t.Name)
			if t.Name != args[0] {
				continue
			}
			text, err := shown(t)
			if err != nil && *as != cli.AsJSON {
				return err
			}
			return p.Show(*as, t, text)
		}
		if err := printProblems(p.Stderr, all.Problems); err != nil {
			return err
		}
		return fmt.Errorf("there is no tool %+q%s", visible.Shorten(args[0], 80), suggest.DidYouMean(args[0], "", names))
	}
	return c
}

// shown returns everything about a tool, for people.
func shown(t *toolset.ToolInfo) (string, error) {
	var b strings.Builder
	fmt.Fprintln(&b, visible.Line(t.Name))
	for line := range strings.SplitSeq(strings.TrimSpace(visible.Text(t.Description)), "\n") {
		fmt.Fprintln(&b, strings.TrimRight("  "+line, " ")) // indented, so that no line imitates a row of the program
	}
	row := func(name, value string) { fmt.Fprintf(&b, "%-10s %s\n", name, value) }
	b.WriteByte('\n')
	row("from", longOrigin(t.Origin))
	row("calls", decisionText(t))
	for i := range t.Gates {
		name := ""
		if i == 0 {
			name = "gates"
		}
		row(name, gateText(&t.Gates[i]))
	}
	if t.Own != "" {
		row("claims", words(t.Claims)+", as the server says"+map[bool]string{true: "; trusted", false: "; not trusted"}[t.Trusted])
	}
	row("effects", words(t.Effects)+" declared")
	row("result", resultText(t))
	row("timeout", t.Timeout)
	row("for", audienceText(t))
	row("digest", t.Digest)
	if t.Changed {
		row("pinned", visible.Line(t.Pin)+", which is another definition")
	}
	if t.Own != "" {
		row("pins:", fmt.Sprintf("{%s: %s}", t.Own, t.Digest))
	}
	schema, err := display.JSON(t.Parameters)
	if err != nil {
		return "", errors.Join(fmt.Errorf("the schema of %s cannot be shown", visible.Line(t.Name)), err)
	}
	if t.Parameters == nil {
		schema = "anything\n"
	}
	fmt.Fprintf(&b, "\narguments\n%s", schema)
	return b.String(), nil
}

func longOrigin(o catalog.Origin) string {
	switch {
	case o == (catalog.Origin{}):
		return "Go"
	case o.Line == 0:
		return fmt.Sprintf("%s, because the configuration has no key tools", o.Kind)
	}
	return fmt.Sprintf("%s %s, %s:%d", o.Kind, visible.Line(o.Entry), visible.Line(o.File), o.Line)
}

// decisionText describes the result of all gates together.
func decisionText(t *toolset.ToolInfo) string {
	action, sometimes := t.Decision, t.Sometimes
	switch {
	case action == approval.ActionDeny && sometimes:
		return "some calls are refused, because a gate denies them"
	case action == approval.ActionDeny:
		return "every call is refused, because a gate denies it"
	case action == approval.ActionAsk && sometimes:
		return "some calls have to be approved"
	case action == approval.ActionAsk:
		return "every call has to be approved"
	}
	return "run without an approval, unless the tool asks while it runs"
}

// gateText describes a gate.
func gateText(g *toolset.GateInfo) string {
	text := string(g.Action)
	if g.Sometimes {
		text = "may " + text
	}
	text += ": " + visible.Line(g.Why) + display.After(", ", visible.Line(g.Place()))
	if g.Void != "" {
		text += " (no effect: " + visible.Line(g.Void) + ")"
	}
	return text
}

func words(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return visible.Line(strings.Join(all, ", "))
}

func resultText(t *toolset.ToolInfo) string {
	text := "at the end"
	if t.Streaming {
		text = "published in pieces while it runs"
	}
	if t.LongRunning {
		text += "; a call starts a job whose result comes later"
	}
	return text
}

func audienceText(t *toolset.ToolInfo) string {
	if t.For == nil {
		return "all callers"
	}
	roles := lists.Map(t.For.Roles, func(role string) string { return "role " + visible.Line(role) })
	return cmp.Or(strings.Join(append(roles, lists.Map(t.For.Callers, visible.Line)...), ", "), "no caller")
}
