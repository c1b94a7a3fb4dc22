package approval

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// ownedCall is the context of a call.
type ownedCall struct {
	agent.ReadonlyContext
	by auth.Principal
}

func (c ownedCall) Owner() auth.Principal { return c.by }
func (ownedCall) AgentName() string       { return "desk" }

func conditioned(g Gate, text string) Gate {
	g.Condition = condition.MustCompile(text)
	return g
}

// A condition limits its gate. One that fails is true for a gate that denies or asks, and asks
// for one that allows.
func TestJudgeWithConditions(t *testing.T) {
	t.Parallel()
	pay := func(name string, action Action, when string) Gate {
		return conditioned(Gate{Name: name, Tool: "pay", Action: action}, when)
	}
	const fails = "args.missing > 1"
	for name, tt := range map[string]struct {
		gates  []Gate
		static bool // the tool asks by itself
		want   Action
		rule   string
	}{
		"true asks":                        {[]Gate{pay("large", ActionAsk, "args.amount > 10")}, false, ActionAsk, "large"},
		"false does not":                   {[]Gate{pay("large", ActionAsk, "args.amount > 1000")}, false, ActionAllow, GateDefault},
		"true denies":                      {[]Gate{pay("never", ActionDeny, "args.to == 'eve'"), pay("large", ActionAsk, "true")}, false, ActionDeny, "never"},
		"a deny that fails denies":         {[]Gate{pay("never", ActionDeny, fails)}, false, ActionDeny, "never"},
		"a comparison that fails in ?:":    {[]Gate{pay("never", ActionDeny, "args.amount == '100' ? true : false")}, false, ActionDeny, "never"},
		"an ask that fails asks":           {[]Gate{pay("large", ActionAsk, fails)}, false, ActionAsk, "large"},
		"an allow that fails asks":         {[]Gate{pay("small", ActionAllow, fails)}, false, ActionAsk, "small"},
		"an allow overrides the tool":      {[]Gate{pay("small", ActionAllow, "args.amount < 1000")}, true, ActionAllow, "small"},
		"a false allow does not":           {[]Gate{pay("small", ActionAllow, "args.amount < 10")}, true, ActionAsk, GateTool},
		"an allow overrides no other gate": {[]Gate{pay("small", ActionAllow, "true"), {Name: "all", Tool: "*"}}, true, ActionAsk, "all"},
		"who and when":                     {[]Gate{{Name: "g", Tool: "pay", Who: &Who{Roles: []string{"requester"}}, Condition: condition.MustCompile("caller.subject == 'corp:alice'")}}, false, ActionAsk, "g"},
		"not who":                          {[]Gate{{Name: "g", Tool: "pay", Who: &Who{Roles: []string{"ops"}}, Condition: condition.MustCompile(fails)}}, false, ActionAllow, GateDefault},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPolicy(t, PolicyConfig{Gates: tt.gates})
			by := ownedCall{by: auth.Principal{Subject: "corp:alice", Roles: []string{auth.RoleRequester}}}
			v := p.Judge(by, &fakeTool{name: "pay", static: tt.static}, map[string]any{"amount": 100.0, "to": "eve"})
			if v.Action != tt.want || v.Terms.Gate != tt.rule {
				t.Errorf("Judge() = %s by %s, want %s by %s", v.Action, v.Terms.Gate, tt.want, tt.rule)
			}
		})
	}
}

// claiming is a tool with claims.
type claiming struct {
	fakeTool
	says    []string
	trusted bool
}

func (c *claiming) Claims() []string { return c.says }
func (c *claiming) Trusted() bool    { return c.trusted }

