package approval

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

func when(ok bool, err error) Predicate {
	return func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) { return ok, err }
}

func panics(v any) Predicate {
	return func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) { panic(v) }
}

func toolGate(ask bool, err error) tool.GateFunc {
	return func(agent.ReadonlyContext, map[string]any) (bool, error) { return ask, err }
}

func toolHint(hint string, err error) tool.HintFunc {
	return func(agent.ReadonlyContext, map[string]any) (string, error) { return hint, err }
}

func newPolicy(t testing.TB, c PolicyConfig) *Policy {
	t.Helper()
	p, err := NewPolicy(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// angryError panics when it is asked what it is.
type angryError struct{}

func (angryError) Error() string { panic("no message") }

// angryValue panics when it is written as JSON.
type angryValue struct{}

func (angryValue) MarshalJSON() ([]byte, error) { panic("no JSON") }

func TestJudge(t *testing.T) {
	t.Parallel()
	allow := func(name string) Gate { return Gate{Tool: name, Action: ActionAllow} }
	ask := func(name string) Gate { return Gate{Tool: name} }
	deny := func(name string) Gate { return Gate{Tool: name, Action: ActionDeny} }
	gates := func(g ...Gate) PolicyConfig { return PolicyConfig{Gates: g} }
	own := fakeTool{static: true}
	boom := errors.New("boom")
	with := func(g Gate, p Predicate) Gate { g.When = p; return g }

	tests := []struct {
		name   string
		config PolicyConfig
		tool   fakeTool // its name is send
		args   string
		action Action
		rule   string
		hint   []string
		reason string
	}{
		{name: "nothing to say", action: ActionAllow, rule: GateDefault},
		{name: "other tools", config: gates(deny("mail"), ask("send2"), ask("sen"), deny("x*")), action: ActionAllow, rule: GateDefault},

		{name: "ask", config: gates(ask("send")), action: ActionAsk, rule: "gate:send"},
		{name: "deny", config: gates(deny("send")), action: ActionDeny, rule: "gate:send", reason: `"gate:send" does not allow`},
		{name: "allow", config: gates(allow("send")), action: ActionAllow, rule: "gate:send"},
		{name: "named", config: gates(Gate{Name: "big", Tool: "send"}), action: ActionAsk, rule: "big"},
		{name: "deny explains", config: gates(Gate{Tool: "send", Action: ActionDeny, Hint: "not to {to}"}), action: ActionDeny, rule: "gate:send", reason: `not to "bob"`},

		{name: "deny over ask over allow", config: gates(allow("send"), ask("*"), deny("s*")), action: ActionDeny, rule: "gate:s*"},
		{name: "ask over allow", config: gates(allow("send"), ask("*")), action: ActionAsk, rule: "gate:*"},
		{name: "exact before pattern", config: gates(ask("*"), ask("send")), action: ActionAsk, rule: "gate:send"},
		{name: "first pattern", config: gates(ask("s*"), ask("*")), action: ActionAsk, rule: "gate:s*"},
		{name: "first exact", config: gates(Gate{Name: "a", Tool: "send"}, Gate{Name: "b", Tool: "send"}), action: ActionAsk, rule: "a"},
		{name: "first denial", config: gates(Gate{Name: "a", Tool: "send", Action: ActionDeny}, Gate{Name: "b", Tool: "send", Action: ActionDeny}), action: ActionDeny, rule: "a"},
		{name: "first allowance", config: gates(allow("s*"), allow("*")), action: ActionAllow, rule: "gate:s*"},

		{name: "condition holds", config: gates(with(ask("send"), when(true, nil))), action: ActionAsk, rule: "gate:send"},
		{name: "condition does not hold", config: gates(with(deny("send"), when(false, nil)), with(ask("*"), when(false, nil))), action: ActionAllow, rule: GateDefault},

		{name: "static gate of the tool", tool: own, action: ActionAsk, rule: GateTool, reason: "the tool itself"},
		{name: "per-call gate of the tool", tool: fakeTool{gate: toolGate(true, nil), hint: toolHint("send\u202e it?", nil)}, action: ActionAsk, rule: GateTool, hint: []string{`send\u202e it?`}},
		{name: "gate of the tool does not ask", tool: fakeTool{gate: toolGate(false, nil), hint: toolHint("x", nil)}, action: ActionAllow, rule: GateDefault},
		{name: "exact allow switches the tool's gate off", config: gates(allow("send")), tool: own, action: ActionAllow, rule: "gate:send"},
		{name: "exact allow, condition does not hold", config: gates(with(allow("send"), when(false, nil))), tool: own, action: ActionAsk, rule: GateTool},
		{name: "allow by a pattern does not", config: gates(allow("sen*"), allow("*")), tool: own, action: ActionAsk, rule: GateTool},
		{name: "exact allow does not switch another rule off", config: gates(allow("send"), ask("*")), tool: own, action: ActionAsk, rule: "gate:*"},
		{name: "rule and tool ask", config: gates(Gate{Tool: "send", Hint: "Send to {to}?"}), tool: fakeTool{gate: toolGate(true, nil), hint: toolHint("costs money", nil)},
			action: ActionAsk, rule: "gate:send", hint: []string{`Send to "bob"?`, "The tool says: costs money"}},
		{name: "rule without words and tool ask", config: gates(ask("send")), tool: fakeTool{gate: toolGate(true, nil), hint: toolHint("costs money", nil)}, action: ActionAsk, rule: "gate:send", hint: []string{"costs money"}},
		{name: "declared gates ignored", config: PolicyConfig{IgnoreDeclared: true}, tool: own, action: ActionAllow, rule: GateDefault},
		{name: "declared gates ignored keeps rules", config: PolicyConfig{IgnoreDeclared: true, Gates: []Gate{ask("send")}}, tool: own, action: ActionAsk, rule: "gate:send"},

		{name: "error of a condition", config: gates(with(ask("send"), when(false, boom))), action: ActionAsk, rule: "gate:send", hint: []string{"boom", `"gate:send"`}, reason: "boom"},
		{name: "error of a condition that allows", config: gates(with(allow("send"), when(true, boom))), action: ActionAsk, rule: "gate:send", hint: []string{"boom"}},
		{name: "error of a condition that denies", config: gates(with(deny("send"), when(false, boom))), action: ActionDeny, rule: "gate:send", reason: "boom"},
		{name: "panic of a condition that denies", config: gates(ask("send"), with(deny("*"), panics("ouch"))), action: ActionDeny, rule: "gate:*", reason: "ouch"},
		{name: "a denial counts beside an error", config: gates(with(ask("send"), when(false, boom)), deny("*")), action: ActionDeny, rule: "gate:*"},
		{name: "an allowance does not count beside an error", config: gates(allow("send"), with(ask("*"), when(false, boom))), action: ActionAsk, rule: "gate:*"},
		{name: "a rule that asks goes before one that failed", config: gates(with(allow("send"), when(false, boom)), ask("*")), action: ActionAsk, rule: "gate:*", hint: []string{"boom"}},
		{name: "a tool that asks goes before a rule that failed", config: gates(with(allow("send"), when(false, boom))), tool: own, action: ActionAsk, rule: GateTool, hint: []string{"boom"}},
		{name: "panic of a condition", config: gates(with(allow("send"), panics("ouch"))), action: ActionAsk, rule: "gate:send", hint: []string{"panic: ouch"}},
		{name: "panic with nil", config: gates(with(allow("send"), panics(nil))), action: ActionAsk, rule: "gate:send"},
		{name: "panic with an error that panics", config: gates(with(allow("send"), panics(angryError{}))), action: ActionAsk, rule: "gate:send"},
		{name: "error that panics", config: gates(with(allow("send"), when(true, angryError{}))), action: ActionAsk, rule: "gate:send"},
		{name: "error with hidden characters", config: gates(with(ask("send"), when(true, errors.New("a\u202eb")))), action: ActionAsk, rule: "gate:send", hint: []string{`a\u202eb`}},
		{name: "every failure is named", config: gates(with(ask("send"), when(true, boom)), with(allow("*"), panics("ouch"))), action: ActionAsk, rule: "gate:send", hint: []string{"boom", "ouch"}},
		{name: "error of the tool's gate", tool: fakeTool{gate: toolGate(false, boom)}, action: ActionAsk, rule: GateTool, hint: []string{"boom"}},
		{name: "panic of the tool's gate", tool: fakeTool{gate: func(agent.ReadonlyContext, map[string]any) (bool, error) { panic("ouch") }}, action: ActionAsk, rule: GateTool, hint: []string{"ouch"}},
		{name: "error of the tool's gate that panics", tool: fakeTool{gate: toolGate(false, angryError{})}, action: ActionAsk, rule: GateTool},
		{name: "error of the tool's hint", tool: fakeTool{static: true, hint: toolHint("", boom)}, action: ActionAsk, rule: GateTool, hint: []string{"boom", "the tool's hint"}},
		{name: "panic of the tool's hint", tool: fakeTool{static: true, hint: func(agent.ReadonlyContext, map[string]any) (string, error) { panic("ouch") }}, action: ActionAsk, rule: GateTool, hint: []string{"ouch"}},
		{name: "panic of the annotations", config: gates(ask("send")), tool: fakeTool{notes: func() tool.Annotations { panic("ouch") }}, action: ActionAsk, rule: "gate:send", hint: []string{"ouch"}},
		{name: "panic of the name", tool: fakeTool{namePan: true}, action: ActionAsk, rule: GateDefault, hint: []string{"no name"}, reason: "no name"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tl := tc.tool
			tl.name = "send"
			got := newPolicy(t, tc.config).Judge(nil, &tl, decode(t, `{"to":"bob"}`))
			if got.Action != tc.action || got.Terms.Gate != tc.rule {
				t.Errorf("Judge() = %s by %q, want %s by %q", got.Action, got.Terms.Gate, tc.action, tc.rule)
			}
			said := got.Hint + got.Notes
			for _, w := range tc.hint {
				if !strings.Contains(said, w) && !strings.Contains(fmt.Sprint(got.Failed), w) {
					t.Errorf("words %q and failure %v lack %q", said, got.Failed, w)
				}
			}
			if !strings.Contains(got.Reason, tc.reason) && !strings.Contains(fmt.Sprint(got.Failed), tc.reason) {
				t.Errorf("reason %q and failure %v lack %q", got.Reason, got.Failed, tc.reason)
			}
			for _, secret := range []string{"boom", "ouch", "panic"} {
				if strings.Contains(said+got.Reason, secret) {
					t.Errorf("%q is for the log, and is shown: %q, %q", secret, said, got.Reason)
				}
			}
			if failed := strings.Contains(got.Notes, "Its gate failed, so you are asked"); got.Action == ActionAsk && failed != (got.Failed != nil) {
				t.Errorf("the notes are %q, and what failed %v", got.Notes, got.Failed)
			}
			if got.Action != ActionAsk && said != "" {
				t.Errorf("%s with the words %q", got.Action, said)
			}
		})
	}
}

func TestJudgeArgsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		gate Gate
		v    any
	}{
		{"template", Gate{Tool: "*", Hint: "x {v}"}, math.NaN()},
		{"template that panics", Gate{Tool: "*", Hint: "x {v}"}, angryValue{}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := newPolicy(t, PolicyConfig{Gates: []Gate{tc.gate}}).Judge(nil, &fakeTool{name: "send"}, map[string]any{"v": tc.v})
			if got.Action != ActionAsk || !strings.Contains(got.Notes, "Its gate failed") {
				t.Errorf("Judge() = %+v, want to ask, with what failed", got)
			}
		})
	}
	deny := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "*", Action: ActionDeny, Hint: "{v}"}}})
	if got := deny.Judge(nil, &fakeTool{name: "send"}, map[string]any{"v": angryValue{}}); got.Action != ActionDeny {
		t.Errorf("Judge() = %+v, want to deny", got)
	}
}

