package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/rules"
)

// maxConflicts is how often in a row a batch of a turn may conflict. Each conflict is a write
// by another writer, which can only happen so often. After half of them, the turn uses no grants: a
// counted grant may be used by more tasks at once than that.
const maxConflicts = 100

// stepped is the outcome of stepOnce.
type stepped int

const (
	steppedOn    stepped = iota // the batch is durable, and runs continue
	steppedOver                 // the turn is over
	steppedAgain                // the batch is durable, and there is more to do now
	conflicted                  // another writer has changed the task or the state of its context in the meantime
)

// step writes its inputs and their consequences. It returns true if the turn is over.
func (t *Turn) step() (over bool) {
	conflicts := 0
	for {
		if t.stale && t.refresh() {
			return true
		}
		switch t.stepOnce() {
		case steppedOn:
			t.asks = false
			return false
		case steppedOver:
			return true
		case steppedAgain:
			conflicts, t.asks = 0, false
			if t.ctx.Err() != nil {
				t.drop(context.Cause(t.ctx))
				return true
			}
		case conflicted:
			conflicts++
			t.asks = conflicts >= maxConflicts/2
			if conflicts == maxConflicts {
				t.abandon(errors.New("the task changes faster than its turn"))
				return true
			}
			t.stale = true
		}
	}
}

// refresh reads the task again. It returns true if the turn is over: another writer has ended
// the task, or it cannot be read.
func (t *Turn) refresh() (over bool) {
	if err := t.reload(); err != nil {
		t.lost(err)
		return true
	}
	if t.fold.Header.Phase != store.Live {
		t.drop(call.ErrCut)
		return true
	}
	return false
}

// stepOnce builds and commits a batch.
func (t *Turn) stepOnce() stepped {
	if err := t.joinAgain(); err != nil {
		t.lost(err)
		return steppedOver
	}
	snapshot := t.snapshot(false /* chunks */)
	in := make([]rules.Input, 0, len(t.ended)+len(t.leaving)+len(t.asking)+2)
	if t.stale {
		in = append(in, rules.LogChanged{})
	}
	for _, r := range t.ended {
		in = append(in, r.Outcome())
	}
	in = t.heldInputs(in)
	if t.planned != nil {
		in = append(in, *t.planned)
	}
	d, err := rules.On(t.turns.Env.Rules(), t.at(t.ctx), t.fold, in...)
	var next rules.Next
	if err == nil {
		next, err = d.Advance()
	}
	if err != nil {
		return t.fail(err)
	}
	if next == rules.NextPlan {
		return t.plan(d, snapshot)
	}
	s := t.commit(d, snapshot)
	if s == steppedOn && next != rules.NextNothing {
		s = steppedAgain
	}
	return s
}

// fail ends a task that the engine cannot continue: better failed than working
// forever.
func (t *Turn) fail(cause error) stepped {
	t.turns.Env.Log.Error().Err(cause).Str("task_id", t.Task.String()).Msg("turn failed")
	for range maxConflicts {
		if t.refresh() {
			return steppedOver
		}
		d, err := rules.On(t.turns.Env.Rules(), t.at(t.ctx), t.fold, rules.Fail{Cause: cause})
		if err != nil {
			t.abandon(err)
			return steppedOver
		}
		r, err := t.turns.Env.Await(t.turns.Env.Store.Append(t.turns.Env.Ctx, d.Batch(store.System(), nil)))
		switch {
		case errors.Is(err, store.ErrConflict):
			continue
		case err != nil:
			t.lost(err)
			return steppedOver
		}
		d.Committed(r)
		t.turns.Committed(d)
		t.rested()
		t.drop(call.ErrCut)
		return steppedOver
	}
	t.abandon(fmt.Errorf("the task changes faster than it can be ended: %w", cause))
	return steppedOver
}

// commit appends a draft and continues once it is durable.
func (t *Turn) commit(d *rules.Draft, snapshot *store.Snapshot) stepped {
	if d.Empty() {
		t.ended, t.stale = nil, false
		t.answer()
		return steppedOn
	}
	if !t.sound() {
		return steppedOver
	}
	t.expect()
	fence := t.place.Fence
	b := t.turns.batch(d, store.System(), &fence)
	b.Snapshot = snapshot
	c := t.turns.Env.Store.Append(t.turns.Env.Ctx, b)
	t.turns.Env.At(env.PointStep)
	r, err := t.turns.Env.Await(c)
	switch {
	case errors.Is(err, store.ErrConflict), contextFull(err):
		t.unexpect()
		return conflicted
	case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid):
		return t.fail(err)
	case err != nil:
		t.lost(err)
		return steppedOver
	}
	t.ended, t.stale, t.planned = nil, false, nil
	d.Committed(r)
	t.measure()
	t.turns.Committed(d)
	t.answer()
	if d.Phase() == store.Parked || d.Phase() == store.Final {
		t.rested()
		return steppedOver
	}
	t.fold.View.Lighten(tasklog.MaxTurnView)
	t.launch(d.Launch())
	return steppedOn
}

// plan asks a slow planner for the next step while no batch is open. It commits the draft
// first.
func (t *Turn) plan(d *rules.Draft, snapshot *store.Snapshot) stepped {
	if err := d.SayWorking(); err != nil {
		return t.fail(err)
	}
	if s := t.commit(d, snapshot); s != steppedOn {
		return s
	}
	if !t.awaitOperator() {
		t.drop(cmp.Or(context.Cause(t.ctx), env.ErrShutdown))
		return steppedOver
	}
	planned, sound := t.askPlanner()
	switch {
	case !sound:
		return steppedOver
	case t.ctx.Err() != nil:
		t.drop(context.Cause(t.ctx))
		return steppedOver
	}
	t.planned = &planned
	return steppedAgain
}

// awaitOperator waits while a restored store waits for its operator. It returns false if the turn
// is cut off, or the engine stops, first.
func (t *Turn) awaitOperator() bool {
	if t.turns.Env.Held().IsZero() {
		return true
	}
	defer env.Signal(t.Wake) // for the loop, which may have been notified meanwhile
	for !t.turns.Scheduler.Draining() {
		if i := t.turns.Env.Wait(t.turns.Env.Resumed(), t.ctx.Done(), t.Wake); i != 2 {
			return i == 0
		}
	}
	return false
}

// joinAgain reads the state of the context again if some context has changed. Nothing of
// the turn may be in flight but chunks.
func (t *Turn) joinAgain() error {
	if t.fold.Session().At == t.turns.Reader.SessionAt() {
		return nil
	}
	return t.turns.Env.Retry(func() error { return t.turns.Reader.Join(t.turns.Env.Ctx, t.Owner, t.fold) })
}

// contextFull reports whether the store has refused the state that calls have set in their
// context: together with the state set by other tasks since it was read, it is too much.
func contextFull(err error) bool {
	_, full := errors.AsType[*store.ContextRowsError](err)
	return full
}
