package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/cmd/a2a-server/internal/signals"
	"a2a-server/cmd/a2a-server/internal/toolset"
	"a2a-server/internal/catalog"
	"a2a-server/internal/lists"
	"a2a-server/internal/logs"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

func toolsList(p *cli.Program) *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list the tools of the local configuration, with their origins and gates"}
	as := cli.OutputFlag(c)
	given := cli.ConfigFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		all, err := inspect(c.Context(), p, given, *as)
		if err != nil {
			return err
		}
		lines := []string{"NAME\tFROM\tGATE\tSAYS\tDIGEST"}
		for i := range all.Tools {
			t := &all.Tools[i]
			lines = append(lines, display.Row(t.Name, shortOrigin(t.Origin), gateColumn(t), saysColumn(t), digestColumn(t)))
		}
		if err := p.List(*as, all, lines, "there are no tools", false, nil); err != nil || *as == cli.AsJSON {
			return err
		}
		return printProblems(p.Stderr, all.Problems)
	}
	return c
}

// inspect returns the tools of the configuration. As text, a note says which that is.
func inspect(ctx context.Context, p *cli.Program, given *cli.Flags, as cli.Form) (*toolset.Inventory, error) {
	c, err := toolsetOf(p, given)
	if err != nil {
		return nil, err
	}
	if as != cli.AsJSON {
		p.NoteSource(given)
	}
	ctx, stop := signals.Interruptible(ctx)
	defer stop()
	return toolset.Inspect(ctx, c)
}

// toolsetOf returns the parts that the tools and gates of the configuration are made from.
func toolsetOf(p *cli.Program, given *cli.Flags) (toolset.Config, error) {
	conf, err := p.Load(given)
	if err != nil {
		return toolset.Config{}, err
	}
	demo, err := demoTools(conf)
	return toolset.Config{Operator: conf, Environment: p.Env, DefaultTools: demo, Log: logs.New("error", "console", p.Stderr).Logger}, err
}

// shortOrigin returns an origin without the file: there is only one.
func shortOrigin(o catalog.Origin) string {
	switch {
	case o == (catalog.Origin{}):
		return "Go"
	case o.Line == 0:
		return o.Kind
	case slices.Contains([]config.Kind{config.KindCommand, config.KindHTTP, config.KindAgent}, config.Kind(o.Kind)): // the row begins with the name
		return fmt.Sprintf("%s:%d", o.Kind, o.Line)
	}
	return fmt.Sprintf("%s %s:%d", o.Kind, visible.Line(o.Entry), o.Line)
}

// gateColumn returns the action of the gates before a call of t, and their reasons.
func gateColumn(t *toolset.ToolInfo) string {
	action, sometimes := t.Decision, t.Sometimes
	if action == approval.ActionAllow {
		return display.None
	}
	verb := "asks"
	switch {
	case action == approval.ActionDeny && sometimes:
		verb = "may deny"
	case action == approval.ActionDeny:
		verb = "denies"
	case sometimes:
		verb = "may ask"
	}
	var why []string
	for i := range t.Gates {
		g := &t.Gates[i]
		if g.Action != action || g.Void != "" || strings.HasPrefix(g.Why, "default of ") {
			continue
		}
		text := visible.Line(g.Why) + display.After(", ", shortPlace(g))
		if g.Why == "approve_tools" && g.Line == 0 {
			text = shortPlace(g) // the name of the flag or the variable
		}
		why = append(why, text)
	}
	if len(why) > 0 {
		verb += " (" + strings.Join(why, "; ") + ")"
	}
	return verb
}

// shortPlace returns the place where a gate was configured, without the file: there is only
// one.
func shortPlace(g *toolset.GateInfo) string {
	if g.Line > 0 {
		return fmt.Sprintf("line %d", g.Line)
	}
	return visible.Line(g.File)
}

// saysColumn returns the annotations or claims about the effects of t.
func saysColumn(t *toolset.ToolInfo) string {
	says := t.Effects
	if t.Own != "" {
		says = t.Claims
	}
	if len(says) == 0 {
		return display.None
	}
	text := visible.Line(strings.Join(says, ", "))
	if t.Trusted {
		text += " (trusted)"
	}
	return text
}

func digestColumn(t *toolset.ToolInfo) string {
	text := t.Digest[:8]
	switch {
	case t.Changed:
		text += " not the pinned one"
	case t.Pin != "":
		text += " pinned"
	}
	return text
}

// printProblems prints problems with tools, if there are any.
func printProblems(w io.Writer, problems []toolset.ToolProblem) error {
	var lines []string
	for _, one := range problems {
		line := visible.Line(one.Problem)
		if o := one.Origin; o != (catalog.Origin{}) {
			line = fmt.Sprintf("%s %s (line %d): %s", o.Kind, visible.Line(o.Entry), o.Line, line)
		}
		if len(one.Stderr) > 0 {
			line += "; it wrote to stderr, at last:"
		}
		for _, said := range one.Stderr {
			line += "\n  | " + visible.Line(said)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil
	}
	text := "1 problem: " + lines[0] + "\n"
	if len(lines) > 1 {
		text = fmt.Sprintf("%d problems:\n  %s\n", len(lines), strings.Join(lines, "\n  "))
	}
	_, err := io.WriteString(w, text)
	return err
}

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
