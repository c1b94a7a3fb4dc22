package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// anew asks approval n anew.
func (k *desk) anew(n int, by auth.Principal) (successor string, err error) {
	err = k.put(rules.AskAnew{By: by, Via: approval.ViaAPI, Approval: id(n), Digest: k.approval(n).Digest, Successor: &successor})
	return successor, err
}

// stricter returns what the gates demand beyond the terms of approval n.
func (k *desk) stricter(n int) []string {
	k.t.Helper()
	return rules.Stricter(k.t.Context(), k.rules, k.fold(), id(n), k.now)
}

var four = approval.Gate{Name: "four", Tool: "pay", Terms: approval.Terms{FourEyes: true}}

// An approval that is asked anew has the demands of its gates and of the present ones, another deadline, and no
// votes; the one before decides nothing any more, and its due work is gone.
func TestAskAnew(t *testing.T) {
	t.Parallel()
	before := approval.Gate{Name: "before", Tool: "pay", Terms: approval.Terms{People: 2, Expires: time.Hour, Remind: time.Minute, Mask: []string{"/amount"}}}
	k := voteDesk(t, before)
	k.vote(1, voter("bob"), approval.Approve, "")
	k.rules.Policy = policy(t, approval.Gate{Name: "four", Tool: "pay", Hint: "Pay {amount}?", Terms: approval.Terms{FourEyes: true, Expires: 2 * time.Hour}})
	k.now = k.now.Add(30 * time.Minute)
	if more := k.stricter(1); !slices.Equal(more, []string{"not the requester, nor parties that act for it"}) {
		t.Errorf("the gates demand %q", more)
	}
	successor, err := k.anew(1, voter("bob"))
	if err != nil || successor != id(2) || !slices.Equal(k.pending(), []string{id(2)}) {
		t.Fatalf("asked anew as %q, %v; pending %v", successor, err, k.pending())
	}
	k.wantState(a2a.TaskStateWorking)
	if !strings.Contains(k.text(), "Approval "+id(2)) || !strings.Contains(k.text(), "Replaces: "+id(1)) {
		t.Errorf("the status says %q", k.text())
	}
	a, old := k.approval(2), k.approval(1)
	if terms := a.Terms; !terms.FourEyes || len(terms.Needs) != 1 || terms.Needs[0].People != 2 || terms.Expires != time.Hour || terms.Gate != "four" ||
		!slices.Equal(terms.Mask, before.Terms.Mask) || len(a.Votes) > 0 || !a.Deadline.Equal(k.now.Add(time.Hour)) || a.Supersedes != old.ID || len(a.Gates) != 2 {
		t.Errorf("asked anew: %+v", a)
	}
	if a.Hint != `Pay "•••"?` || old.State != approval.Superseded || old.Resolution.By.Subject != "bob" || old.Resolution.Decision != "" {
		t.Errorf("it asks %q, and the approval before is %s, %+v", a.Hint, old.State, old.Resolution)
	}
	if dues := k.dues(); len(dues) != 2 || slices.ContainsFunc(dues, func(due string) bool { return strings.Contains(due, id(1)) }) {
		t.Errorf("the due work is %q", dues)
	}
	seq := k.header.Seq
	for range 2 {
		_, err := k.anew(1, voter("carl"))
		wantError(t, err, approval.ReasonConflict)
	}
	_, err = k.anew(2, voter("carl"))
	wantError(t, err, approval.ReasonNotAllowed)
	wantError(t, k.votes(1, voter("carl"), approval.Approve, ""), approval.ReasonChanged)
	if more := k.stricter(2); len(more) > 0 || k.header.Seq != seq {
		t.Errorf("the gates demand %q, and %d events are written", more, k.header.Seq-seq)
	}
	k.vote(2, voter("bob"), approval.Approve, "")
	k.wantEntries(0)
	k.vote(2, voter("carl"), approval.Approve, "")
	k.wantEntries(1)
}

