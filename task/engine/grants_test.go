package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// mails is a gate that allows grants for the tool send_mail, whose amount may vary.
func mails(terms approval.GrantTerms) approval.Gate {
	if terms.Scopes == nil {
		terms.Scopes = approval.GrantScopes()
	}
	return approval.Gate{Name: "mails", Tool: "send_mail", Terms: approval.Terms{Grants: &terms}}
}

// mailing starts an engine with the tool send_mail, and gates.
func (w *world) mailing(gates ...approval.Gate) {
	w.t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: gates})
	w.must(err)
	w.cfg.Policy = p
	w.startTools(w.mailer(nil))
}

func (w *world) mailer(schema map[string]any) tool.Tool {
	return &fake{name: "send_mail", gated: true, schema: schema, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
		w.tools.ran(ctx, "send_mail", a)
		return map[string]any{"sent": true}, nil
	}}
}

// mail sends a call of send_mail of by's, in a context if it is not "", and returns its task.
func (w *world) mail(by auth.Principal, context string, a args) *a2a.Task {
	w.t.Helper()
	m := w.calls("send_mail", a)
	m.ContextID = context
	sent, err := w.sendAs(by, m)
	w.must(err)
	v, err := w.engine.Waited(w.ctx(), sent)
	w.must(err)
	return w.task(v)
}

// grantOf approves the only pending approval of a task, with a grant, and returns the grant.
func (w *world) grantOf(by auth.Principal, of *a2a.Task, ask approval.GrantRequest) *approval.Grant {
	w.t.Helper()
	one := w.pendingOf(by, of)
	w.must(w.engine.Approvals().Decide(w.ctx(), by, approval.Decision{ID: one.ID, Type: approval.Approve, Digest: one.Digest, Grant: &ask}))
	synctest.Wait()
	now, err := w.engine.Approvals().Get(w.ctx(), by, one.ID)
	w.must(err)
	if now.Resolution == nil || now.Resolution.Grant == nil {
		w.t.Fatalf("approval %s is %s and has made no grant", one.ID, now.State)
	}
	for _, g := range w.grants(by) {
		if g.ID == now.Resolution.Grant.ID {
			return &g
		}
	}
	if ask.Scope == approval.GrantTask && w.get(of.ID).Status.State.Terminal() {
		return &approval.Grant{ID: now.Resolution.Grant.ID} // it has ended with its task
	}
	w.t.Fatalf("the grant of %s is not listed", one.ID)
	return nil
}

func (w *world) pendingOf(by auth.Principal, of *a2a.Task) *approval.Approval {
	w.t.Helper()
	page, err := w.engine.Approvals().List(w.ctx(), by, engine.ApprovalQuery{Task: string(of.ID)})
	w.must(err)
	for _, a := range page.Approvals {
		if a.State == approval.Pending {
			return &a
		}
	}
	w.t.Fatalf("nothing of task %s is pending: %s, %s", of.ID, of.Status.State, statusText(of))
	return nil
}

func (w *world) grants(by auth.Principal) []approval.Grant {
	w.t.Helper()
	page, err := w.engine.Approvals().Grants(w.ctx(), by, 0, "")
	w.must(err)
	return page.Grants
}

// wantAsked checks whether a task waits for an approval, or has run.
func (w *world) wantAsked(got *a2a.Task, asked bool) {
	w.t.Helper()
	want := a2a.TaskStateCompleted
	if asked && len(w.pending(got)) > 0 {
		want = got.Status.State // input-required, or working if the sender may not decide
	}
	w.wantState(got, want)
}

var boss = auth.Principal{Tenant: "acme", Subject: "boss", Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "test"}

// A grant lets equal calls start in its scope, and nothing else: each other call asks.
func TestGrants(t *testing.T) {
	delegated := alice
	delegated.Chain = []string{"agent"}
	same := args{"amount": 1, "to": "x"}
	for _, tc := range []struct {
		name  string
		terms approval.GrantTerms
		scope approval.GrantScope
		by    auth.Principal // zero: alice
		in    string         // context of the later call; "": another
		args  args           // nil: the same
		asks  bool
	}{
		{"the same call in the same context", approval.GrantTerms{}, approval.GrantContext, alice, "c", nil, false},
		{"the same call in another context", approval.GrantTerms{}, approval.GrantContext, alice, "d", nil, true},
		{"the same call in a new context", approval.GrantTerms{}, approval.GrantContext, alice, "", nil, true},
		{"the same call in any context", approval.GrantTerms{}, approval.GrantTime, alice, "d", nil, false},
		{"the same call in another task", approval.GrantTerms{}, approval.GrantTask, alice, "c", nil, true},
		{"another argument", approval.GrantTerms{}, approval.GrantTime, alice, "c", args{"amount": 2, "to": "x"}, true},
		{"another type", approval.GrantTerms{}, approval.GrantTime, alice, "c", args{"amount": "1", "to": "x"}, true},
		{"an argument more", approval.GrantTerms{}, approval.GrantTime, alice, "c", args{"amount": 1, "to": "x", "note": ""}, true},
		{"an argument less", approval.GrantTerms{}, approval.GrantTime, alice, "c", args{"amount": 1}, true},
		{"an argument that may vary", approval.GrantTerms{Vary: []string{"/amount"}}, approval.GrantTime, alice, "c", args{"amount": 99, "to": "x"}, false},
		{"an argument beside one that may vary", approval.GrantTerms{Vary: []string{"/amount"}}, approval.GrantTime, alice, "c", args{"amount": 1, "to": "y"}, true},
		{"without an argument that may vary", approval.GrantTerms{Vary: []string{"/amount"}}, approval.GrantTime, alice, "c", args{"to": "x"}, true},
		{"a context of the same name of another owner", approval.GrantTerms{}, approval.GrantContext, carol, "c", nil, true},
		{"another owner", approval.GrantTerms{}, approval.GrantTime, carol, "c", nil, true},
		{"an agent that acts for the owner", approval.GrantTerms{}, approval.GrantTime, delegated, "c", nil, true},
		{"the owner with another role", approval.GrantTerms{}, approval.GrantTime, auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester, "x"}, Method: "test"}, "c", nil, true},
		{"the same subject of another tenant", approval.GrantTerms{}, approval.GrantTime, auth.Principal{Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}, "c", nil, true},
	} {
		runInMemory(t, tc.name, func(t *testing.T, w *world) {
			w.mailing(mails(tc.terms))
			first := w.mail(alice, "c", same)
			g := w.grantOf(boss, first, approval.GrantRequest{Scope: tc.scope})
			w.wantAsked(w.get(first.ID), false)
			later := tc.args
			if later == nil {
				later = same
			}
			w.wantAsked(w.mail(tc.by, tc.in, later), tc.asks)
			uses := 0
			for _, e := range w.entries(approval.AuditStarted) {
				if e.Grant == g.ID {
					uses++
				}
			}
			if want := map[bool]int{false: 1, true: 0}[tc.asks]; uses != want {
				t.Errorf("the audit has %d uses of the grant, want %d", uses, want)
			}
		})
	}
}

