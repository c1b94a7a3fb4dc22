package rules_test

import (
	"errors"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// What a gate denies now ends, if its call has not begun and the gate's condition does not fail.
func TestDeniedApprovalEnds(t *testing.T) {
	t.Parallel()
	fails := func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) {
		return false, errors.New("broken")
	}
	refuses := func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
		return task.HookResult{Deny: "no"}, nil
	}
	approved := func(k *desk) {
		k.vote(1, voter("bob"), approval.Approve, "")
		k.vote(1, voter("carl"), approval.Approve, "")
	}
	denies := approval.Gate{Name: "frozen", Tool: "pay", Action: approval.ActionDeny}
	doubts := approval.Gate{Name: "doubt", Tool: "pay", Action: approval.ActionDeny, When: fails}
	for name, tc := range map[string]struct {
		gates  []approval.Gate
		before func(k *desk)
		ends   bool
	}{
		"denied":                        {gates: []approval.Gate{denies}, ends: true},
		"also by one that fails":        {gates: []approval.Gate{doubts, denies}, ends: true},
		"with a vote for it":            {gates: []approval.Gate{denies}, before: func(k *desk) { k.vote(1, voter("bob"), approval.Approve, "") }, ends: true},
		"the condition fails":           {gates: []approval.Gate{doubts}},
		"of another tool":               {gates: []approval.Gate{{Name: "frozen", Tool: "wire", Action: approval.ActionDeny}}},
		"the tool is not at hand":       {gates: []approval.Gate{denies}, before: func(k *desk) { k.shelf.tools, k.shelf.down = nil, errors.New("down") }},
		"it asks about what became":     {gates: []approval.Gate{denies}, before: func(k *desk) { approved(k); k.dies() }},
		"a running call wants to know":  {gates: []approval.Gate{denies}, before: func(k *desk) { approved(k); k.confirms("c1.1", "q") }},
		"a hook denies it, and no gate": {before: func(k *desk) { k.rules.Hooks = []task.Hook{refuses} }},
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2}})
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 5))
		if tc.before != nil {
			tc.before(k)
		}
		k.rules.Policy = policy(t, tc.gates...)
		err := k.put(rules.Refresh{Denied: true})
		if !tc.ends {
			if !errors.Is(err, rules.ErrNoChange) || len(k.pending()) != 1 {
				t.Errorf("%s: put = %v, pending %v; want that it stays", name, err, k.pending())
			}
			continue
		}
		a := k.approval(1)
		if err != nil || a.State != approval.Canceled || a.Resolution.Via != approval.ViaPolicy || !strings.Contains(a.Resolution.Reason, `"frozen"`) {
			t.Errorf("%s: put = %v, the approval is %s, %+v", name, err, a.State, a.Resolution)
		}
		if outcome, _ := k.outcome("c1.1"); outcome != task.OutcomeDenied {
			t.Errorf("%s: the call ended %s", name, outcome)
		}
		k.wantEntries(0)
		k.wantNoDue()
	}
}

// What a gate denies is the call that is asked about, not the one before its edit.
func TestDeniedApprovalOfAnEdit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		denies approval.Gate
		ends   bool
	}{
		"the edited call": {approval.Gate{Name: "frozen", Tool: "pay", Action: approval.ActionDeny, When: over(1000)}, true},
		"the call before": {approval.Gate{Name: "frozen", Tool: "pay", Action: approval.ActionDeny, When: under(1000)}, false},
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t,
				approval.Gate{Tool: "pay", Name: "large", When: over(1000), Terms: approval.Terms{FourEyes: true}},
				approval.Gate{Tool: "pay", Name: "any"})
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		if err := k.answer(edit(id(1), `{"amount":5000}`)); err != nil {
			t.Fatal(err)
		}
		k.rules.Policy = policy(t, tc.denies)
		if err := k.put(rules.Refresh{Denied: true}); err != nil && !errors.Is(err, rules.ErrNoChange) {
			t.Fatal(err)
		}
		if ended := len(k.pending()) == 0; ended != tc.ends {
			t.Errorf("%s is denied: the approval of the edit has ended: %t", name, ended)
		}
	}
}

func under(most float64) approval.Predicate {
	return func(ctx agent.ReadonlyContext, of tool.Tool, args map[string]any) (bool, error) {
		is, err := over(most)(ctx, of, args)
		return !is, err
	}
}