// Only the question whether a call may begin is asked anew, and only where its gates are known and ask.
func TestAskAnewIsRefused(t *testing.T) {
	t.Parallel()
	approved := func(k *desk) { k.decide(id(1), approval.Approve) }
	hook := func(h task.HookResult, err error) func(k *desk) {
		return func(k *desk) {
			k.rules.Hooks = []task.Hook{func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) { return h, err }}
		}
	}
	for name, tc := range map[string]struct {
		before func(k *desk)
		n      int
		by     auth.Principal // default bob
		reason approval.Reason
		says   string
		shown  bool // as something that can be asked anew
	}{
		"an outcome":           {before: func(k *desk) { approved(k); k.dies() }, n: 2, says: "only the question"},
		"a question of a tool": {before: func(k *desk) { approved(k); k.confirms("c1.1", "q") }, n: 2, says: "only the question"},
		"who may not decide":   {by: auth.Principal{Tenant: "acme", Subject: "vera", Roles: []string{auth.RoleViewer}, Method: "test"}, says: "no role"},
		"an agent":             {by: auth.Principal{Tenant: "acme", Subject: "bob", Roles: bob.Roles, Method: "test", Chain: []string{"agent"}}, says: "only a person"},
		"after the deadline":   {before: func(k *desk) { k.now = k.now.Add(time.Hour) }, reason: approval.ReasonExpired, shown: true},
		"a decided one":        {before: approved, reason: approval.ReasonConflict},
		"a tool that is away":  {before: func(k *desk) { k.shelf.tools, k.shelf.down = nil, errors.New("down") }, says: "cannot be reached now"},
		"denied by a gate":     {before: func(k *desk) { k.rules.Policy = policy(t, approval.Gate{Tool: "pay", Action: approval.ActionDeny}) }, says: "a gate denies the call now"},
		"denied by a hook":     {before: hook(task.HookResult{Deny: "no"}, nil), says: "a gate denies the call now", shown: true},
		"allowed":              {before: func(k *desk) { k.rules.Policy = policy(t) }, says: "nothing more"},
		"what is not valid":    {before: func(k *desk) { k.rules.Limits.Args = 5 }, says: "not valid"},
		"in a log that is full": {before: func(k *desk) {
			for k.rules.Limits.OpenRoom(0) > int(k.header.Bytes) {
				k.rules.Limits.Task -= 1 << 10
			}
		}, says: "room for 0 more", shown: true},
		"without room to show it": {before: func(k *desk) { k.rules.Limits.Task = int(k.header.Bytes) + 100 }, says: "cannot be shown", shown: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Expires: time.Hour}})
			k.rules.Policy = policy(t, four)
			if tc.before != nil {
				tc.before(k)
			}
			n, by, reason := max(tc.n, 1), tc.by, tc.reason
			if by.IsZero() {
				by = bob
			}
			if reason == "" {
				reason = approval.ReasonNotAllowed
			}
			if shown := len(k.stricter(n)) > 0; shown != (tc.shown || !tc.by.IsZero()) {
				t.Errorf("it is shown as something to ask anew: %t", shown)
			}
			seq := k.header.Seq
			successor, err := k.anew(n, by)
			wantError(t, err, reason)
			if !strings.Contains(err.Error(), tc.says) || successor != "" || k.header.Seq != seq {
				t.Errorf("refused as %v, with %d events and the approval %q", err, k.header.Seq-seq, successor)
			}
		})
	}
	k := voteDesk(t, two)
	k.rules.Policy = policy(t, four)
	k.shelf.tools = []*fake{{name: "pay", schema: amounts("other")}}
	if _, err := k.anew(1, bob); !errors.Is(err, rules.ErrStale) {
		t.Errorf("with another tool = %v, want ErrStale", err)
	}
	other := ""
	wantError(t, k.put(rules.AskAnew{By: bob, Via: approval.ViaAPI, Approval: id(1), Digest: "other", Successor: &other}), approval.ReasonChanged)
	wantError(t, k.put(rules.AskAnew{By: bob, Via: approval.ViaProvider, Approval: id(1), Digest: k.approval(1).Digest, Successor: &other}), approval.ReasonNotAllowed)
}

// What is asked anew after an edit is the edited call, whose editor still made it, and their vote is lost.
func TestAskAnewAfterAnEdit(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	k.vote(1, voter("bob"), approval.Edit, `{"amount":7}`)
	k.rules.Policy = policy(t, two, four)
	if _, err := k.anew(2, voter("carl")); err != nil {
		t.Fatal(err)
	}
	if a := k.approval(3); string(a.Args) != `{"amount":7}` || len(a.Votes) > 0 || len(a.Editors) != 1 {
		t.Errorf("asked anew: %+v", a)
	}
	wantBarred(t, k.votes(3, voter("bob"), approval.Approve, ""), approval.BarredFourEyes)
}

// A grant is offered only where later calls are asked about on the same terms.
func TestAskAnewWithGrants(t *testing.T) {
	t.Parallel()
	grants := &approval.GrantTerms{Scopes: approval.GrantScopes()}
	gate := func(name string, roles ...string) approval.Gate {
		return approval.Gate{Name: name, Tool: "pay", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: roles}, Grants: grants}}
	}
	for _, tc := range []struct {
		now  approval.Gate
		want bool
	}{
		{approval.Gate{Name: "sooner", Tool: "pay", Terms: approval.Terms{Expires: time.Minute, Approvers: gate("", "finance").Terms.Approvers, Grants: grants}}, true},
		{gate("legal", "legal"), false},
	} {
		k := voteDesk(t, gate("finance", "finance"))
		k.rules.Policy = policy(t, tc.now)
		if _, err := k.anew(1, voter("bob", "finance", "legal")); err != nil {
			t.Fatal(err)
		}
		if a := k.approval(2); a.Grantable() != tc.want {
			t.Errorf("under gate %s a grant is offered: %t", tc.now.Name, a.Grantable())
		}
	}
}

// An approval beside a running call is asked anew, too, and the task waits for the new approval then.
func TestAskAnewBesideARunningCall(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) { r.Policy = policy(t, two) }, &fake{name: "pay", schema: amounts("")}, &fake{name: "run", schema: amounts("")})
	k.begin(call("pay", 1), call("run", 2))
	k.rules.Policy = policy(t, four)
	if _, err := k.anew(1, voter("bob")); err != nil {
		t.Fatal(err)
	}
	k.returns("c1.2", `"done"`)
	k.wantState(a2a.TaskStateWorking)
	if k.one().ID != id(2) || !strings.Contains(k.text(), "Approval "+id(2)) {
		t.Errorf("%v are pending, and the status says %q", k.pending(), k.text())
	}
	k.vote(2, voter("bob"), approval.Approve, "")
	k.vote(2, voter("carl"), approval.Approve, "")
	k.returns("c1.1", `"paid"`)
	k.wantState(a2a.TaskStateCompleted)
}
