package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"a2a-server/store"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
)

// errCanceled is the cause when a turn is cut off because its task has ended.
var errCanceled = errors.New("the task was canceled")

// ErrUnavailable is wrapped by errors that say that the store cannot write now, or not in
// time, and why. Nothing has been written; the store recovers by itself.
var ErrUnavailable = store.ErrUnavailable

// ErrDataLoss is wrapped by errors that say that a task cannot be read because its stored
// data is damaged, and ErrReadOnly by errors that say that nothing can be written any
// more because the store is damaged. In both cases an operator has to restore a backup.
var (
	ErrDataLoss = store.ErrDataLoss
	ErrReadOnly = store.ErrReadOnly
)

// ErrUncertain is wrapped by errors of a write with an unknown outcome: the wait for the disk
// was cut off.
var ErrUncertain = errors.New("the request may still take effect")

// RecordedError means that a message is recorded and in effect, but the progress of its task
// is unknown here: the server is stopping, or its store accepts nothing that follows.
type RecordedError struct {
	Task    ID
	Started []string // calls that have started and whose results are unknown
	Cause   error
}

// Error returns the state of the message and the next step.
func (e *RecordedError) Error() string {
	says := "the message was recorded in task " + e.Task.String() + " and is in effect: do not send another one"
	if len(e.Started) > 0 {
		says += "; started, and their results are unknown: " + strings.Join(e.Started, ", ")
	}
	if errors.Is(e.Cause, ErrReadOnly) || errors.Is(e.Cause, ErrDataLoss) {
		return says + "; nothing more can be written, because what is stored is damaged: tell the operator of this server before a backup is restored, because the backup may not have the message"
	}
	return says + "; the server is stopping, and the task continues when it runs again: get the task then"
}

// Unwrap returns the cause.
func (e *RecordedError) Unwrap() error { return e.Cause }

// landed is the place of an input in the log. It is zero for an input that changed nothing.
type landed struct {
	seq  uint64 // of the newest event of its batch
	turn *turn  // that probably continues from it; nil if none does here
}

// change applies an input to an existing task: all follow-up messages, decisions, wake-ups and
// deadlines go through it. A parked task is taken over and continues; a live task keeps
// running and is notified. change returns the place of the input once it is durable, or
// [rules.ErrNoChange] if there was nothing to write.
func (e *Engine) change(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input) (landed, error) {
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

// changed is change without [rules.ErrNoChange], for senders that do not need it.
func (e *Engine) changed(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input) error {
	_, err := e.change(ctx, s, id, in)
	if errors.Is(err, rules.ErrNoChange) {
		return nil
	}
	return err
}

// write writes an input to a task that is live or final.
func (e *Engine) write(ctx context.Context, s store.Scope, f *fold.Fold, in rules.Input) (landed, error) {
	d, err := rules.On(e.rules(), rules.At{Ctx: ctx, Now: e.now(), Holds: e.holding.by(f.Header.Fence)}, f, in)
	if err != nil {
		return landed{}, err
	}
	if d.Empty() {
		return landed{}, rules.ErrNoChange
	}
	if err := d.KeepLive(); err != nil {
		return landed{}, err
	}
	if err := still(ctx, in, d); err != nil {
		return landed{}, err
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
		switch { // a turn that is about to leave may be followed by another that waits
		case final:
			e.forget(id)
		case d.Settles():
			e.settle(id)
		}
		switch {
		case t == nil:
		case final:
			t.cancel(errCanceled)
		default:
			t.tell()
		}
	})
	return landed{r.Last, t}, err
}

// wakeUp writes an input to a parked task and continues the task from there.
func (e *Engine) wakeUp(ctx context.Context, s store.Scope, f *fold.Fold, in rules.Input) (landed, error) {
	l, err := e.takeOver(ctx, s, f, in, true /* advance */)
	if !stuck(err) {
		return l, err
	}
	// If the task cannot continue with the input, the task fails, not the sender of the
	// input: the input is written unchanged, and the turn that follows meets the same
	// problem.
	if f, err = e.loadTurn(ctx, s, f.Header.Task); err != nil {
		return landed{}, err
	}
	if f.Header.Phase != store.Parked {
		return landed{}, store.ErrConflict
	}
	return e.takeOver(ctx, s, f, in, false /* advance */)
}

func (e *Engine) takeOver(ctx context.Context, s store.Scope, f *fold.Fold, in rules.Input, advance bool) (landed, error) {
	t := e.newTurn(f.Header.Task, f.Header.Owner)
	t.take(f)
	d, err := rules.On(e.rules(), t.at(ctx), f, in)
	if err == nil && d.Empty() {
		err = rules.ErrNoChange
	}
	if err != nil {
		t.cancel(nil)
		return landed{}, err
	}
	if d.Rests() {
		if err := still(ctx, in, d); err != nil {
			t.cancel(nil)
			return landed{}, err
		}
		r, err := e.append(ctx, d.Batch(s, nil), "", func(r store.Receipt, err error) {
			if err == nil {
				d.Committed(r)
				e.committed(f, d)
			}
			t.cancel(nil)
		})
		return landed{seq: r.Last}, err
	}
	why := other
	if d.Settles() {
		why = settled
	}
	run, err := e.goOn(t, d, why, advance)
	if err != nil {
		t.cancel(nil)
		return landed{}, err
	}
	if err := still(ctx, in, d); err != nil {
		e.release(t, run)
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

// taken runs a task that a draft has created or taken over, if the draft committed.
func (e *Engine) taken(t *turn, d *rules.Draft, run bool, r store.Receipt, err error) {
	if err != nil {
		e.release(t, run)
		return
	}
	d.Committed(r)
	t.measure()
	e.started(t, d, run)
}

// stuckError means that an input could be applied, but the task cannot continue from there.
type stuckError struct{ cause error }

func (e *stuckError) Error() string { return e.cause.Error() }
func (e *stuckError) Unwrap() error { return e.cause }

// stuck reports whether an error is a stuckError.
func stuck(err error) bool {
	_, is := errors.AsType[*stuckError](err)
	return is
}

// goOn advances a draft of a parked task, if there is room to run it. run reports whether t
// holds a turn. A task that ends needs no turn.
func (e *Engine) goOn(t *turn, d *rules.Draft, why class, advance bool) (run bool, err error) {
	if d.Phase() == store.Final {
		return false, nil
	}
	admitted, err := e.admit(t, why)
	if err != nil {
		return false, err
	}
	advanced := false
	defer func() { // the application's code may have ended the goroutine
		if !advanced {
			e.release(t, admitted)
		}
	}()
	if admitted && advance {
		// A slow planner, or a large draft, is left to its turn.
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

// release gives back a turn that never began.
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

// started runs a task that was taken over by a draft that is now durable.
func (e *Engine) started(t *turn, d *rules.Draft, run bool) {
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

// committed applies the consequences of a durable draft, written by a turn or an input.
func (e *Engine) committed(f *fold.Fold, d *rules.Draft) {
	e.tell(d.Audited())
	if d.Audits() {
		e.audited()
	}
	if d.HasDue() {
		signal(e.due)
	}
	if e.cfg.Provider != nil {
		e.provide(d)
	}
}
