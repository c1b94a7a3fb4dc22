package sim

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// finish lets all tasks that still wait come to their end, and checks the final state. Faults
// are over by then.
func (w *world) finish() {
	w.finishing = true
	w.choices.Lane(Script, w.cfg.Actions+1)
	w.s.Note("* finish")
	w.tools.Flaky = false
	w.tools.Restore()
	for _, v := range slices.Concat(w.servers, w.stopping) {
		v.p.paused = false
	}
	w.tools.ReleaseAll()
	for range 10 {
		w.outside.Idle()
		if !slices.ContainsFunc(w.stopping, func(v *server) bool { return !v.ran && !v.p.dead }) {
			break
		}
		w.outside.Sleep(100 * time.Millisecond)
		w.tools.ReleaseAll()
	}
	if len(w.servers) == 0 || w.orphans {
		w.start() // the next process that starts takes over the tasks of the last
	}
	v := w.servers[len(w.servers)-1]
	w.bringToEnd(v)
	if w.s.failure != nil {
		return
	}
	w.finishDue()
	w.finishRuns()
	w.finishHooks()
	for _, c := range w.clients {
		if !c.reading || c.at.p.dead {
			c.follow(v, engine.UntilEnd)
		}
	}
	w.outside.Idle()
	for _, t := range w.model.order {
		w.checkEnd(v, t)
	}
	for _, c := range w.clients {
		if t := w.model.tasks[c.id]; c.pub != t.pub && c.at.p.dead {
			w.s.Fail("a reader misses nothing and gets nothing twice", "of task %s a reader has %d of %d events", c.id, c.pub, t.pub)
		}
	}
	w.checkResults()
	w.checkUnsure()
	w.checkStop()
	w.model.checkState(w.disk)
}

// bringToEnd decides whatever waits until every task has ended.
func (w *world) bringToEnd(v *server) {
	for round := range 60 {
		resumeDisk(w)
		w.tools.ReleaseAll()
		w.idle()
		open := 0
		for _, t := range w.model.order {
			if t.phase == store.Final {
				continue
			}
			open++
			if t.asks {
				w.followUp(v, w.messageTo(t), modeNone, nil)
			}
			for _, a := range t.pending() {
				decision := approval.Reject
				if round < 20 && w.choices.Rarely(Script, 2) {
					decision = a.Decisions()[0]
				}
				x := w.verdict(a, decision)
				x.id = a.ID
				w.decide(v, t, API, x)
			}
		}
		if open == 0 && !w.model.held {
			return
		}
		w.outside.Idle()
		w.outside.Sleep(time.Duration(300+100*round) * time.Millisecond)
	}
	for _, t := range w.model.order {
		switch t.phase {
		case store.Live:
			w.s.Fail("no task is at work forever", "task %s:\n%s", t.id, w.log(t))
		case store.Parked:
			w.s.Fail("no task waits forever", "task %s:\n%s", t.id, w.log(t))
		case store.Final:
		}
	}
}

// finishDue lets time pass until no due work is left: retries may take minutes.
func (w *world) finishDue() {
	h := w.disk.Durable()
	for range 100 {
		w.outside.Idle()
		open := false
		for _, t := range w.model.order {
			v, err := h.Read(context.Background(), store.System(), t.id, store.After(t.seq), store.Limit{Events: 1})
			open = open || err == nil && v.Header.Due > 0
		}
		if !open {
			return
		}
		w.outside.Sleep(10 * time.Second)
	}
}

// finishRuns lets time pass until no tool of a living process runs: a tool that was released
// may report its progress for a moment before it returns.
func (w *world) finishRuns() {
	for range 40 {
		w.tools.ReleaseAll()
		w.outside.Idle()
		if !slices.ContainsFunc(w.tools.Ledger.Runs, func(r *Run) bool { return !r.Returned && !r.Process.dead }) {
			return
		}
		w.outside.Sleep(100 * time.Millisecond)
	}
	w.s.Fail("a tool that is released returns", "a run has not returned")
}

