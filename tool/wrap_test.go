package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// plain is a tool that can do nothing but be declared.
type plain struct {
	name     string
	approval bool
	schema   map[string]any
}

func (p *plain) Name() string           { return p.name }
func (p *plain) Description() string    { return "does " + p.name }
func (p *plain) IsLongRunning() bool    { return false }
func (p *plain) RequiresApproval() bool { return p.approval }

// Each of these adds one thing to a tool.
type (
	calls     struct{ tool.Tool }
	streams   struct{ tool.Tool }
	cancels   struct{ tool.Tool }
	processes struct{ tool.Tool }
	foreign   struct{ tool.Tool }
	slow      struct{ tool.Tool }
)

var arguments = map[string]any{"type": "object"}

func (c calls) Unwrap() tool.Tool    { return c.Tool }
func (calls) Schema() map[string]any { return arguments }
func (calls) Call(tool.Context, map[string]any) (map[string]any, error) {
	return map[string]any{"called": true}, nil
}

func (s streams) Unwrap() tool.Tool    { return s.Tool }
func (streams) Schema() map[string]any { return arguments }
func (streams) CallStreaming(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) { yield(&tool.Result{Content: "streamed"}, nil) }
}

func (c cancels) Unwrap() tool.Tool        { return c.Tool }
func (cancels) Cancel(id string) bool      { return id == "c1.1" }
func (cancels) SupportsCancellation() bool { return true }

func (p processes) Unwrap() tool.Tool { return p.Tool }
func (processes) ProcessRequest(_ tool.Context, r *tool.Request) error {
	r.SystemInstruction = "processed"
	return nil
}

// foreigner is an interface that this package does not know.
type foreigner interface{ Foreign() string }

func (f foreign) Unwrap() tool.Tool { return f.Tool }
func (foreign) Foreign() string     { return "known to others" }

func (s slow) Unwrap() tool.Tool { return s.Tool }
func (slow) IsLongRunning() bool { return true }

type annotated struct{ tool.Tool }

func (annotated) Annotations() tool.Annotations { return tool.Annotations{Idempotent: true} }
func (a annotated) Unwrap() tool.Tool           { return a.Tool }

type takesPayload struct {
	tool.Tool
	takes bool
}

func (p takesPayload) TakesPayload() bool { return p.takes }
func (p takesPayload) Unwrap() tool.Tool  { return p.Tool }

type gate struct {
	tool.Tool
	f tool.GateFunc
}

func (g gate) Gate(ctx agent.ReadonlyContext, args map[string]any) (bool, error) {
	return g.f(ctx, args)
}

type hint struct {
	tool.Tool
	text string
}

func (h hint) Hint(_ agent.ReadonlyContext, args map[string]any) (string, error) {
	if args["bad"] != nil {
		return "", errors.New("no text")
	}
	return strings.ReplaceAll(h.text, "{to}", fmt.Sprint(args["to"])), nil
}
func (h hint) Unwrap() tool.Tool { return h.Tool }

// TestWrappedKeepsWhatIsDeclared wraps a tool of every combination of what a tool can
// declare: outside, outside twice, and between any two of its parts.
func TestWrappedKeepsWhatIsDeclared(t *testing.T) {
	t.Parallel()
	parts := []func(tool.Tool) tool.Tool{
		// The first one, for it cannot be unwrapped.
		func(t tool.Tool) tool.Tool {
			return hint{gate{t, func(agent.ReadonlyContext, map[string]any) (bool, error) { return true, nil }}, "its own gate"}
		},
		func(t tool.Tool) tool.Tool { return calls{t} },
		func(t tool.Tool) tool.Tool { return streams{t} },
		func(t tool.Tool) tool.Tool { return cancels{t} },
		func(t tool.Tool) tool.Tool { return processes{t} },
		func(t tool.Tool) tool.Tool { return annotated{t} },
		func(t tool.Tool) tool.Tool { return takesPayload{t, true} },
		func(t tool.Tool) tool.Tool { return foreign{t} },
		func(t tool.Tool) tool.Tool { return slow{t} },
	}
	confirmed := func(inner tool.Tool, o tool.ConfirmationOption) tool.Tool {
		tools, err := tool.WithConfirmation(tool.NewToolset("set", inner), o).Tools(nil)
		if err != nil || len(tools) != 1 || tools[0] == inner {
			t.Fatalf("Tools() = %v, %v, want one that is wrapped", tools, err)
		}
		return tools[0]
	}
	never := tool.ConfirmWhen(func(agent.ReadonlyContext, map[string]any) (bool, error) { return false, nil })
	for has := range 1 << len(parts) {
		for _, approval := range []bool{false, true} {
			bare := tool.Tool(&plain{name: "t", approval: approval})
			between := bare
			for i, part := range parts {
				if has&(1<<i) != 0 {
					bare, between = part(bare), confirmed(part(between), never)
				}
			}
			want := shapeOf(t, bare)
			for where, wrapped := range map[string]tool.Tool{
				"outside": confirmed(bare, never), "twice": confirmed(confirmed(bare, never), never), "between": confirmed(between, never),
			} {
				if diff := cmp.Diff(want, shapeOf(t, wrapped)); diff != "" {
					t.Errorf("parts %09b, approval %v, wrapped %s (-want +got):\n%s", has, approval, where, diff)
				}
			}
			want.Asks, want.Approval = true, true
			if diff := cmp.Diff(want, shapeOf(t, confirmed(bare, tool.ConfirmNamed("t")))); diff != "" {
				t.Errorf("parts %09b, approval %v, to be approved (-want +got):\n%s", has, approval, diff)
			}
		}
	}
}

