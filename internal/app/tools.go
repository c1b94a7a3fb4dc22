package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"a2a-server/approval"
	"a2a-server/internal/app/config"
	"a2a-server/internal/toolset"
	"a2a-server/internal/visible"
)

func (p *program) toolsCommand() *cobra.Command {
	return group("tools", "list, show or call the tools of the configuration", p.toolsList(), p.toolsShow(), p.toolsCall())
}

// form is the value of the flag --output.
type form string

const asJSON form = "json"

// outputFlag gives c the flag that chooses between text and JSON.
func outputFlag(c *cobra.Command) *form {
	var f form
	c.Flags().VarP(&f, "output", "o", "How to print it: text, or json for programs. Default text.")
	return &f
}

// String returns the form.
func (f *form) String() string { return string(*f) }

// Set returns an error for an unknown form. A table is text.
func (f *form) Set(text string) error {
	if text == "table" {
		text = "text"
	}
	if text != "text" && text != "json" {
		return fmt.Errorf("is %q, which is no form of output; write text or json", text)
	}
	*f = form(text)
	return nil
}

// Type returns the form of the value, for the help.
func (f *form) Type() string { return "text or json" }

func (p *program) toolsList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "list the tools, with their origins and gates"}
	as := outputFlag(c)
	given := configFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		all, err := p.inspect(c.Context(), given)
		if err != nil {
			return err
		}
		lines := []string{"NAME\tFROM\tGATE\tSAYS\tDIGEST"}
		for i := range all.Tools {
			t := &all.Tools[i]
			lines = append(lines, columns(t.Name, shortOrigin(t.Origin), gateColumn(t), saysColumn(t), digestColumn(t)))
		}
		if err := p.list(*as, newInventoryJSON(all), lines, "there are no tools", false); err != nil || *as == asJSON {
			return err
		}
		return printProblems(p.stderr, all.Problems)
	}
	return c
}

// inspect returns the tools of the configuration.
func (p *program) inspect(ctx context.Context, given *flags) (*toolset.Inventory, error) {
	options, conf, err := p.configure(given)
	if err != nil {
		return nil, err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	return toolset.Inspect(ctx, toolset.Config{
		Operator: conf, Environment: options.Environment, DefaultTools: options.DefaultTools,
		Log: newLogger(config.Log{Level: "error", Format: "console"}, p.stderr),
	})
}

// shortOrigin returns an origin without the file: there is only one.
func shortOrigin(o toolset.Origin) string {
	switch {
	case o == (toolset.Origin{}):
		return "Go"
	case o.Line == 0:
		return o.Kind
	case o.Kind == string(config.KindCommand), o.Kind == string(config.KindHTTP):
		return fmt.Sprintf("%s:%d", o.Kind, o.Line)
	}
	return fmt.Sprintf("%s %s:%d", o.Kind, visible.Line(o.Entry), o.Line)
}

const none = "–"

// gateColumn returns the action of the gates before a call of t, and their reasons.
func gateColumn(t *toolset.ToolInfo) string {
	action, sometimes := t.Decision()
	if action == approval.ActionAllow {
		return none
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
		text := visible.Line(g.Why) + after(", ", shortPlace(g))
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

// after returns text after a separator; "" if there is none.
func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// saysColumn returns the annotations or claims about the effects of t.
func saysColumn(t *toolset.ToolInfo) string {
	says := t.Annotations.Words()
	if t.Own != "" {
		says = t.Claims
	}
	if len(says) == 0 {
		return none
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
	case t.Changed():
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
		if o := one.Origin; o != (toolset.Origin{}) {
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

// printJSON prints v as JSON. Invisible characters are escaped, as JSON allows.
func (p *program) printJSON(v any) error {
	text, err := indented(v)
	if err == nil {
		_, err = io.WriteString(p.stdout, text)
	}
	return err
}

// indented returns v as JSON that people read.
func indented(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return visible.Text(b.String()), nil
}
