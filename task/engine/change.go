package engine

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/task"
)

// errCanceled is why a turn is cut off whose task has ended.
var errCanceled = errors.New("the task was canceled")

// ErrUnavailable is wrapped by what says that the store cannot write now, or not in
// time, and why. Nothing has been written; it continues by itself.
var ErrUnavailable = store.ErrUnavailable

// ErrDataLoss is wrapped by what says that a task cannot be read, because what is stored of
// it is damaged, and ErrReadOnly by what says that nothing can be written any more, because
// the store is. A person has to restore a copy.
var (
	ErrDataLoss = store.ErrDataLoss
	ErrReadOnly = store.ErrReadOnly
)

// landed says where an input is. It is zero for one that changed nothing.
type landed struct {
	seq  uint64 // of the newest event of its batch
	turn *turn  // that probably continues from it; nil when none does here
}

// change puts an input into a task that exists: the one way in for follow-up
// messages, decisions, wake-ups and deadlines. A task at rest is taken over and
// runs on; one at work keeps running and is told. It returns when the input is
// durable, and says where it is. [task.ErrNoChange]: there was nothing to write.
func (e *Engine) change(ctx context.Context, s store.Scope, id store.TaskID, in task.Input) (landed, error) {
	for {
		f, err := e.loadTurn(ctx, s, id)
		if err != nil {
			return landed{}, err
		}
		var l landed
		if f.Header.Phase == store.Parked {
			l, err = e.wakeUp(ctx, s, f, in)
		} else {
			l, err = e.write(ctx, s, f, in)
		}
		if !errors.Is(err, store.ErrConflict) {
			return l, err
		}
		if err := ctx.Err(); err != nil {
			return landed{}, fmt.Errorf("change task %s: %w", id, context.Cause(ctx))
		}
	}
}

// changed is change for inputs of which nobody waits to hear that they were nothing.
func (e *Engine) changed(ctx context.Context, s store.Scope, id store.TaskID, in task.Input) error {
	_, err := e.change(ctx, s, id, in)
	if errors.Is(err, task.ErrNoChange) {
		return nil
	}
	return err
}

// write writes an input to a task that is at work, or at its end.
func (e *Engine) write(ctx context.Context, s store.Scope, f *task.Fold, in task.Input) (landed, error) {
	d, err := e.rules.On(task.At{Ctx: ctx, Now: e.now()}, f, in)
	if err != nil {
		return landed{}, err
	}
	if d.Empty() {
		return landed{}, task.ErrNoChange
	}
	var t *turn
	r, err := e.append(ctx, d.Batch(s, nil), "", func(r store.Receipt, err error) {
		if err != nil {
			return
		}
		e.at(PointTold)
		d.Committed(r)
		e.committed(f, d)
		if d.Quiet() {
			return
		}
		id, final := f.Header.Task, d.Phase() == store.Final
		t = e.running(id)
		switch { // one that is about to leave may be followed by another that waits
		case final:
			e.forget(id)
		case d.Settles():
			e.settle(id)
		}
		switch {
		case t == nil:
		case final:
			t.stop(errCanceled)
		default:
			t.tell()
		}
	})
	return landed{r.Last, t}, err
}

// wakeUp writes an input to a task at rest and lets it run on from there.
func (e *Engine) wakeUp(ctx context.Context, s store.Scope, f *task.Fold, in task.Input) (landed, error) {
	l, err := e.takeOver(ctx, s, f, in, true /* advance */)
	if !stuck(err) {
		return l, err
	}
	// What the task cannot continue with fails the task, not whoever wrote to it: the input
	// is written as it is, and the turn that follows meets the same.
	if f, err = e.loadTurn(ctx, s, f.Header.Task); err != nil {
		return landed{}, err
	}
	if f.Header.Phase != store.Parked {
		return landed{}, store.ErrConflict
	}
	return e.takeOver(ctx, s, f, in, false /* advance */)
}

func (e *Engine) takeOver(ctx context.Context, s store.Scope, f *task.Fold, in task.Input, advance bool) (landed, error) {
	t := e.newTurn(f.Header.Task, f.Header.Owner)
	t.take(f)
	d, err := e.rules.On(t.at(ctx), f, in)
	if err == nil && d.Empty() {
		err = task.ErrNoChange
	}
	if err != nil {
		t.cancel(nil)
		return landed{}, err
	}
	if d.Rests() {
		r, err := e.append(ctx, d.Batch(s, nil), "", func(r store.Receipt, err error) {
			if err == nil {
				d.Committed(r)
				e.committed(f, d)
			}
			t.cancel(nil)
		})
		return landed{seq: r.Last}, err
	}
	why := resumed
	if d.Settles() {
		why = settled
	}
	run, err := e.goOn(t, d, why, advance)
	if err != nil {
		t.cancel(nil)
		return landed{}, err
	}
	d.TakeOver()
	r, err := e.append(ctx, d.Batch(s, nil), "", func(r store.Receipt, err error) {
		if err == nil {
			e.at(PointWoken)
		}
		e.taken(t, d, run, r, err)
	})
	return landed{r.Last, t}, err
}

// taken lets a task run that a draft has made or taken over, if it has.
func (e *Engine) taken(t *turn, d *task.Draft, run bool, r store.Receipt, err error) {
	if err != nil {
		e.release(t, run)
		return
	}
	d.Committed(r)
	t.measure()
	e.started(t, d, run)
}

// stuckError says that an input could be taken, and the task not continue from there.
type stuckError struct{ cause error }

func (e *stuckError) Error() string { return e.cause.Error() }
func (e *stuckError) Unwrap() error { return e.cause }

// stuck reports whether an error is a stuckError.
func stuck(err error) bool {
	_, is := errors.AsType[*stuckError](err)
	return is
}

// goOn advances a draft of a task that nobody runs, as far as there is room to run
// it. run says that t holds a turn. A task that comes to its end needs none.
func (e *Engine) goOn(t *turn, d *task.Draft, why class, advance bool) (run bool, err error) {
	if d.Phase() == store.Final {
		return false, nil
	}
	admitted, err := e.admit(t, why)
	if err != nil {
		return false, err
	}
	advanced := false
	defer func() { // code that was handed in may have ended the goroutine
		if !advanced {
			e.release(t, admitted)
		}
	}()
	if admitted && advance {
		// A planner that is slow, or a draft that is large, is its turn's.
		if _, err = d.Advance(); err != nil {
			return false, &stuckError{err}
		}
	}
	if err := d.GoLive(); err != nil {
		return false, err
	}
	advanced = true
	return admitted, nil
}

// release gives a turn back that never began.
func (e *Engine) release(t *turn, run bool) {
	if run {
		e.leave(t)
		return
	}
	e.mu.Lock()
	e.lanes.release(t.waits)
	e.mu.Unlock()
	t.end()
}

// started lets a task run that was taken over by a draft, which is durable.
func (e *Engine) started(t *turn, d *task.Draft, run bool) {
	e.committed(t.fold, d)
	switch {
	case d.Phase() != store.Live:
		t.rested()
		e.release(t, run)
	case run:
		launch := d.Launch()
		e.spawn(func() { t.runFrom(launch) })
	default:
		t.cancel(nil)
		t.waits.fence = t.fold.Header.Fence
		e.enqueue(t.waits)
	}
}

// committed does what follows from a draft that is durable, whoever it came from.
func (e *Engine) committed(f *task.Fold, d *task.Draft) {
	e.tell(d.Audited())
	if d.HasDue() {
		signal(e.due)
	}
	if e.cfg.Provider != nil {
		e.provide(d)
	}
}