// shape is what a tool declares and can do.
type shape struct {
	Definition     tool.Definition
	Annotations    tool.Annotations
	Slow, Approval bool // Approval: as the chain declares it
	Asks           bool
	Hint           string
	Can            []string
}

// shapeOf says what is found in a tool, and that it works.
func shapeOf(t *testing.T, tl tool.Tool) shape {
	t.Helper()
	s := shape{Definition: tool.ToDefinition(tl), Annotations: tool.AnnotationsOf(tl), Slow: tl.IsLongRunning(), Approval: tl.RequiresApproval()}
	var err error
	if s.Asks, err = tool.NeedsApproval(nil, tl, nil); err != nil {
		t.Error(err)
	}
	if s.Hint, err = tool.Hint(nil, tl, nil); err != nil {
		t.Error(err)
	}
	if c, ok := tool.As[tool.CallableTool](tl); ok {
		r, err := c.Call(nil, nil)
		if err != nil || r["called"] != true {
			t.Errorf("Call() = %v, %v", r, err)
		}
		s.Can = append(s.Can, "call")
	}
	if c, ok := tool.As[tool.StreamingTool](tl); ok {
		for r, err := range c.CallStreaming(nil, nil) {
			if err != nil || r.Content != "streamed" {
				t.Errorf("CallStreaming yields %v, %v", r, err)
			}
		}
		s.Can = append(s.Can, "stream")
	}
	if c, ok := tool.As[tool.CancellableTool](tl); ok {
		if !c.SupportsCancellation() || !c.Cancel("c1.1") || c.Cancel("c1.2") {
			t.Error("Cancel does not reach the tool")
		}
		s.Can = append(s.Can, "cancel")
	}
	if p, ok := tool.As[tool.RequestProcessor](tl); ok {
		var r tool.Request
		if err := p.ProcessRequest(nil, &r); err != nil || r.SystemInstruction != "processed" {
			t.Errorf("ProcessRequest() = %v", err)
		}
		s.Can = append(s.Can, "process")
	}
	if p, ok := tool.As[tool.TakesPayload](tl); ok && p.TakesPayload() {
		s.Can = append(s.Can, "take a payload")
	}
	if f, ok := tool.As[foreigner](tl); ok {
		s.Can = append(s.Can, f.Foreign())
	}
	return s
}

// renamed hides its tool behind another name and forgets its gates.
type renamed struct{ inner tool.Tool }

func (r renamed) Name() string         { return "harmless" }
func (renamed) Description() string    { return "" }
func (renamed) IsLongRunning() bool    { return false }
func (renamed) RequiresApproval() bool { return false }
func (r renamed) Unwrap() tool.Tool    { return r.inner }

type lost struct{ *plain }

func (lost) Unwrap() tool.Tool { panic("lost") }

type broken struct{ *plain }

func (broken) RequiresApproval() bool { panic("broken") }