// A grant is found beside any number of grants of equal calls that do not cover the call.
func TestManyGrants(t *testing.T) {
	const many = 130 // more than a page
	day := approval.GrantTerms{Vary: []string{"/amount"}}
	same := args{"amount": 1, "to": "x"}
	grant := func(w *world, by auth.Principal, of *a2a.Task, ask approval.GrantRequest) {
		w.t.Helper()
		one := w.pendingOf(by, of)
		w.must(w.engine.Approvals().Decide(w.ctx(), by, approval.Decision{ID: one.ID, Type: approval.Approve, Digest: one.Digest, Grant: &ask}))
		synctest.Wait()
	}
	asked := func(w *world, n int) (of []*a2a.Task) { // before there is a grant
		for range n {
			of = append(of, w.mail(alice, "", same))
		}
		return of
	}
	for _, tc := range []struct {
		name string
		when string // of approvers
		last args   // of the call that is covered; nil: the same
		make func(w *world)
	}{
		{name: "of other contexts", make: func(w *world) {
			for i := range many {
				grant(w, alice, w.mail(alice, fmt.Sprint(i), same), approval.GrantRequest{Scope: approval.GrantContext})
			}
			grant(w, alice, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantContext})
		}},
		{name: "of exactly other calls", make: func(w *world) {
			for i := range many {
				grant(w, alice, w.mail(alice, "c", args{"amount": i + 2, "to": "x"}), approval.GrantRequest{Scope: approval.GrantContext, Exact: true})
			}
			grant(w, alice, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantContext, Exact: true})
			for i := range many {
				w.wantAsked(w.mail(alice, "c", args{"amount": i + 2, "to": "x"}), false)
			}
		}},
		{name: "that are used up", make: func(w *world) {
			for range many {
				grant(w, alice, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantTime, Uses: 1})
				w.wantAsked(w.mail(alice, "c", same), false)
			}
			grant(w, alice, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantTime, Uses: 1})
		}},
		{name: "that have ended", make: func(w *world) {
			of := asked(w, many+1)
			for i := range many {
				grant(w, alice, of[i], approval.GrantRequest{Scope: approval.GrantTime, For: 10 * time.Minute})
			}
			pass(10 * time.Minute)
			grant(w, alice, of[many], approval.GrantRequest{Scope: approval.GrantTime})
		}},
		{name: "of makers who may not decide the call", when: "args.amount < 100 || decider.subject == 'cfo'", last: args{"amount": 100, "to": "x"}, make: func(w *world) {
			of := asked(w, many+1)
			for i := range many {
				grant(w, boss, of[i], approval.GrantRequest{Scope: approval.GrantTime})
			}
			cfo := boss
			cfo.Subject = "cfo"
			grant(w, cfo, of[many], approval.GrantRequest{Scope: approval.GrantTime})
		}},
	} {
		runInMemory(t, tc.name, func(t *testing.T, w *world) {
			g := mails(day)
			if tc.when != "" {
				g.Terms.Approvers = &approval.Approvers{Roles: []string{auth.RoleApprover}, When: tc.when}
			}
			w.mailing(g)
			tc.make(w)
			if tc.last == nil {
				tc.last = same
			}
			w.wantAsked(w.mail(alice, "c", tc.last), false)
		})
	}
}

// A grant whose row is indexed as it was before its scope was part of the key is listed and can be
// revoked, and equal calls ask.
func TestGrantsIndexedWithoutTheirScope(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		w.mailing(mails(approval.GrantTerms{}))
		same := args{"amount": 1, "to": "x"}
		g := w.grantOf(alice, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantTime})
		page, err := w.store.Rows(w.ctx(), store.System(), store.RowQuery{Kind: record.KindGrant})
		w.must(err)
		row := page.Rows[0]
		_, err = w.store.Append(w.ctx(), &store.Batch{Scope: store.Owner("acme", "alice"), Rows: []store.RowChange{{
			Kind: record.KindGrant, Key: row.Key, IfRev: row.Rev, Value: row.Value, Index: []store.IndexKey{
				{Index: record.IndexGrantKey, Key: []byte(g.Key)},
				{Index: record.IndexGrantID, Key: []byte(g.ID)},
				{Index: record.IndexGrants, Key: fmt.Appendf(record.PendingPrefix("acme"), "%016x", uint64(store.MillisOf(g.Until)))},
			},
		}}}).Wait()
		w.must(err)
		if _, memory := w.disk.(*memDisk); !memory {
			w.restart()
		}
		w.wantAsked(w.mail(alice, "c", same), true)
		if list := w.grants(alice); len(list) != 1 || list[0].ID != g.ID {
			t.Errorf("listed: %v", list)
		}
		w.must(w.engine.Approvals().Revoke(w.ctx(), alice, g.ID, ""))
		if list := w.grants(alice); len(list) != 0 {
			t.Errorf("listed after the revocation: %v", list)
		}
	})
}

// To ask once covers exactly the approved call, whatever the rule lets vary; a wider grant stands
// beside it.
func TestAskOnce(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.mailing(mails(approval.GrantTerms{Vary: []string{"/amount"}, Uses: 2}))
		same, other := args{"amount": 1, "to": "x"}, args{"amount": 2, "to": "x"}
		g := w.grantOf(boss, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantContext, Exact: true})
		if text := g.String(); !strings.HasPrefix(text, `send_mail with amount 1, to "x", in the same context, until `) {
			t.Errorf("it says %q", text)
		}
		w.wantAsked(w.mail(alice, "d", same), true)
		w.wantAsked(w.mail(alice, "c", same), false)
		asked := w.mail(alice, "c", other)
		w.wantAsked(asked, true)
		w.wantAsked(w.mail(alice, "c", same), false)
		w.wantAsked(w.mail(alice, "c", same), true) // it is used up
		w.grantOf(boss, asked, approval.GrantRequest{Scope: approval.GrantTime, Uses: 1})
		w.wantAsked(w.mail(alice, "d", same), false)
		w.wantAsked(w.mail(alice, "d", same), true)
	})
}

