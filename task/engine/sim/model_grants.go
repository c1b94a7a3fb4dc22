package sim

import (
	"context"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

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
func (w *world) grantSomething(t *modelTask, a *approval.Approval) {
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
func (w *world) revokeSomething() {
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
