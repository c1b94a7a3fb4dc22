package app

import (
	"context"
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
	"a2a-server/internal/logs"
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