// A grant covers no call that its maker may not decide, though the argument may vary.
func TestGrantsWithinWhatTheirMakersDecide(t *testing.T) {
	runInMemory(t, "approvers.when", func(t *testing.T, w *world) {
		g := mails(approval.GrantTerms{Vary: []string{"/amount"}})
		g.Terms.Approvers = &approval.Approvers{Roles: []string{auth.RoleApprover}, When: "args.amount < 100 || decider.subject == 'cfo'"}
		w.mailing(g)
		w.grantOf(boss, w.mail(alice, "c", args{"amount": 1, "to": "x"}), approval.GrantRequest{Scope: approval.GrantTime})
		w.wantAsked(w.mail(alice, "c", args{"amount": 99, "to": "x"}), false)
		w.wantAsked(w.mail(alice, "c", args{"amount": 100, "to": "x"}), true)
	})
}

// A grant covers the roles that the requester had: it covers no call that follows a message with other roles.
func TestGrantEndsWithARole(t *testing.T) {
	runInMemory(t, "", func(t *testing.T, w *world) {
		ops := alice
		ops.Roles = []string{auth.RoleRequester, "ops"}
		w.cfg.Planner = &stepper{n: 3, inline: true, step: func(i int) *task.Step {
			if i == 1 {
				return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("what next?"))}}
			}
			return &task.Step{Calls: []task.PlannedCall{{Tool: "send_mail", Args: json.RawMessage(`{"amount":1,"to":"x"}`)}}}
		}}
		w.mailing(mails(approval.GrantTerms{}))
		sent, err := w.sendAs(ops, w.message(a2a.NewTextPart("hello")))
		w.must(err)
		got := w.await(sent)
		w.grantOf(boss, got, approval.GrantRequest{Scope: approval.GrantTask})
		sent, err = w.sendAs(alice, w.reply(got.ID, a2a.NewTextPart("again")))
		w.must(err)
		w.wantAsked(w.await(sent), true)
		w.wantRuns("send_mail", 1)
	})
}

// Whatever has changed since the grant was made: the call asks.
func TestGrantsNoLonger(t *testing.T) {
	same := args{"amount": 1, "to": "x"}
	day := approval.GrantTerms{Max: time.Hour, Uses: 3}
	for _, tc := range []struct {
		name string
		ask  approval.GrantRequest
		then func(t *testing.T, w *world, g *approval.Grant)
	}{
		{"it has ended", approval.GrantRequest{Scope: approval.GrantTime, For: 10 * time.Minute}, func(_ *testing.T, w *world, _ *approval.Grant) { pass(10 * time.Minute) }},
		{"it has ended by the rule", approval.GrantRequest{Scope: approval.GrantContext}, func(_ *testing.T, w *world, _ *approval.Grant) { pass(time.Hour) }},
		{"it is used up", approval.GrantRequest{Scope: approval.GrantTime, Uses: 1}, func(_ *testing.T, w *world, _ *approval.Grant) { w.wantAsked(w.mail(alice, "c", same), false) }},
		{"it is used up by the rule", approval.GrantRequest{Scope: approval.GrantTime}, func(_ *testing.T, w *world, _ *approval.Grant) {
			for range 3 {
				w.wantAsked(w.mail(alice, "c", same), false)
			}
		}},
		{"it was revoked by its owner", approval.GrantRequest{Scope: approval.GrantTime}, func(_ *testing.T, w *world, g *approval.Grant) {
			w.must(w.engine.Approvals().Revoke(w.ctx(), alice, g.ID, "no longer"))
		}},
		{"it was revoked by an approver", approval.GrantRequest{Scope: approval.GrantTime}, func(_ *testing.T, w *world, g *approval.Grant) {
			other := boss
			other.Subject = "another boss"
			w.must(w.engine.Approvals().Revoke(w.ctx(), other, g.ID, ""))
		}},
		{"the tool was redefined", approval.GrantRequest{Scope: approval.GrantTime}, func(t *testing.T, w *world, _ *approval.Grant) {
			w.tools.extra = []tool.Tool{w.mailer(map[string]any{"type": "object", "description": "new"})}
			w.restart()
		}},
		{"the rule is stricter", approval.GrantRequest{Scope: approval.GrantTime}, func(t *testing.T, w *world, _ *approval.Grant) {
			g := mails(day)
			g.Terms.Elsewhere = true
			w.cfg.Policy = policy(t, g)
			w.restart()
		}},
		{"another rule asks, too", approval.GrantRequest{Scope: approval.GrantTime}, func(t *testing.T, w *world, _ *approval.Grant) {
			w.cfg.Policy = policy(t, mails(day), approval.Gate{Tool: "*"})
			w.restart()
		}},
		{"another rule asks, too, on the same terms", approval.GrantRequest{Scope: approval.GrantTime}, func(t *testing.T, w *world, _ *approval.Grant) {
			secret := mails(day)
			secret.Name, secret.Condition = "secret", condition.MustCompile("args.to == 'x'")
			w.cfg.Policy = policy(t, mails(day), secret)
			w.restart()
		}},
		{"the rule allows no grants", approval.GrantRequest{Scope: approval.GrantTime}, func(t *testing.T, w *world, _ *approval.Grant) {
			w.cfg.Policy = policy(t, approval.Gate{Name: "mails", Tool: "send_mail"})
			w.restart()
		}},
		{"the rule calls it destructive", approval.GrantRequest{Scope: approval.GrantTime}, func(t *testing.T, w *world, _ *approval.Grant) {
			g := mails(day)
			g.Terms.Destructive = true
			w.cfg.Policy = policy(t, g)
			w.restart()
		}},
	} {
		runOnEachDisk(t, tc.name, func(t *testing.T, w *world) {
			w.mailing(mails(day))
			g := w.grantOf(alice, w.mail(alice, "c", same), tc.ask)
			tc.then(t, w, g)
			w.wantAsked(w.mail(alice, "c", same), true)
		})
	}
}

// A grant answers nothing that is already pending, and a restart changes nothing about it.
func TestGrantsAndPending(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		w.mailing(mails(approval.GrantTerms{}))
		same := args{"amount": 1, "to": "x"}
		first, second := w.mail(alice, "c", same), w.mail(alice, "c", same)
		w.grantOf(alice, first, approval.GrantRequest{Scope: approval.GrantTime})
		w.wantAsked(w.get(second.ID), true)
		if _, memory := w.disk.(*memDisk); !memory {
			w.restart()
			synctest.Wait()
			w.wantAsked(w.get(second.ID), true)
			w.wantAsked(w.mail(alice, "", same), false)
		}
	})
}