func TestNeedsApproval(t *testing.T) {
	t.Parallel()
	p := &plain{name: "t"}
	with := func(inner tool.Tool, opts ...tool.ConfirmationOption) tool.Tool {
		tools, err := tool.WithConfirmation(tool.NewToolset("set", inner), opts...).Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		return tools[0]
	}
	yes := func(agent.ReadonlyContext, map[string]any) (bool, error) { return true, nil }
	no := func(agent.ReadonlyContext, map[string]any) (bool, error) { return false, nil }
	fails := func(agent.ReadonlyContext, map[string]any) (bool, error) { return false, errors.New("no rules") }
	panics := func(agent.ReadonlyContext, map[string]any) (bool, error) { panic("bad gate") }
	large := func(_ agent.ReadonlyContext, args map[string]any) (bool, error) {
		n, _ := args["amount"].(float64)
		return n > 100, nil
	}
	tests := []struct {
		name string
		tool tool.Tool
		args map[string]any
		ask  bool

		failed string
	}{
		{name: "plain", tool: p},
		{name: "no tool at all", tool: nil, ask: true},
		{name: "declared", tool: &plain{approval: true}, ask: true},
		{name: "a gate says no", tool: gate{p, no}},
		{name: "a gate says yes", tool: gate{p, yes}, ask: true},
		{name: "a gate fails", tool: gate{p, fails}, ask: true, failed: "no rules"},
		{name: "a gate panics", tool: gate{p, panics}, ask: true, failed: "panic: bad gate"},
		{name: "a declaration panics", tool: broken{p}, ask: true, failed: "panic: broken"},
		{name: "unwrapping panics", tool: lost{p}, ask: true, failed: "panic while looking for a tool's gates: lost"},
		{name: "no gate takes a declaration back", tool: gate{&plain{approval: true}, no}, ask: true},
		{name: "renamed", tool: renamed{gate{p, yes}}, ask: true},
		{name: "renamed and wrapped", tool: with(renamed{with(p)}, tool.ConfirmNone()), ask: true},
		{name: "all", tool: with(p), ask: true},
		{name: "none", tool: with(p, tool.ConfirmNone())},
		{name: "none, but declared", tool: with(&plain{approval: true}, tool.ConfirmNone()), ask: true},
		{name: "none and named", tool: with(p, tool.ConfirmNone(), tool.ConfirmNamed("t")), ask: true},
		{name: "when", tool: with(p, tool.ConfirmWhen(large)), args: map[string]any{"amount": 101.0}, ask: true},
		{name: "when not", tool: with(p, tool.ConfirmWhen(large)), args: map[string]any{"amount": 100.0}},
		{name: "when nil", tool: with(p, tool.ConfirmWhen(nil)), ask: true},
		{name: "when it panics", tool: with(p, tool.ConfirmWhen(panics)), ask: true, failed: "panic: bad gate"},
		{name: "two gates, the second says no", tool: with(p, tool.ConfirmWhen(yes), tool.ConfirmWhen(no)), ask: true},
		{name: "when it fails, after a no", tool: with(p, tool.ConfirmWhen(no), tool.ConfirmWhen(fails)), ask: true, failed: "no rules"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ask, err := tool.NeedsApproval(nil, tt.tool, tt.args)
			failed := ""
			if err != nil {
				failed = err.Error()
			}
			if ask != tt.ask || failed != tt.failed {
				t.Errorf("NeedsApproval() = %v, %q, want %v, %q", ask, failed, tt.ask, tt.failed)
			}
		})
	}
}

// The hint of a wrapped tool has the text of each, once. A masked value is in none of them.
func TestHint(t *testing.T) {
	t.Parallel()
	outer := tool.ConfirmHint(func(_ agent.ReadonlyContext, args map[string]any) (string, error) {
		return fmt.Sprintf("outer %d", args["to"]), nil
	})
	tools, err := tool.WithConfirmation(tool.NewToolset("set", hint{hint{&plain{name: "t"}, "inner {to}"}, "inner {to}"}), tool.ConfirmAll(), outer).Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tool.Hint(nil, tools[0], map[string]any{"to": tool.Masked{}}); got != "outer •••\ninner •••" || err != nil {
		t.Errorf("Hint() = %q, %v", got, err)
	}
	if got, err := tool.Hint(nil, tools[0], map[string]any{"to": 7, "bad": true}); got != "outer 7" || err == nil {
		t.Errorf("Hint() of a tool that fails = %q, %v, want the other text and the error", got, err)
	}
}

// A masked value looks the same in whatever writes it.
func TestMasked(t *testing.T) {
	t.Parallel()
	const want = "•••"
	m := tool.Masked{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%f", "%08.3f", "%-5t", "%c", "%U"} {
		if got := fmt.Sprintf(verb, m); got != want {
			t.Errorf("%s writes %q", verb, got)
		}
	}
	var b strings.Builder
	if err := template.Must(template.New("").Parse("{{.to}} {{index .list 0}} {{len .list}}")).Execute(&b, map[string]any{"to": m, "list": []any{m}}); err != nil || b.String() != want+" "+want+" 1" {
		t.Errorf("a template writes %q, %v", b.String(), err)
	}
	if raw, err := json.Marshal(map[string]any{"to": m, "list": []any{m}}); err != nil || string(raw) != `{"list":["•••"],"to":"•••"}` {
		t.Errorf("JSON has %s, %v", raw, err)
	}
}