// checkEnd checks the final state of a task.
func (w *world) checkEnd(v *server, t *modelTask) {
	h := w.disk.Durable()
	ctx := context.Background()
	view, err := h.Read(ctx, store.System(), t.id, store.After(0), store.Limit{Events: 1})
	if err != nil {
		w.s.Fail("a task can be read", "%s: %v", t.id, err)
		return
	}
	if s := t.said; w.cfg.Model && t.state == a2a.TaskStateCompleted && (s.step != t.steps+1 || s.text != wholeText || !s.complete) {
		w.s.Fail("a task ends with the whole answer of the model", "task %s has %q of step %d, complete: %v, after %d steps:\n%s", t.id, s.text, s.step, s.complete, t.steps, w.log(t))
	}
	if view.Header.Pending != 0 || view.Header.Due != 0 {
		w.s.Fail("nothing is open at the end", "task %s has %d pending approvals and %d due rows:\n%s", t.id, view.Header.Pending, view.Header.Due, w.log(t))
	}
	rows, err := h.Rows(ctx, store.System(), store.RowQuery{Kind: "approval", Task: t.id, Limit: 1000})
	if err != nil || len(rows.Rows) != len(t.approvals) {
		w.s.Fail("rows say what the log says", "task %s has %d rows of %d approvals: %v", t.id, len(rows.Rows), len(t.approvals), err)
	}
	if t.snapshots > 0 || w.choices.Rarely(Script, 4) {
		w.checkViews(v, t)
	}
}

// checkViews compares the task as the engine shows it with the same task folded from
// its first event.
func (w *world) checkViews(v *server, t *modelTask) {
	whole, err := w.cfg.New(engine.Config{
		Store: &wholeLog{Handle: w.disk.Handle(v.p)}, Tools: w.tools.Registry(v.p), Planner: plannerOf(w, v.p), Presenter: dialect.New(dialect.Config{}), Now: v.p.Now, NewID: w.newID,
	}, v.p)
	if err != nil {
		panic(err)
	}
	var got [2]string
	over := make(chan struct{})
	v.p.Go(func() {
		defer close(over)
		for i, e := range []*engine.Engine{v.engine, whole} {
			a := e.ReserveRead(t.owner)
			view, err := a.Get(context.Background(), t.id.String())
			a.Release()
			if err != nil {
				w.s.Fail("a task can be read", "%s: %v", t.id, err)
				return
			}
			shown, err := view.Task(task.ViewOptions{HistoryLength: -1})
			if err != nil {
				w.s.Fail("a task can be read", "%s: %v", t.id, err)
				return
			}
			got[i] = string(mustJSON(shown))
		}
	})
	w.outside.Wait(over)
	if got[0] != got[1] {
		w.s.Fail("a snapshot says what the log says", "task %s\nas shown:  %s\nas folded: %s", t.id, got[0], got[1])
	}
}

// checkResults compares the ledger with the log: results returned to a process that lives on
// are in the log.
func (w *world) checkResults() {
	for _, r := range w.tools.Ledger.Runs {
		t := w.model.taskOf(r)
		if !r.Returned || !r.Result || r.NoRoom || r.Process.dead || t == nil || w.stopped(r.Process) {
			continue
		}
		c := t.calls[r.Call]
		if c == nil || runOf(c.result) == r.N || slices.ContainsFunc(c.late, func(raw json.RawMessage) bool { return runOf(raw) == r.N }) {
			continue
		}
		w.s.Fail("a result is not lost", "run %d of %s, call %s of task %s:\n%s", r.N, r.Traits.Name(), r.Call, r.Task, w.log(t))
	}
}

// stopped reports whether a process was stopped: the outcome of interrupted calls is unknown.
func (w *world) stopped(p *Process) bool {
	return !slices.ContainsFunc(w.servers, func(v *server) bool { return v.p == p })
}

func runOf(raw json.RawMessage) int {
	var v struct{ Run int }
	_ = json.Unmarshal(raw, &v)
	return v.Run
}

// checkStop stops all servers: they have to end.
func (w *world) checkStop() {
	all := slices.Clone(w.servers)
	for _, v := range all {
		w.stop(v, 0)
	}
	for range 10 {
		w.outside.Idle()
		w.tools.ReleaseAll()
		w.outside.Sleep(100 * time.Millisecond)
	}
	w.outside.Idle()
	for _, v := range all {
		if !v.ran {
			w.s.Fail("an engine stops", "Run() of %s has not returned", v.p.name)
			continue
		}
		for _, r := range w.s.routines {
			if r.p == v.p {
				w.s.Fail("an engine leaves nothing behind", "%s still runs %s", v.p.name, r.name())
			}
		}
	}
}

// wholeLog is a store without snapshots.
type wholeLog struct{ store.Handle }

func (s *wholeLog) Read(ctx context.Context, scope store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if _, after := from.Seq(); !after {
		from = store.After(0)
	}
	return s.Handle.Read(ctx, scope, id, from, limit)
}