// Grants of another incarnation of the store are void.
func TestGrantsOfABackup(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		other := uint64(0)
		w.wrap = func(h store.Handle) store.Handle { return &restoredFile{h, other} }
		w.mailing(mails(approval.GrantTerms{}))
		same := args{"amount": 1, "to": "x"}
		w.grantOf(alice, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantTime})
		w.wantAsked(w.mail(alice, "c", same), false)
		other = 1
		w.stop()
		w.start()
		if got := w.grants(alice); len(got) > 0 {
			t.Errorf("grants after a restoration: %v, want none", got)
		}
		w.wantAsked(w.mail(alice, "c", same), true)
	})
}

// restoredFile is a store whose file has another incarnation.
type restoredFile struct {
	store.Handle
	more uint64
}

func (r *restoredFile) Incarnation() uint64 { return r.Handle.Incarnation() + r.more }

// Who may not make a grant, and for what there are none.
func TestNoGrants(t *testing.T) {
	runInMemory(t, "requests", func(t *testing.T, w *world) {
		w.cfg.DelegatedDecisions = true
		w.mailing(mails(approval.GrantTerms{Scopes: []approval.GrantScope{approval.GrantTask}, Max: time.Hour, Uses: 5}))
		of := w.mail(alice, "c", args{"amount": 1})
		one := w.pendingOf(alice, of)
		service := alice
		service.Kind = auth.KindService
		task := &approval.GrantRequest{Scope: approval.GrantTask}
		for name, d := range map[string]struct {
			by auth.Principal
			approval.Decision
		}{
			"a scope that is not allowed": {alice, approval.Decision{Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTime}}},
			"no scope":                    {alice, approval.Decision{Type: approval.Approve, Grant: &approval.GrantRequest{}}},
			"too long":                    {alice, approval.Decision{Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTask, For: time.Hour + 1}}},
			"a negative time":             {alice, approval.Decision{Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTask, For: -1}}},
			"too often":                   {alice, approval.Decision{Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTask, Uses: 6}}},
			"with a rejection":            {alice, approval.Decision{Type: approval.Reject, Grant: task}},
			"with an edit":                {alice, approval.Decision{Type: approval.Edit, Args: []byte(`{"amount":2}`), Grant: task}},
			"by a service":                {service, approval.Decision{Type: approval.Approve, Grant: task}},
		} {
			d.ID = one.ID
			err := w.engine.Approvals().Decide(w.ctx(), d.by, d.Decision)
			if _, refused := errors.AsType[*approval.Error](err); !refused {
				t.Errorf("%s: Decide() = %v, want it refused", name, err)
			}
		}
		id, _ := store.ParseTaskID(string(of.ID))
		err := w.engine.DecideVia(w.ctx(), approval.ViaProvider, alice, store.System(), id, approval.Decision{ID: one.ID, Type: approval.Approve, Grant: task})
		if _, refused := errors.AsType[*approval.Error](err); !refused {
			t.Errorf("by a provider: Decide() = %v, want it refused", err)
		}
		w.wantAsked(w.get(of.ID), true)
		if got := w.grants(alice); len(got) > 0 {
			t.Errorf("grants of refused decisions: %v", got)
		}
	})
	all := &approval.GrantTerms{Scopes: approval.GrantScopes()}
	for name, tc := range map[string]struct {
		terms approval.Terms
		tool  string
	}{
		"four eyes":                   {approval.Terms{FourEyes: true, Grants: all}, "send_mail"},
		"two people":                  {approval.Terms{People: 2, Grants: all}, "send_mail"},
		"destructive by the rule":     {approval.Terms{Destructive: true, Grants: all}, "send_mail"},
		"destructive by the tool":     {approval.Terms{Grants: all}, "wipe"},
		"destructive by its server":   {approval.Terms{Grants: all}, "claims"},
		"a rule without any":          {approval.Terms{}, "send_mail"},
		"a condition that has failed": {approval.Terms{Grants: all}, "failing"},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			when := func(agent.ReadonlyContext, tool.Tool, map[string]any) (bool, error) {
				return false, errors.New("broken")
			}
			w.cfg.Policy = policy(t, approval.Gate{Name: "all", Tool: "*", Terms: tc.terms}, approval.Gate{Name: "broken", Tool: "failing", When: when, Terms: approval.Terms{Grants: all}})
			w.startTools(&fake{name: "send_mail"}, &fake{name: "wipe", is: tool.Annotations{Destructive: true}}, &claims{fake{name: "claims"}, []string{"destructive"}}, &fake{name: "failing"})
			of := w.send(w.calls(tc.tool, args{}))
			one := w.pendingOf(boss, of)
			if one.Grantable() {
				t.Error("the approval says that it may make a grant")
			}
			for _, scope := range approval.GrantScopes() {
				err := w.engine.Approvals().Decide(w.ctx(), boss, approval.Decision{ID: one.ID, Type: approval.Approve, Grant: &approval.GrantRequest{Scope: scope}})
				if _, refused := errors.AsType[*approval.Error](err); !refused {
					t.Errorf("Decide() with a grant = %v, want it refused", err)
				}
			}
		})
	}
	runInMemory(t, "a missing hint is no claim", func(t *testing.T, w *world) {
		w.cfg.Policy = policy(t, approval.Gate{Tool: "*", Terms: approval.Terms{Grants: all}})
		w.startTools(&claims{fake{name: "claims", is: tool.Annotations{Destructive: true}}, []string{"open world"}})
		if one := w.pendingOf(alice, w.send(w.calls("claims", args{}))); !one.Grantable() || !one.Terms.Destructive {
			t.Errorf("grantable %t, destructive %t, want both", one.Grantable(), one.Terms.Destructive)
		}
	})
}

// claims is a tool of a server that says something about it.
type claims struct {
	fake
	says []string
}

func (c *claims) Claims() []string { return c.says }
func (*claims) Trusted() bool      { return false }

// An edit makes no grant, and what it asks again makes one of the edited arguments.
func TestGrantOfEditedArguments(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		isLarge := func(_ agent.ReadonlyContext, _ tool.Tool, a map[string]any) (bool, error) {
			return fmt.Sprint(a["amount"]) != "1", nil
		}
		large := approval.Gate{Name: "large", Tool: "send_mail", When: isLarge, Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: approval.GrantScopes()}}}
		w.mailing(mails(approval.GrantTerms{}), large)
		of := w.mail(alice, "c", args{"amount": 1, "to": "x"})
		one := w.pendingOf(alice, of)
		w.must(w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: one.ID, Type: approval.Edit, Args: []byte(`{"amount":5000,"to":"x"}`)}))
		synctest.Wait()
		w.grantOf(alice, of, approval.GrantRequest{Scope: approval.GrantTime})
		w.wantAsked(w.mail(alice, "c", args{"amount": 1, "to": "x"}), true)
		w.wantAsked(w.mail(alice, "c", args{"amount": 5000, "to": "x"}), false)
	})
}

