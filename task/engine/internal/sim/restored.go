package sim

import (
	"context"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// operator may let a restored store continue.
var operator = auth.Principal{Tenant: "acme", Subject: "operator", Roles: []string{auth.RoleAdmin}, Method: "sim"}

// restoreDisk ends all processes, and has the next find the disk as one that was restored from a
// backup. Nothing is taken back: what is open is asked about as if life had gone on.
func restoreDisk(w *world) {
	for _, v := range slices.Concat(w.servers, w.stopping) {
		if !v.p.dead {
			w.kill(v)
		}
	}
	w.disk.restored++
	markDisk(w)
	w.model.restored()
	w.start()
}

// markDisk is [engine.MarkRestored] with an id that is a choice of the run.
func markDisk(w *world) {
	h, r := w.disk.Durable(), record.Restoration{V: record.Version, ID: w.newID().String(), Moment: w.s.now}
	row, err := r.Row(store.Any)
	if err != nil {
		panic(err)
	}
	due, err := r.Due()
	if err != nil {
		panic(err)
	}
	all := []*store.Batch{{Scope: record.RestorationOwner(), Rows: []store.RowChange{row}}}
	for _, t := range w.model.order {
		if t.phase != store.Final {
			all = append(all, &store.Batch{Scope: store.System(), Task: t.id, Due: []store.DueChange{due}})
		}
	}
	for _, b := range all {
		if _, err := h.Append(context.Background(), b).Wait(); err != nil {
			panic(err)
		}
	}
}

// resumeDisk has an operator let a restored store continue.
func resumeDisk(w *world) {
	if !w.model.held {
		return
	}
	v := w.server()
	w.attempt(v, "a resumption", func(ctx context.Context) error {
		_, _, err := v.engine.Resume(ctx, operator)
		return err
	}, func() {
		w.coverage.Count("a restored store continues")
		if w.model.held {
			w.s.Fail("an acknowledged resumption is durable", "")
		}
	})
}

// awaitSettled waits until a server has brought the tasks of a restored disk up to date, or dies:
// nobody is served before.
func awaitSettled(w *world, v *server) {
	if !w.model.everRestored || !w.outside.within() {
		return
	}
	gone := make(chan struct{})
	v.p.AtDeath(func() { close(gone) })
	w.outside.Wait(v.engine.Settled(), gone)
}

// restored notes that the disk is one that was restored.
func (m *model) restored() {
	m.held, m.everRestored = true, true
	for _, g := range m.grants {
		g.void = true
	}
	for _, t := range m.order {
		if t.phase == store.Final {
			continue
		}
		t.restorations++
		for _, c := range t.planned {
			c.restored = c.phase != finished && !c.canceled
		}
		for _, a := range t.approvals {
			a.void = true
		}
	}
}

// upToDate notes that a task was brought up to date.
func (m *model) upToDate(t *modelTask) {
	if t.restorations--; t.restorations < 0 {
		m.fail(t, "a task is brought up to date once", "")
	}
	for _, c := range t.planned {
		c.timer, c.retry = c.timer && c.phase == finished, false
	}
	m.tools.coverage.Count("a task is brought up to date")
}

// afterRestoration checks an event of a task of a restored disk.
func (m *model) afterRestoration(t *modelTask, kind string, v *event) {
	if t.restorations > 0 && kind != "task.restored" {
		m.fail(t, "a task is brought up to date before anything else", "%s", kind)
	}
	c := t.calls[v.Call]
	switch {
	case m.held && (kind == "step.planned" || kind == "wait.elapsed" || kind == "message.received" && v.For == "planner"):
		m.fail(t, "a restored store waits for its operator", "%s", kind)
	case m.held && kind == "call.resumed" && c != nil && !c.asks:
		m.fail(t, "a restored store waits for its operator", "a timer wakes %s", c)
	}
	if c == nil || !c.restored || kind != "call.started" && kind != "call.resumed" {
		return
	}
	c.restored = false
	allowed := slices.ContainsFunc(t.approvals, func(a *modelApproval) bool {
		return a.Call == c.id && a.Ask == "" && !a.void && (a.State == approval.Approved || a.State == approval.Edited)
	})
	if !allowed || kind == "call.resumed" {
		m.fail(t, "what was open before a restoration runs only after a decision", "%s: %s", kind, c)
	}
	m.tools.coverage.Count("what was open before a restoration runs")
}