func TestJudgeWithoutPolicyOrTool(t *testing.T) {
	t.Parallel()
	var none *Policy
	if got := none.Judge(nil, &fakeTool{name: "send"}, nil); got.Action != ActionAsk || got.Terms.Gate != GateDefault || !strings.Contains(got.Notes, "the policy") {
		t.Errorf("Judge() of no policy = %+v, want to ask", got)
	}
	p := newPolicy(t, PolicyConfig{Defaults: Terms{Expires: time.Hour}})
	got := p.Judge(nil, nil, nil)
	want := Terms{Gate: GateDefault, Destructive: true, Expires: time.Hour}
	if diff := cmp.Diff(want, got.Terms); diff != "" || got.Action != ActionAsk {
		t.Errorf("Judge() of no tool = %s, terms (-want +got):\n%s", got.Action, diff)
	}
}

// What asks because something else failed must not fail itself.
func TestAskWithoutPolicyOrTool(t *testing.T) {
	t.Parallel()
	var none *Policy
	if got := none.Ask(&fakeTool{name: "send"}, nil, "a hook"); got.Action != ActionAsk || got.Terms.Gate != GateDefault || !got.Terms.Destructive || got.Notes == "" || !strings.Contains(fmt.Sprint(got.Failed), "a hook") {
		t.Errorf("Ask() of no policy = %+v, want to ask", got)
	}
	if got := newPolicy(t, PolicyConfig{}).Ask(nil, nil, "a hook"); got.Action != ActionAsk || !got.Terms.Destructive {
		t.Errorf("Ask() of no tool = %+v, want to ask", got)
	}
}