// Foreign callers neither see nor revoke grants, and a revocation is audited.
func TestRevoke(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var told []string
		ended := map[string]bool{} // whether its end is routine
		w.cfg.Observers = []engine.Observer{{
			Deleted: func(a *engine.Audited) { told = append(told, fmt.Sprintf("%s by %s", a.What, a.By.Subject)) },
			Ended:   func(a *engine.Audited) { ended[a.Task] = a.Routine },
		}}
		w.mailing(mails(approval.GrantTerms{Vary: []string{"/amount"}, Uses: 50}))
		g := w.grantOf(boss, w.mail(alice, "c", args{"amount": 1, "to": "bob"}), approval.GrantRequest{Scope: approval.GrantContext, For: time.Hour})
		granted := w.mail(alice, "c", args{"amount": 7, "to": "bob"})
		w.wantAsked(granted, false)
		if routine, told := ended[string(granted.ID)]; routine || !told {
			t.Error("the end of a granted call is routine, or not told")
		}
		list := w.grants(alice)
		if len(list) != 1 {
			t.Fatalf("alice sees %d grants, want 1", len(list))
		}
		want := fmt.Sprintf(`send_mail with to "bob", any amount, in the same context, until %s, 1 of 50 used`, g.Until.Format("2006-01-02 15:04 UTC"))
		if got := list[0].String(); got != want {
			t.Errorf("the grant says %q, want %q", got, want)
		}
		if got := w.grants(carol); len(got) > 0 {
			t.Errorf("carol sees %v", got)
		}
		stranger := boss
		stranger.Tenant = "other"
		for _, by := range []auth.Principal{carol, stranger} {
			if err := w.engine.Approvals().Revoke(w.ctx(), by, g.ID, ""); !errors.Is(err, engine.ErrNoGrant) {
				t.Errorf("Revoke() by %s of %s = %v, want %v", by.Subject, by.Tenant, err, engine.ErrNoGrant)
			}
		}
		for _, id := range []string{"", g.ID[:5], strings.Repeat("x", 600)} {
			if err := w.engine.Approvals().Revoke(w.ctx(), alice, id, ""); err == nil {
				t.Errorf("Revoke(%.10q) = nil", id)
			}
		}
		wake, stop := w.engine.WatchAudit()
		defer stop()
		w.must(w.engine.Approvals().Revoke(w.ctx(), boss, g.ID, "enough"))
		select {
		case <-wake:
		default:
			t.Error("the revocation wakes no reader of the audit")
		}
		if len(told) != 1 || told[0] != "grant_revoked by boss" {
			t.Errorf("observers are told of %v", told)
		}
		if err := w.engine.Approvals().Revoke(w.ctx(), boss, g.ID, ""); !errors.Is(err, engine.ErrNoGrant) {
			t.Errorf("Revoke() again = %v", err)
		}
		e := w.entries(approval.AuditGrantRevoked)
		if len(e) != 1 || e[0].Grant != g.ID || e[0].By.Subject != "boss" || e[0].Reason != "enough" || e[0].Owner != "alice" || e[0].Tenant != "acme" {
			t.Errorf("the audit says %+v", e)
		}
		w.wantAsked(w.mail(alice, "c", args{"amount": 7, "to": "bob"}), true)
	})
}

// Of calls that start while their grant is revoked, none starts after the revocation.
func TestRevokeRace(t *testing.T) {
	for _, uses := range []int{0, 1000} {
		t.Run(fmt.Sprint(uses, " uses"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newBolt(t))
			w.mailing(mails(approval.GrantTerms{Uses: uses}))
			for round := range 8 {
				same := args{"amount": round, "to": "x"}
				of := w.mail(alice, "", same)
				one := w.pendingOf(alice, of)
				w.must(w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: one.ID, Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTime}}))
				id := w.grants(alice)[0].ID
				ms := make([]*a2a.Message, 40)
				for i := range ms {
					ms[i] = w.calls("send_mail", same)
				}
				var wg sync.WaitGroup
				sent := make(chan struct{}, len(ms))
				for i := range ms {
					wg.Go(func() {
						if _, err := w.sendAs(alice, ms[i]); err != nil {
							t.Error(err)
						}
						sent <- struct{}{}
					})
				}
				for range 4 * round { // the revocation comes at another time in each round
					<-sent
				}
				w.must(w.engine.Approvals().Revoke(w.ctx(), alice, id, ""))
				wg.Wait()
				w.wantAsked(w.mail(alice, "", same), true)
			}
			revoked := map[string]uint64{}
			started := 0
			_, err := w.engine.EachAudit(w.ctx(), 0, func(e *engine.AuditEntry) bool {
				switch {
				case e.What == approval.AuditGrantRevoked:
					revoked[e.Grant] = e.N
				case e.What == approval.AuditStarted && e.Grant != "":
					if started++; revoked[e.Grant] != 0 {
						t.Errorf("entry %d starts by a grant that entry %d has revoked", e.N, revoked[e.Grant])
					}
				}
				return true
			})
			w.must(err)
			if started == 0 || started == 8*40 {
				t.Errorf("%d calls have started by a grant; the test needs some that start and some that do not", started)
			}
		})
	}
}

// The agent asks again for what a person has rejected: it is rejected without asking, grant or not.
func TestRejectedAgain(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		call := func(amount int) *task.Step {
			return &task.Step{Calls: []task.PlannedCall{{Tool: "send_mail", Args: fmt.Appendf(nil, `{"amount":%d}`, amount)}}}
		}
		steps := []*task.Step{call(1), call(1), call(2), {End: &task.End{State: a2a.TaskStateCompleted}}}
		w.cfg.Planner = &stepper{n: len(steps), step: func(i int) *task.Step { return steps[i] }, inline: true}
		w.mailing(mails(approval.GrantTerms{}))
		of := w.send(w.message(a2a.NewTextPart("go")))
		one := w.pendingOf(alice, of)
		w.must(w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: one.ID, Type: approval.Reject, Reason: "not that"}))
		synctest.Wait()
		next := w.pendingOf(alice, of)
		if string(next.Args) != `{"amount":2}` {
			t.Errorf("asked about %s, want the call that was not rejected", next.Args)
		}
		finished := w.entries(approval.AuditFinished)
		if len(finished) != 2 || finished[1].Outcome != string(task.OutcomeRejected) || !strings.Contains(finished[1].Reason, "not that") {
			t.Errorf("finished: %+v", finished)
		}
		if n := w.tools.count("send_mail"); n > 0 {
			t.Errorf("transfer ran %d times", n)
		}
	})
}