func TestWho(t *testing.T) {
	t.Parallel()
	alice := auth.Principal{Tenant: "acme", Subject: "corp:alice", Roles: []string{"requester"}}
	through := alice
	through.Chain = []string{"key:bot"}
	destructive := &fakeTool{name: "pay", notes: func() tool.Annotations { return tool.Annotations{Destructive: true} }}
	for name, tt := range map[string]struct {
		who        Who
		by         auth.Principal
		of         tool.Tool
		asks       bool // as a gate that asks
		allows     bool // as a gate that allows a tool which asks
		withoutCtx bool
	}{
		"a caller":                {Who{Callers: []string{"corp:alice"}}, alice, nil, true, true, false},
		"a pattern":               {Who{Callers: []string{"corp:*"}}, alice, nil, true, true, false},
		"in a tenant":             {Who{Callers: []string{"acme/corp:*"}}, alice, nil, true, true, false},
		"another tenant":          {Who{Callers: []string{"b/corp:*"}}, alice, nil, false, false, false},
		"another caller":          {Who{Callers: []string{"corp:bob"}}, alice, nil, false, false, false},
		"an agent of the caller":  {Who{Callers: []string{"key:bot"}}, through, nil, true, false, false},
		"a caller with an agent":  {Who{Callers: []string{"corp:alice"}}, through, nil, true, false, false},
		"all parties":             {Who{Callers: []string{"corp:alice", "key:*"}}, through, nil, true, true, false},
		"a role":                  {Who{Roles: []string{"ops", "requester"}}, alice, nil, true, true, false},
		"a tenant":                {Who{Tenants: []string{"ac*"}}, alice, nil, true, true, false},
		"no tenant":               {Who{Tenants: []string{"b"}}, alice, nil, false, false, false},
		"an agent":                {Who{Agents: []string{"desk"}}, alice, nil, true, true, false},
		"another agent":           {Who{Agents: []string{"other"}}, alice, nil, false, false, false},
		"an annotation":           {Who{Annotations: []string{"read-only", "destructive"}}, alice, destructive, true, true, false},
		"no annotation":           {Who{Annotations: []string{"destructive"}}, alice, nil, false, false, false},
		"a claim":                 {Who{Annotations: []string{"destructive"}}, alice, &claiming{fakeTool{name: "pay"}, []string{"destructive"}, false}, true, false, false},
		"no claim":                {Who{Annotations: []string{"destructive"}}, alice, &claiming{fakeTool{name: "pay"}, nil, false}, true, false, false},
		"a claim to be harmless":  {Who{Annotations: []string{"destructive"}}, alice, &claiming{fakeTool{name: "pay"}, []string{"read-only", "not destructive"}, false}, true, false, false},
		"a trusted claim":         {Who{Annotations: []string{"destructive"}}, alice, &claiming{fakeTool{name: "pay"}, []string{"read-only"}, true}, false, false, false},
		"all lists":               {Who{Callers: []string{"corp:*"}, Roles: []string{"requester"}, Tenants: []string{"acme"}, Agents: []string{"desk"}}, alice, nil, true, true, false},
		"all but one":             {Who{Callers: []string{"corp:*"}, Roles: []string{"ops"}}, alice, nil, false, false, false},
		"annotations that panic":  {Who{Annotations: []string{"destructive"}}, alice, &fakeTool{name: "pay", notes: func() tool.Annotations { panic("no") }}, true, false, false},
		"nobody knows the caller": {Who{Callers: []string{"corp:bob"}}, alice, nil, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := tt.of
			if of == nil {
				of = &fakeTool{name: "pay"}
			}
			var ctx agent.ReadonlyContext = ownedCall{by: tt.by}
			if tt.withoutCtx {
				ctx = nil
			}
			asking := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay", Who: &tt.who}}}).Judge(ctx, of, nil)
			if asks := asking.Action == ActionAsk; asks != tt.asks {
				t.Errorf("a gate that asks: %s, want asks: %v", asking.Action, tt.asks)
			}
			// The tool's own gate asks, unless the allow is for the call.
			allowing := newPolicy(t, PolicyConfig{Gates: []Gate{{Tool: "pay", Action: ActionAllow, Who: &tt.who}}}).Judge(ctx, gated(of), nil)
			if allows := allowing.Action == ActionAllow; allows != tt.allows {
				t.Errorf("a gate that allows: %s, want allows: %v", allowing.Action, tt.allows)
			}
		})
	}
}

// gated returns a tool that asks by itself.
func gated(t tool.Tool) tool.Tool {
	switch t := t.(type) {
	case *fakeTool:
		t.static = true
	case *claiming:
		t.static = true
	}
	return t
}