// Whoever looks at a wrapped tool alone sees what it declares.
func TestWrappedDeclares(t *testing.T) {
	t.Parallel()
	no := func(agent.ReadonlyContext, map[string]any) (bool, error) { return false, nil }
	for _, declared := range []bool{true, false} {
		tools, err := tool.WithConfirmation(tool.NewToolset("set", &plain{approval: declared}), tool.ConfirmWhen(no)).Tools(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := tools[0].RequiresApproval(); got != declared {
			t.Errorf("RequiresApproval() = %v, want %v", got, declared)
		}
	}
}

func TestAnnotationsOf(t *testing.T) {
	t.Parallel()
	if got := tool.AnnotationsOf(&plain{}); got != (tool.Annotations{}) {
		t.Errorf("AnnotationsOf(plain) = %+v", got)
	}
	tools, err := tool.WithConfirmation(tool.NewToolset("set", annotated{&plain{}})).Tools(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := tool.AnnotationsOf(tools[0]); !got.Idempotent {
		t.Errorf("AnnotationsOf(wrapped) = %+v", got)
	}
}

func TestTakesPayload(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		tool tool.Tool
		want bool
	}{
		{"nothing declared", &plain{name: "t"}, false},
		{"declared", takesPayload{&plain{name: "t"}, true}, true},
		{"declared that it does not", takesPayload{&plain{name: "t"}, false}, false},
		{"a wrapper that does not know of it", annotated{takesPayload{&plain{name: "t"}, true}}, true},
		{"a wrapper that says otherwise", takesPayload{takesPayload{&plain{name: "t"}, true}, false}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			gated, err := tool.WithConfirmation(tool.NewToolset("s", tt.tool)).Tools(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, tl := range []tool.Tool{tt.tool, gated[0]} {
				p, ok := tool.As[tool.TakesPayload](tl)
				if got := ok && p.TakesPayload(); got != tt.want {
					t.Errorf("%T takes a payload: %v, want %v", tl, got, tt.want)
				}
			}
		})
	}
}

func TestPredicates(t *testing.T) {
	t.Parallel()
	yes, no := tool.AllowAll(), tool.DenyAll()
	for name, tt := range map[string]struct {
		p    tool.Predicate
		want bool
	}{
		"allow":          {yes, true},
		"deny":           {no, false},
		"not":            {tool.Not(no), true},
		"combine":        {tool.Combine(yes, no), false},
		"combine all":    {tool.Combine(yes, tool.Not(no)), true},
		"combine none":   {tool.Combine(), true},
		"or":             {tool.Or(no, yes), true},
		"or none":        {tool.Or(), false},
		"or of denials":  {tool.Or(no, tool.Not(yes)), false},
		"named":          {tool.StringPredicate([]string{"x", "t"}), true},
		"named but not":  {tool.StringPredicate([]string{"x"}), false},
		"none are named": {tool.StringPredicate(nil), false},
	} {
		if got := tt.p(nil, &plain{name: "t"}); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestRequestConfirmation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	if err := tool.RequestConfirmation(ctx, "hint", nil); !errors.Is(err, tool.ErrConfirmationRequired) {
		t.Errorf("without a Confirmer: %v", err)
	}
	if err := tool.RequestConfirmation(tool.ContextWithCallValues(ctx, &tool.CallValues{Confirmer: nil}), "hint", nil); !errors.Is(err, tool.ErrConfirmationRequired) {
		t.Errorf("with a nil Confirmer: %v", err)
	}
	for _, want := range []error{nil, tool.ErrConfirmationRejected, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskConfirm}}}} {
		ctx, cancel := context.WithCancel(tool.ContextWithCallValues(ctx, &tool.CallValues{Confirmer: confirmer{want}}))
		if err := tool.RequestConfirmation(ctx, "hint", 1); !errors.Is(err, want) {
			t.Errorf("RequestConfirmation() = %v, want %v", err, want)
		}
		cancel()
	}
}

type confirmer struct{ answer error }

func (c confirmer) Confirm(_ context.Context, hint string, payload any) error {
	if hint != "hint" || payload != 1 {
		return errors.New("another question")
	}
	return c.answer
}