// A grant covers no repetition after a crash: a person decides, whatever the tool declares.
func TestGrantAfterACrash(t *testing.T) {
	for name, is := range map[string]tool.Annotations{"once": {}, "idempotent": {Idempotent: true}} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			k := w.killer()
			blocks := false
			slow := &fake{name: "send_mail", gated: true, is: is, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
				w.tools.ran(ctx, "send_mail", a)
				if blocks {
					<-w.tools.blocked()
				}
				return map[string]any{}, nil
			}}
			w.cfg.Policy = policy(t, mails(approval.GrantTerms{}))
			w.startTools(slow)
			w.grantOf(alice, w.mail(alice, "c", args{"amount": 1}), approval.GrantRequest{Scope: approval.GrantTime})
			blocks = true
			m := w.calls("send_mail", args{"amount": 1})
			sent := w.sent(m)
			synctest.Wait()
			if n := w.tools.count("send_mail"); n != 2 {
				t.Fatalf("it ran %d times, want 2", n)
			}
			k.die()
			w.tools.release()
			w.stop()
			blocks = false
			w.restart()
			synctest.Wait()
			w.wantAsked(w.settled(a2a.TaskID(sent.Task.String()), ""), true)
			if n := w.tools.count("send_mail"); n != 2 {
				t.Errorf("it ran %d times, want 2", n)
			}
		})
	}
}

// A suspended call that a grant has let start goes on by the grant, though it is used up, and
// not after its revocation.
func TestGrantOfASuspendedCall(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		slow := newKeeper("send_mail", func(ctx tool.Context, n int) (map[string]any, error) {
			if n%3 != 0 {
				return nil, &tool.Suspension{Wake: time.Now().Add(time.Minute)}
			}
			return map[string]any{"sent": true}, nil
		})
		w.cfg.Policy = policy(t, mails(approval.GrantTerms{Uses: 5}))
		w.startTools(slow)
		first := w.mail(alice, "c", args{})
		g := w.grantOf(alice, first, approval.GrantRequest{Scope: approval.GrantTime, Uses: 1})
		pass(2 * time.Minute)
		w.wantState(w.get(first.ID), a2a.TaskStateCompleted)
		sent := w.sent(w.calls("send_mail", args{}))
		id := a2a.TaskID(sent.Task.String())
		pass(time.Minute)
		if used := w.grants(alice)[0].Used; used != 1 {
			t.Errorf("the grant was used %d times, want once", used)
		}
		w.wantState(w.get(id), a2a.TaskStateWorking)
		w.must(w.engine.Approvals().Revoke(w.ctx(), alice, g.ID, ""))
		pass(time.Minute)
		w.wantAsked(w.get(id), true)
	})
}

// A granted call that waits for its turn until the grant has ended asks.
func TestGrantEndsWhileACallIsQueued(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.mailing(mails(approval.GrantTerms{}))
		same := args{"amount": 1}
		g := w.grantOf(alice, w.mail(alice, "c", same), approval.GrantRequest{Scope: approval.GrantTime, For: time.Minute})
		w.takeTheTurn()
		id := w.begun(alice, w.calls("send_mail", same))
		if n := w.tools.count("send_mail"); n != 1 || g == nil {
			t.Fatalf("it ran %d times, want the second call queued", n)
		}
		pass(time.Minute)
		w.tools.release()
		synctest.Wait()
		w.wantAsked(w.get(id), true)
		if n := w.tools.count("send_mail"); n != 1 {
			t.Errorf("it ran %d times, want once", n)
		}
	})
}

// A grant for the same task ends with it. Others outlive even its deletion, can be revoked, and are
// removed after their end.
func TestGrantsEnd(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		rows := func() int {
			page, err := w.store.Rows(w.ctx(), store.System(), store.RowQuery{Kind: record.KindGrant})
			w.must(err)
			return len(page.Rows)
		}
		call := func(tool string) *task.Step {
			return &task.Step{Calls: []task.PlannedCall{{Tool: tool, Args: []byte(`{"amount":1}`)}}}
		}
		steps := []*task.Step{call("send_mail"), call("send_mail"), {Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("enough?"))}}, {End: &task.End{State: a2a.TaskStateCompleted}}}
		w.cfg.Planner = &stepper{n: len(steps), step: func(i int) *task.Step { return steps[i] }, inline: true}
		w.mailing(mails(approval.GrantTerms{}))
		of := w.send(w.message(a2a.NewTextPart("go")))
		g := w.grantOf(alice, of, approval.GrantRequest{Scope: approval.GrantTask})
		if n := w.tools.count("send_mail"); n != 2 {
			t.Errorf("it ran %d times, want twice, the second time by the grant", n)
		}
		w.must(w.engine.Cancel(w.ctx(), alice, mustID(of.ID)))
		if n := rows(); n > 0 {
			t.Errorf("%d grants after the end of the task, want none", n)
		}
		if err := w.engine.Approvals().Revoke(w.ctx(), alice, g.ID, ""); !errors.Is(err, engine.ErrNoGrant) {
			t.Errorf("Revoke() after the end of the task = %v", err)
		}

		w.cfg.Planner = nil
		w.stop()
		w.start()
		first := w.mail(alice, "c", args{"amount": 1})
		w.grantOf(alice, first, approval.GrantRequest{Scope: approval.GrantContext, For: time.Minute})
		w.grantOf(alice, w.mail(alice, "c", args{"amount": 2}), approval.GrantRequest{Scope: approval.GrantTime})
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(first.ID)))
		w.must(w.engine.Approvals().RemoveEnded(w.ctx()))
		if list := w.grants(alice); len(list) != 2 {
			t.Fatalf("%d grants are listed after the deletion of a task, want 2", len(list))
		}
		w.wantAsked(w.mail(alice, "c", args{"amount": 1}), false)
		pass(time.Minute)
		w.must(w.engine.Approvals().RemoveEnded(w.ctx()))
		list := w.grants(alice)
		if n := rows(); n != 1 || len(list) != 1 || list[0].Scope != approval.GrantTime {
			t.Fatalf("%d grants are left, and %v listed", n, list)
		}
		w.must(w.engine.Approvals().Revoke(w.ctx(), alice, list[0].ID, ""))
	})
}