// At most maxConditions gates with conditions are about a tool.
func TestTooManyConditions(t *testing.T) {
	t.Parallel()
	gates := func(n int, tool string) (all []Gate) {
		for i := range n {
			all = append(all, conditioned(Gate{Name: fmt.Sprint("g", i), Tool: strings.ReplaceAll(tool, "N", fmt.Sprint(i)), Action: ActionDeny}, "args.a == 1"))
		}
		return all
	}
	for name, tt := range map[string]struct {
		gates []Gate
		wrong bool
	}{
		"as many as there may be": {gates(maxConditions, "pay"), false},
		"of a tool":               {gates(maxConditions+1, "pay"), true},
		"of a pattern":            {gates(maxConditions+1, "pay*"), true},
		"of tools of their own":   {gates(500, "payN"), false},
		"of patterns":             {gates(500, "payN_*"), false},
	} {
		if _, err := NewPolicy(PolicyConfig{Gates: tt.gates}); (err != nil) != tt.wrong || err != nil && !strings.Contains(err.Error(), "65 gates with when are about the tool") {
			t.Errorf("%s: NewPolicy() = %v", name, err)
		}
	}
	// A tool that no name in the gates shows is known when it is called: what is not looked at fails.
	name, all := "p", []Gate(nil)
	for i := range maxConditions + 1 {
		all = append(all, conditioned(Gate{Name: fmt.Sprint("g", i), Tool: fmt.Sprintf("p*-%d-*", i), Action: ActionDeny}, "args.a == 1"))
		name += fmt.Sprintf("-%d-", i)
	}
	if _, err := NewPolicy(PolicyConfig{Gates: append(slices.Clip(all), Gate{Tool: name})}); err == nil {
		t.Error("NewPolicy() with the name of that tool in another gate succeeds, want an error")
	}
	for n, want := range map[int]Action{maxConditions: ActionAllow, maxConditions + 1: ActionDeny} {
		if v := newPolicy(t, PolicyConfig{Gates: all[:n]}).Judge(nil, &fakeTool{name: name}, map[string]any{"a": 2.0}); v.Action != want {
			t.Errorf("Judge() with %d conditions = %s, want %s", n, v.Action, want)
		}
	}
}

// Explain returns what each gate about the tool says, and the verdict of Judge.
func TestExplain(t *testing.T) {
	t.Parallel()
	p := newPolicy(t, PolicyConfig{Gates: []Gate{
		conditioned(Gate{Name: "large", Tool: "pay"}, "args.amount > 1000"),
		{Name: "other", Tool: "mail"},
		conditioned(Gate{Name: "odd", Tool: "p*", Tools: []string{"*y"}}, "args.missing == 1"),
		{Name: "ops", Tool: "*", Action: ActionDeny, Who: &Who{Roles: []string{"ops"}}},
		{Name: "fine", Tool: "pay", Action: ActionAllow},
	}})
	by := ownedCall{by: alice()}
	args := map[string]any{"amount": 100.0}
	v, all := p.Explain(by, &fakeTool{name: "pay", static: true}, args)
	want := []Considered{
		{0, ActionAsk, false, false, "when is false"},
		{4, ActionAllow, true, false, "always"},
		{2, ActionAsk, true, true, "its condition fails, so it counts as true: an argument is missing, at 1:5"},
		{3, ActionDeny, false, false, "the roles under who do not include this call"},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("Explain() (-want +got)\n%s", diff)
	}
	if j := p.Judge(by, &fakeTool{name: "pay", static: true}, args); j.Action != v.Action || !j.Terms.Same(v.Terms) || j.Hint != v.Hint {
		t.Errorf("Explain() judges %+v, want %+v", v, j)
	}
}

// All conditions about a call share a time, after which they fail.
func TestConditionsShareTheTime(t *testing.T) {
	t.Parallel()
	list := make([]any, 16<<10)
	for i := range list {
		list[i] = "z"
	}
	var gates []Gate
	for i := range maxConditions {
		gates = append(gates, conditioned(Gate{Name: fmt.Sprint("g", i), Tool: "pay", Action: ActionDeny}, strings.TrimSuffix(strings.Repeat("'x' in args.list||", 80), "||")))
	}
	v := newPolicy(t, PolicyConfig{Gates: gates}).Judge(nil, &fakeTool{name: "pay"}, map[string]any{"list": list})
	if v.Action != ActionDeny || v.Failed == nil || !strings.Contains(v.Failed.Error(), "it takes too long") {
		t.Errorf("Judge() = %s, failed with %v, want a denial because the conditions take too long", v.Action, v.Failed)
	}
}