func TestAlways(t *testing.T) {
	t.Parallel()
	never := func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) { return false, nil }
	plain, gated := &fakeTool{name: "pay"}, &fakeTool{name: "pay", static: true}
	for name, tt := range map[string]struct {
		config PolicyConfig
		tool   tool.Tool
		want   bool
	}{
		"nothing asks":               {PolicyConfig{}, plain, false},
		"the tool":                   {PolicyConfig{}, gated, true},
		"the tool, its gate ignored": {PolicyConfig{IgnoreDeclared: true}, gated, false},
		"a gate":                     {PolicyConfig{Gates: []Gate{{Tool: "pay"}}}, plain, true},
		"a pattern":                  {PolicyConfig{Gates: []Gate{{Tool: "p*"}}}, plain, true},
		"another pattern":            {PolicyConfig{Gates: []Gate{{Tool: "q*"}}}, plain, false},
		"a condition":                {PolicyConfig{Gates: []Gate{{Tool: "pay", When: never}}}, plain, false},
		"allowed":                    {PolicyConfig{Gates: []Gate{{Tool: "pay", Action: ActionAllow}}}, gated, false},
		"allowed by a pattern":       {PolicyConfig{Gates: []Gate{{Tool: "p*", Action: ActionAllow}}}, gated, true},
		"allowed, and a gate":        {PolicyConfig{Gates: []Gate{{Tool: "pay", Action: ActionAllow}, {Tool: "*"}}}, gated, true},
		"a tool that is not there":   {PolicyConfig{}, nil, true},
		"allowed under a condition":  {PolicyConfig{Gates: []Gate{{Tool: "pay", Action: ActionAllow, When: never}}}, gated, true},
		"denied, whatever asks more": {PolicyConfig{Gates: []Gate{{Tool: "pay", Action: ActionDeny}}}, gated, true},
	} {
		if got := newPolicy(t, tt.config).Always(tt.tool); got != tt.want {
			t.Errorf("%s: Always() = %t, want %t", name, got, tt.want)
		}
	}
	if !(*Policy)(nil).Always(plain) {
		t.Error("without a policy: Always() = false, want true")
	}
}

func TestF1EditIsJudgedAnew(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, PolicyConfig{Gates: []Gate{
		{Name: "small", Tool: "pay"},
		{Name: "large", Tool: "pay", Action: ActionDeny, When: func(_ agent.ReadonlyContext, _ tool.Tool, args map[string]any) (bool, error) {
			n, ok := args["amount"].(float64)
			return n > 100, map[bool]error{false: errors.New("amount is no number")}[ok]
		}},
	}})
	pay := &fakeTool{name: "pay"}
	for args, want := range map[string]Action{`{"amount":1}`: ActionAsk, `{"amount":1000}`: ActionDeny, `{"amount":"1"}`: ActionDeny} {
		if got := p.Judge(nil, pay, decode(t, args)); got.Action != want {
			t.Errorf("Judge(%s) = %s, want %s", args, got.Action, want)
		}
	}
}