// Several equal calls of a step use a counted grant as often as it says; the others ask.
func TestGrantOfSeveralCalls(t *testing.T) {
	for _, hold := range []bool{false, true} {
		runInMemory(t, fmt.Sprint("held siblings: ", hold), func(t *testing.T, w *world) {
			w.cfg.HoldSiblings = hold
			w.mailing(mails(approval.GrantTerms{}))
			g := w.grantOf(alice, w.mail(alice, "c", args{"amount": 1}), approval.GrantRequest{Scope: approval.GrantTime, Uses: 2})
			same := args{"amount": 1}
			of := w.send(w.calls("send_mail", same, "send_mail", same, "send_mail", same))
			w.wantAsked(of, true)
			ran, used := w.tools.count("send_mail")-1, w.grants(alice)[0].Used
			if want := map[bool]int{false: 2, true: 0}[hold]; ran != want || used != want || g.Uses != 2 {
				t.Errorf("%d calls ran, %d of 2 used; want %d", ran, used, want)
			}
		})
	}
}

// The program's own word that a tool of a server is destructive counts, whatever its server says.
type careful struct{ tool.Tool }

func (c careful) Unwrap() tool.Tool             { return c.Tool }
func (c careful) Annotations() tool.Annotations { return tool.Annotations{Destructive: true} }

func TestNoGrantsForAToolThatTheProgramCallsDestructive(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Policy = policy(t, approval.Gate{Tool: "*", Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: approval.GrantScopes()}}})
		w.startTools(careful{&claims{fake{name: "wire"}, []string{"not destructive"}}})
		one := w.pendingOf(alice, w.send(w.calls("wire", args{})))
		if !one.Terms.Destructive || one.Grantable() {
			t.Errorf("destructive %t, grantable %t, want a destructive call without grants", one.Terms.Destructive, one.Grantable())
		}
	})
}

// An approver who lets the amount vary does so within the condition of the gate: of a gate that asks
// about amounts below 10, and not of the gate of the same name that asks about amounts below 1,000.
func TestGrantOfAGateThatDiffers(t *testing.T) {
	for name, change := range map[string]func(g *approval.Gate){
		"when": func(g *approval.Gate) { g.Condition = condition.MustCompile("args.amount < 1000") },
		"who": func(g *approval.Gate) {
			g.Condition, g.Who = condition.MustCompile("args.amount < 1000"), &approval.Who{Callers: []string{"ali*"}}
		},
	} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			g := mails(approval.GrantTerms{Vary: []string{"/amount"}})
			g.Condition = condition.MustCompile("args.amount < 10")
			w.mailing(g)
			w.grantOf(alice, w.mail(alice, "c", args{"amount": 1}), approval.GrantRequest{Scope: approval.GrantTime})
			change(&g)
			w.cfg.Policy = policy(t, g)
			w.restart()
			w.wantAsked(w.mail(alice, "c", args{"amount": 999}), true)
		})
	}
}

// A grant covers what its maker could approve now: the call asks, and says why, if they could not, if nobody
// knows, or if that changes until the commit.
func TestMakersOfGrants(t *testing.T) {
	as := func(change func(p *auth.Principal)) func(int, auth.Principal) (auth.Principal, error) {
		return func(_ int, p auth.Principal) (auth.Principal, error) {
			change(&p)
			return p, nil
		}
	}
	gone := &auth.WithdrawnError{Why: "their key has gone"}
	for name, tc := range map[string]struct {
		now  func(looks int, was auth.Principal) (auth.Principal, error) // looks: how often it was asked
		says string                                                      // "": it covers the call
	}{
		"as they were":       {as(func(*auth.Principal) {}), ""},
		"with another role":  {as(func(p *auth.Principal) { p.Roles = []string{auth.RoleApprover, "sre", "new"} }), ""},
		"no approver":        {as(func(p *auth.Principal) { p.Roles = []string{auth.RoleRequester, "sre"} }), "no role that may decide it"},
		"without the gate's": {as(func(p *auth.Principal) { p.Roles = []string{auth.RoleApprover} }), "the gate names other approvers"},
		"of another tenant":  {as(func(p *auth.Principal) { p.Tenant = "other" }), "no role that may decide it"},
		"a service":          {as(func(p *auth.Principal) { p.Kind = auth.KindService }), "a service"},
		"withdrawn": {func(int, auth.Principal) (auth.Principal, error) {
			return auth.Principal{}, gone
		}, "their key has gone"},
		"nobody knows": {func(int, auth.Principal) (auth.Principal, error) { return auth.Principal{}, errors.New("broken") }, "cannot be found out now"},
		"withdrawn at the last": {func(looks int, p auth.Principal) (auth.Principal, error) {
			if looks == 1 {
				return p, nil
			}
			return auth.Principal{}, gone
		}, "their key has gone"},
	} {
		// The call starts in the commit that makes its task, with a decision about another, or in a turn that waited.
		for _, starts := range []string{"at once", "by a decision", "in a turn"} {
			runInMemory(t, name+", "+starts, func(t *testing.T, w *world) {
				maker := boss
				maker.Roles = []string{auth.RoleApprover, "sre"}
				other := maker // who decides about another call
				other.Subject = "other"
				var looks atomic.Int64
				var changed atomic.Bool
				w.cfg.Current = func(_ context.Context, was auth.Principal) (auth.Principal, error) {
					if !changed.Load() || was.Subject == other.Subject {
						return was, nil
					}
					return tc.now(int(looks.Add(1)), was)
				}
				gate := mails(approval.GrantTerms{})
				gate.Terms.Approvers = &approval.Approvers{Roles: []string{"sre"}}
				w.cfg.HoldSiblings, w.cfg.Limits = true, task.Limits{Turns: 1, TurnsPerCaller: 1}
				w.mailing(gate, approval.Gate{Tool: "transfer"})
				g := w.grantOf(maker, w.mail(alice, "", args{"amount": 1}), approval.GrantRequest{Scope: approval.GrantTime})
				before := w.tools.count("send_mail")
				pairs := []any{"send_mail", args{"amount": 1}}
				switch starts {
				case "by a decision":
					pairs = append(pairs, "transfer", args{"amount": 1, "to": "x"})
				case "in a turn":
					w.begin(w.calls("block", args{}))
				}
				if starts != "by a decision" {
					changed.Store(true)
				}
				id := w.begin(w.calls(pairs...))
				switch starts {
				case "by a decision":
					w.rest(id)
					changed.Store(true)
					w.must(w.engine.Approvals().Decide(w.ctx(), other, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}))
				case "in a turn":
					w.tools.release()
				}
				w.rest(id)
				asks := 0
				for _, a := range w.waiting(id) {
					asks++
					if !strings.Contains(a.Question(), g.ID+" by boss does not cover it") || !strings.Contains(a.Question(), tc.says) {
						t.Errorf("the question says %q, want why the grant does not cover it: %s", a.Question(), tc.says)
					}
				}
				if ran := w.tools.count("send_mail") - before; (tc.says == "") != (ran == 1) || (tc.says == "") != (asks == 0) {
					t.Errorf("send_mail ran %d times, and %d calls ask", ran, asks)
				}
			})
		}
	}
}

