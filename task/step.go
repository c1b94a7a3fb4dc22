package task

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// step writes what came in and what follows from it. It returns true when the turn
// is over.
func (t *turn) step() bool {
	for try := 0; ; try++ {
		if t.told {
			if err := t.reload(); err != nil {
				return t.lost(err)
			}
			if t.fold.header.Phase != store.Live {
				t.drop(errCut)
				return true
			}
		}
		again, over := t.stepOnce()
		if !again {
			return over
		}
		if try == 100 {
			t.abandon(errors.New("the task changes faster than its turn"))
			return true
		}
		t.told = true
	}
}

// stepOnce makes one batch. again: it conflicted.
func (t *turn) stepOnce() (again, over bool) {
	d := t.e.draft(t.fold)
	d.told = t.told
	d.snapshot = t.snapshot()
	for _, h := range t.held {
		if err := t.settleRun(d, h); err != nil {
			return t.fail(err)
		}
	}
	plan, err := t.advance(d)
	switch {
	case err != nil:
		return t.fail(err)
	case plan:
		return t.planSlowly(d)
	}
	return t.commit(d)
}

// fail ends a task that the engine cannot go on with: better failed than at work
// for ever.
func (t *turn) fail(cause error) (again, over bool) {
	t.e.log.Error().Err(cause).Str("task_id", t.id.String()).Msg("turn failed")
	if err := t.reload(); err != nil {
		return false, t.lost(err)
	}
	if t.fold.header.Phase != store.Live {
		t.drop(errCut)
		return false, true
	}
	d := t.e.draft(t.fold)
	err := d.private(kindFailed, &turnFailed{Error: cause.Error()})
	if err == nil {
		err = t.e.endAll(t, d, a2a.TaskStateFailed, "The task failed: "+cause.Error())
	}
	if err != nil {
		t.abandon(err)
		return false, true
	}
	r, err := t.e.store.Append(t.e.ctx, d.batch(store.System(), t.rev, nil)).Wait()
	switch {
	case errors.Is(err, store.ErrConflict):
		return t.fail(cause)
	case err != nil:
		return false, t.lost(err)
	}
	t.rested(r, d, 0)
	t.drop(errCut)
	return false, true
}

// commit appends a draft of a running turn and goes on when that is allowed.
func (t *turn) commit(d *draft) (again, over bool) {
	if d.empty() {
		t.held, t.told = nil, false
		return false, false
	}
	b := d.batch(store.System(), t.rev, &t.fence)
	c := t.e.store.Append(t.e.ctx, b)
	t.seq += uint64(len(b.Events))
	t.fold.tail += b.Size()
	rest := d.phase == store.Parked || d.phase == store.Final
	t.e.at(PointStep)
	r, err := c.Wait()
	switch {
	case errors.Is(err, store.ErrConflict):
		return true, false
	case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid):
		return t.fail(err)
	case err != nil:
		return false, t.lost(err)
	}
	t.rev, t.held, t.told = r.Rev, nil, false
	t.fold.header.Rev = r.Rev
	if rest {
		t.rested(r, d, t.seq)
		return false, true
	}
	t.fold.view.lighten(maxTurnView)
	t.e.rearm(d)
	t.launch(d)
	return false, false
}

// planSlowly asks a planner outside of any batch. What the draft has is committed
// first.
func (t *turn) planSlowly(d *draft) (again, over bool) {
	if !d.empty() {
		if d.f.header.State != stateWorking {
			if err := d.say(a2a.TaskStateWorking, nil, nil); err != nil {
				t.abandon(err)
				return false, true
			}
		}
		if again, over := t.commit(d); again || over {
			return again, over
		}
	}
	next, err := t.plan(t.fold)
	if why := t.stopped(); why != nil {
		t.drop(why)
		return false, true
	}
	d = t.e.draft(t.fold)
	if err != nil {
		err = t.giveUp(d, err)
	} else if _, err = t.addStep(d, next); err == nil && d.phase == 0 {
		if s := d.f.step(); !s.finished() {
			if err = t.advanceCalls(d, s); err == nil && !s.finished() {
				err = t.settle(d, s)
			}
		}
	}
	if err != nil {
		return t.fail(err)
	}
	again, over = t.commit(d)
	if !again && !over && len(t.runs) == 0 {
		t.told = true
		return true, false
	}
	return again, over
}
