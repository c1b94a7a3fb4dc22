package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

type modelApproval struct {
	approval.Approval
	used   bool
	holder holder // if it holds its call
	void   bool   // asked before a restoration
}

func (a *modelApproval) String() string {
	if a == nil {
		return "never asked"
	}
	return string(a.State)
}

// newest returns the newest approval of a kind of a call that no running tool asked.
func (t *modelTask) newest(call string, kind approval.Kind) *modelApproval {
	for i := len(t.approvals) - 1; i >= 0; i-- {
		if a := t.approvals[i]; a.Call == call && a.Kind == kind && a.Ask == "" {
			return a
		}
	}
	return nil
}

func (t *modelTask) approval(id string) *modelApproval {
	for _, a := range t.approvals {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// pending returns the pending approvals.
func (t *modelTask) pending() []*approval.Approval {
	var all []*approval.Approval
	for _, a := range t.approvals {
		if a.State == approval.Pending {
			all = append(all, &a.Approval)
		}
	}
	return all
}

func (m *model) asked(t *modelTask, p *Process, a *modelApproval) {
	if t.approval(a.ID) != nil {
		m.fail(t, "an approval is asked once", "%s is asked again", a.ID)
	}
	if a.Ask == "" {
		for _, o := range t.approvals {
			if o.Call == a.Call && o.Ask == "" && o.State == approval.Pending {
				m.fail(t, "a call is asked for once at a time", "%s is asked while %s waits", a.ID, o.ID)
			}
		}
	}
	for _, o := range t.approvals {
		if a.Ask != "" && o.Call == a.Call && o.Ask == a.Ask && o.State == approval.Pending {
			m.fail(t, "a question is asked once at a time", "%s is asked while %s waits for the same answer", a.ID, o.ID)
		}
	}
	if c := t.calls[a.Call]; c != nil && c.canceled {
		m.fail(t, "nobody is asked about a canceled call", "%s, of %s", a.ID, c)
	}
	t.approvals = append(t.approvals, a)
	if a.Held {
		m.askedHeld(t, p, a)
	}
}

// extended checks that only a pending approval that holds no call gets a later deadline, and
// that it was judged before the old deadline. Its commit may be later, as that of a decision
// may.
func (m *model) extended(t *modelTask, v *event) {
	a := t.approval(v.ID)
	until, err := time.Parse(time.RFC3339, *v.Until)
	if err != nil {
		m.fail(t, "events can be read", "the new deadline of %s: %v", v.ID, err)
		return
	}
	judged := v.At != nil && !v.At.After(m.s.now)
	if a == nil || a.State != approval.Pending || a.Held || a.Deadline == nil || !until.After(*a.Deadline) || !judged || !v.At.Before(*a.Deadline) {
		m.fail(t, "what is pending gets a later deadline, in time", "%s, %s, judged at %v, at %s until %s", v.ID, a, v.At, m.s.now, until)
		return
	}
	a.Deadline = &until
}

// reminds gives a quarter of the runs reminders and escalations. The choices are in a lane of their own.
func reminds(w *world, terms *approval.Terms) {
	if besides(w, 4) != 2 {
		return
	}
	most := int(cmp.Or(terms.Expires, 300*time.Millisecond) / time.Millisecond)
	terms.Remind = time.Duration(1+besides(w, most-1)) * time.Millisecond
	terms.Escalate = approval.Escalation{After: time.Duration(1+besides(w, most-1)) * time.Millisecond, AddRoles: []string{"treasury"}}
}

// toldAgain checks a reminder or an escalation: it is of a pending approval that is not overdue, at
// its time or later, once, and an escalation comes before a reminder if both are due.
func (m *model) toldAgain(t *modelTask, kind string, v *event) {
	a := t.approval(v.ID)
	if a == nil || v.At == nil || a.State != approval.Pending || a.Deadline != nil && !v.At.Before(*a.Deadline) {
		m.fail(t, "nobody is reminded of what has ended", "%s of %s, %s, at %v", kind, v.ID, a, v.At)
		return
	}
	at, done := a.RemindAt(), &a.Reminded
	if kind == "approval.escalated" {
		at, done = a.EscalateAt(), &a.Escalated
	} else if first := a.EscalateAt(); !first.IsZero() && !v.At.Before(first) {
		m.fail(t, "an approval is escalated before a reminder", "%s at %s, its escalation was due at %s", a.ID, v.At, first)
	}
	if at.IsZero() || v.At.Before(at) {
		m.fail(t, "a reminder and an escalation come once, in time", "%s of %s at %s, due at %s", kind, a.ID, v.At, at)
	}
	*done = v.At
	m.tools.coverage.Count(kind)
}

func (m *model) resolved(t *modelTask, p *Process, v *event) {
	a := t.approval(v.ID)
	if a == nil || a.State != approval.Pending {
		m.fail(t, "an approval is resolved once", "%s is resolved as %s, and was %s", v.ID, v.State, a)
		return
	}
	if err := json.Unmarshal(v.State, &a.State); err != nil {
		m.fail(t, "events can be read", "the state of %s: %v", a.ID, err)
	}
	r := v.Resolution
	a.Resolution = &r
	switch a.State { //nolint:exhaustive // the others let nothing run
	case approval.Approved:
		m.needsVotes(t, a, a.Digest)
	case approval.Edited:
		m.needsVotes(t, a, r.Digest)
	}
	if !a.Held && a.State == approval.Expired && (a.Deadline == nil || m.s.now.Before(*a.Deadline)) {
		m.fail(t, "an approval expires at its newest deadline", "%s at %s, its deadline is %v", a.ID, m.s.now, a.Deadline)
	}
	if a.Held {
		m.resolvedHeld(t, p, a)
	}
}

// rows checks that the rows of approvals agree with the log.
func (m *model) rows(t *modelTask, b *store.Batch) {
	newest := map[string]int{} // an approval that is requested and resolved at once has two rows
	for i := range b.Rows {
		newest[b.Rows[i].Kind+string(b.Rows[i].Key)] = i
	}
	for i := range b.Rows {
		row := &b.Rows[i]
		if row.Kind != "approval" || row.Delete || newest[row.Kind+string(row.Key)] != i {
			continue
		}
		var a approval.Approval
		if err := json.Unmarshal(row.Value, &a); err != nil {
			m.fail(t, "rows can be read", "%v", err)
			return
		}
		want := []string{task.IndexSettled, task.IndexTool, task.IndexDigest}
		if a.State == approval.Pending {
			want = []string{task.IndexPending}
		}
		var in []string
		for _, key := range row.Index {
			in = append(in, key.Index)
		}
		if o := t.approval(a.ID); o == nil || o.State != a.State || len(o.Votes) != len(a.Votes) || (o.Reminded == nil) != (a.Reminded == nil) || (o.Escalated == nil) != (a.Escalated == nil) || !slices.Equal(in, want) {
			m.fail(t, "rows say what the log says", "the row of %s says %s in the indexes %q, the log %s", a.ID, a.State, in, o)
		}
	}
}

// voters are the principals that decide with Decide, where calls need two people.
var voters = []auth.Principal{bob, {Tenant: "acme", Subject: "dora", Roles: []string{auth.RoleApprover}, Method: "sim"}}

// deciderIn returns the principal of a decision that is no message. The choice is in a lane of its own:
// the tapes stay what they are.
func deciderIn(w *world) auth.Principal {
	if !w.people {
		return bob
	}
	return voters[besides(w, len(voters))]
}

// besides is a choice in a lane of its own.
func besides(w *world, n int) int {
	before := w.choices.lane[Script]
	w.choices.Lane(Script, w.cfg.Actions+2)
	defer w.choices.Lane(Script, before)
	return w.choices.Choose(Script, n)
}

// voted checks a vote: it is of a pending approval, in time, and the first of its person.
func (m *model) voted(t *modelTask, v *event) {
	a := t.approval(v.ID)
	if a == nil || a.State != approval.Pending || len(a.Terms.Needs) == 0 {
		m.fail(t, "what is pending gets votes", "%s is %s", v.ID, a)
		return
	}
	for _, o := range a.Votes {
		if o.By.Subject == v.Vote.By.Subject && o.Digest == v.Vote.Digest {
			m.fail(t, "a person has one vote", "%s votes again for %s", o.By.Subject, a.ID)
		}
	}
	if a.Deadline != nil && !v.Vote.At.Before(*a.Deadline) {
		m.fail(t, "a vote is in time", "for %s at %s, whose deadline was %s", a.ID, v.Vote.At, a.Deadline)
	}
	a.Votes = append(a.Votes, v.Vote)
	m.tools.coverage.Count("a person votes")
}

// needsVotes checks that an approval that lets a call with a digest run has every vote that it needs,
// of different people.
func (m *model) needsVotes(t *modelTask, a *modelApproval, digest string) {
	for i, n := range a.Terms.Needs {
		people := map[string]bool{}
		for _, v := range a.Votes {
			if v.Digest == digest && slices.Contains(v.Meets, i) {
				people[v.By.Subject] = true
			}
		}
		if len(people) < n.People {
			m.fail(t, "no call runs before everybody has approved it who has to", "%s of %s has the votes of %d, and needs %d: %+v", a.ID, a.Call, len(people), n.People, a.Votes)
		}
		m.tools.coverage.Count("a call runs after several votes")
	}
}

// ackedVote checks an acknowledged approve or edit of an approval that needs votes. It reports
// whether a needs votes.
func ackedVote(w *world, x *verdict, a *modelApproval, by auth.Principal) bool {
	if len(a.Terms.Needs) == 0 || x.decision != approval.Approve && x.decision != approval.Edit {
		return false
	}
	voted := slices.ContainsFunc(a.Votes, func(v approval.Vote) bool { return v.By.Subject == by.Subject })
	edited := a.State == approval.Superseded && a.Resolution.Decision == approval.Edit && string(mustJSON(x.args)) == string(a.Resolution.Args)
	if a.State != approval.Approved && !voted && (x.decision != approval.Edit || !edited) {
		w.s.Fail("an acknowledged vote is durable", "%s of %s by %s: it is %s, %+v", x.decision, a.ID, by.Subject, a.State, a.Votes)
	}
	return true
}

// grantRows reads what a commit does to grants.
func (m *model) grantRows(b *store.Batch) {
	for i := range b.Rows {
		row := &b.Rows[i]
		if row.Kind != task.RowGrant {
			continue
		}
		if row.Delete {
			delete(m.grants, string(row.Key))
			continue
		}
		var g approval.Grant
		if err := json.Unmarshal(row.Value, &g); err != nil {
			m.s.Fail("grants can be read", "%s: %v", row.Key, err)
			return
		}
		if old := m.grants[g.ID]; old == nil {
			m.tools.coverage.Count("a grant is made")
		} else if g.Used <= old.Used || g.Uses > 0 && g.Used > g.Uses {
			m.s.Fail("the uses of a grant are counted", "%s: %d of %d after %d", g.ID, g.Used, g.Uses, old.Used)
		}
		m.grants[g.ID] = &g
	}
}

// usesGrants reports whether a commit depends on grants, which other tasks use and people revoke.
func usesGrants(b *store.Batch) bool {
	return len(b.Needs) > 0 || slices.ContainsFunc(b.Rows, func(row store.RowChange) bool { return row.Kind == task.RowGrant })
}

// byGrant checks that a grant lets a call start: it is there when the start is committed, so it has
// not been revoked, and it was made of an equal call.
func (m *model) byGrant(t *modelTask, c *modelCall, id string, args json.RawMessage) {
	g := m.grants[id]
	if g == nil {
		m.fail(t, "no call starts by a revoked grant", "call %s of %s by %s", c.id, c.tool, id)
		return
	}
	m.tools.coverage.Count("a call starts by a grant")
	fits := g.Scope == approval.GrantTime || g.Scope == approval.GrantTask && g.Task == t.id.String() || g.Scope == approval.GrantContext && g.Context == t.context.id
	if g.Tool != c.tool || g.Owner.Subject != t.owner.Subject || !fits || !sameJSON(args, g.Args) {
		m.fail(t, "a grant covers equal calls only", "call %s of %s with %s of %s by %s, %s", c.id, c.tool, args, t.owner.Subject, id, g)
	}
}

// grantSomething approves with a grant, and has the owner of the task send the same call again.
func grantSomething(w *world, t *modelTask, a *approval.Approval) {
	if !a.Grantable() {
		return
	}
	ask := &approval.GrantRequest{Scope: Pick(w.choices, Script, approval.GrantTime, approval.GrantContext, approval.GrantTask), For: Pick(w.choices, Script, 0, time.Second), Uses: w.choices.Choose(Script, 3)}
	v := w.server()
	w.attempt(v, "a decision", func(ctx context.Context) error {
		return v.engine.Decide(ctx, engine.DecisionInput{By: bob, Via: approval.ViaAPI, Scope: store.Tenant("acme"), Task: t.id, Answers: []approval.Decision{{ID: a.ID, Type: approval.Approve, Grant: ask}}})
	}, func() {
		if r := t.approval(a.ID).Resolution; r == nil || r.Grant == nil {
			w.s.Fail("an acknowledged decision is durable", "%s has made no grant: %+v", a.ID, r)
		}
	})
	var args struct{ N int }
	if json.Unmarshal(a.Args, &args) != nil {
		return
	}
	for range 1 + w.choices.Choose(Script, 2) {
		w.outside.Yield()
		plan := &Plan{Steps: []PlanStep{{Calls: []PlanCall{{Tool: a.Tool, N: args.N}}}}, End: a2a.TaskStateCompleted}
		m := w.message(plan.part())
		m.ContextID = Pick(w.choices, Script, a.Context, "c")
		sent := &sentMessage{m: m, by: t.owner}
		w.created = append(w.created, sent)
		w.send(w.server(), sent, w.choices.Choose(Script, modes))
	}
}

// revokeSomething revokes a grant.
func revokeSomething(w *world) {
	var all []string
	for _, t := range w.model.order {
		for _, a := range t.approvals {
			if r := a.Resolution; r != nil && r.Grant != nil && w.model.grants[r.Grant.ID] != nil {
				all = append(all, r.Grant.ID)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	id, v := Pick(w.choices, Script, all...), w.server()
	w.attempt(v, "a revocation", func(ctx context.Context) error {
		err := v.engine.Approvals().Revoke(ctx, bob, id, "")
		if err == engine.ErrNoGrant { //nolint:errorlint // it may have been revoked in the meantime
			return nil
		}
		return err
	}, func() {
		w.coverage.Count("a revocation is acknowledged")
		if w.model.grants[id] != nil {
			w.s.Fail("an acknowledged revocation is durable", "grant %s", id)
		}
	})
}