// The vote of a credential that is withdrawn while others are missing does not count: at the next
// decision everybody is asked anew. Of somebody who has only not been seen lately, it counts.
func TestVoteOfAWithdrawnKey(t *testing.T) {
	for name, tc := range map[string]struct {
		gone   error
		counts bool
	}{
		"withdrawn":    {&auth.WithdrawnError{Why: "their key has gone"}, false},
		"not seen":     {&auth.WithdrawnError{Why: "they have not been seen", Unseen: true}, true},
		"nobody knows": {errors.New("broken"), false},
	} {
		for _, late := range []bool{false, true} { // right before the commit
			runInMemory(t, fmt.Sprintf("%s, late %t", name, late), func(t *testing.T, w *world) {
				voter := func(name string) auth.Principal { return member(name, auth.RoleApprover) }
				var withdrawn atomic.Bool
				w.cfg.Current = func(_ context.Context, was auth.Principal) (auth.Principal, error) {
					if withdrawn.Load() && was.Subject == "bob" {
						return auth.Principal{}, tc.gone
					}
					return was, nil
				}
				w.cfg.Policy = policy(t, approval.Gate{Name: "two", Tool: "transfer", Terms: approval.Terms{People: 2}})
				w.start()
				id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
				w.rest(id)
				approve := func(by string) error {
					return w.engine.Approvals().Decide(w.ctx(), voter(by), approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve})
				}
				w.must(approve("bob"))
				withdrawn.Store(!late)
				last := w.engine.Approvals().Renewing(func(context.Context) (auth.Principal, error) {
					withdrawn.Store(true)
					return voter("carol"), nil
				})
				err := last.Decide(w.ctx(), voter("carol"), approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve})
				if (err == nil) != tc.counts {
					t.Fatalf("the second vote: %v", err)
				}
				if !tc.counts {
					if one := w.onlyOne(id); len(one.Votes) != 0 {
						t.Errorf("the question that replaces it has the votes %+v", one.Votes)
					}
					w.must(approve("carol"))
					if n := w.tools.count("transfer"); n != 0 {
						t.Fatal("it ran with one vote")
					}
					w.must(approve("dora"))
				}
				w.ended(id)
				if n := w.tools.count("transfer"); n != 1 {
					t.Errorf("it ran %d times", n)
				}
			})
		}
	}
}

// Who has only been added to the approvers by an escalation approves the call, and makes no grant.
func TestGrantAfterAnEscalation(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		gate := mails(approval.GrantTerms{})
		gate.Terms.Approvers = &approval.Approvers{Roles: []string{"sre"}}
		gate.Terms.Escalate = approval.Escalation{After: time.Hour, AddRoles: []string{"treasury"}}
		w.mailing(gate)
		of := w.mail(alice, "", args{"amount": 1})
		pass(2 * time.Hour)
		treasurer := member("tim", auth.RoleApprover, "treasury")
		approve := approval.Decision{ID: w.pendingOf(treasurer, of).ID, Type: approval.Approve, Grant: &approval.GrantRequest{Scope: approval.GrantTime}}
		if refused, is := errors.AsType[*approval.Error](w.engine.Approvals().Decide(w.ctx(), treasurer, approve)); !is || refused.Barred != approval.BarredApprovers {
			t.Errorf("Decide() with a grant = %v, want it refused", refused)
		}
		approve.Grant = nil
		w.must(w.engine.Approvals().Decide(w.ctx(), treasurer, approve))
		w.ended(of.ID)
	})
}

// A call that a grant has let start, and whose job runs while the grant lapses, is asked about as one that
// has started; whatever keeps it from going on, nobody knows what came of it.
func TestGrantLapsesWhileItsCallWaits(t *testing.T) {
	ends := func(how string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { callOfALapsedGrant(t, w, how) }
	}
	for _, how := range []string{"it is rejected", "nobody answers", "its task is canceled", "a hook denies it"} {
		runInMemory(t, how, ends(how))
	}
}

func callOfALapsedGrant(t *testing.T, w *world, how string) {
	var withdrawn atomic.Bool
	w.cfg.Current = func(_ context.Context, was auth.Principal) (auth.Principal, error) {
		if withdrawn.Load() {
			return auth.Principal{}, &auth.WithdrawnError{Why: "they have not been seen", Unseen: true}
		}
		return was, nil
	}
	w.cfg.Hooks = append(w.cfg.Hooks, func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
		if withdrawn.Load() && how == "a hook denies it" {
			return task.HookResult{Deny: "no mails today"}, nil
		}
		return task.HookResult{}, nil
	})
	started := 0
	gate := mails(approval.GrantTerms{})
	gate.Terms.Expires = time.Hour
	w.cfg.Policy = policy(t, gate)
	w.startTools(newKeeper("send_mail", func(ctx tool.Context, n int) (map[string]any, error) {
		if _, resumed := tool.Resumed(ctx); !resumed {
			started++
		}
		if n%2 != 0 {
			return nil, &tool.Suspension{Wake: time.Now().Add(time.Minute), State: json.RawMessage(`{"job":7}`)}
		}
		return map[string]any{"sent": true}, nil
	}))
	first := w.mail(alice, "", args{})
	w.grantOf(alice, first, approval.GrantRequest{Scope: approval.GrantTime})
	pass(2 * time.Minute)
	w.ended(first.ID)
	id := w.begin(w.calls("send_mail", args{}))
	withdrawn.Store(true)
	pass(time.Minute)
	for _, q := range w.waiting(id) {
		if !strings.Contains(q.Question(), "send_mail has started, and waits") {
			t.Errorf("the question says %q", q.Question())
		}
		switch how {
		case "it is rejected":
			w.must(w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: q.ID, Type: approval.Reject}))
		case "its task is canceled":
			w.must(w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: q.ID, Type: approval.Cancel}))
		}
	}
	pass(2 * time.Hour)
	w.ended(id)
	var ends []string
	for _, a := range w.audits(id) {
		if a.What == approval.AuditFinished {
			ends = append(ends, a.Outcome+": "+a.Reason)
		}
	}
	if len(ends) != 1 || !strings.HasPrefix(ends[0], "unknown: the ") || !strings.Contains(ends[0], "started, and") || started != 2 {
		t.Errorf("after %d starts the call ended %q; the task says %q", started, ends, statusText(w.get(id)))
	}
}
