package turn

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/scheduler"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
)

// errCanceled is the cause when a turn is cut off because its task has ended.
var errCanceled = errors.New("the task was canceled")

// Landed is the place of an input in the log. It is zero for an input that changed nothing.
type Landed struct {
	Seq  uint64 // of the newest event of its batch
	Turn *Turn  // that probably continues from it; nil if none does here
}

// Await waits for the turn that continues from an input, and returns the task as the
// turn left it, and the size of its log: durable, and the same as reading the log would
// give, without reading it. It returns neither a view nor an error if the log has to be
// read: there is no such turn here, it was cut off, it did not pause in a state that
// answers a client, or it did so before the input.
func (l Landed) Await(ctx context.Context) (*task.View, uint64, error) {
	t := l.Turn
	if t == nil {
		return nil, 0, nil
	}
	if t.turns.Env.Wait(t.pauses, t.ctx.Done(), ctx.Done()) == 2 {
		return nil, 0, fmt.Errorf("wait for task %s: %w", t.Task, context.Cause(ctx))
	}
	if !t.left.Load() {
		return nil, 0, nil // it was cut off, or may wait for its client although it does not leave
	}
	if t.givenUp != nil {
		return nil, 0, t.givenUp
	}
	if t.rests && t.fold.Header.Seq >= l.Seq {
		return t.fold.View, t.fold.Header.Bytes, nil
	}
	return nil, 0, nil
}

// Rests reports whether the task has ended or waits for its client, so that a waiting
// client gets its answer. It may have a turn meanwhile, whose calls are held.
func Rests(h *store.Header) bool {
	return h.Phase == store.Final || h.State == task.StateInputRequired || h.State == task.StateAuthRequired
}

// Change applies an input to an existing task: all follow-up messages, decisions, wake-ups and
// deadlines go through it. A parked task is taken over and continues; a live task keeps
// running and is notified. Change returns the place of the input once it is durable, or
// [rules.ErrNoChange] if there was nothing to write.
func (ts *Turns) Change(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input) (Landed, error) {
	return ts.change(ctx, Sender{}, s, id, func(auth.Principal) (rules.Input, error) { return in, nil })
}

// maxOutdated is how often a change begins again because its sender, a tool or a webhook has changed.
const maxOutdated = 8

// change is the only loop of a change. Each round loads the task, makes the draft, authenticates the
// sender again, and appends the draft. The next round begins from the task as it is then:
//
//   - after a conflict, as often as it takes: another change was written;
//   - after an input that the task cannot continue with: the input is written unchanged, and the turn
//     that follows meets the same problem, so that the task fails, and not the sender of the input;
//   - at most [maxOutdated] times after approvals, the sender or a webhook were out of date. Approvals
//     are brought up to date by a round of its own, which stays even if the decision is then refused.
func (ts *Turns) change(ctx context.Context, who Sender, s store.Scope, id store.TaskID, input func(auth.Principal) (rules.Input, error)) (Landed, error) {
	by, refresh, advance := who.By, false, true
	for outdated := 0; outdated < maxOutdated; {
		var in rules.Input = rules.Refresh{}
		var proof func(context.Context) error
		now := by
		if !refresh {
			var err error
			if in, err = input(by); err != nil {
				return Landed{}, err
			}
			proof = ts.proof(who, id, in, by, &now)
		}
		l, err := ts.round(ctx, s, id, in, proof, advance)
		advance = !stuck(err)
		switch {
		case !advance:
		case errors.Is(err, store.ErrConflict):
			if ctx.Err() != nil {
				return Landed{}, fmt.Errorf("change task %s: %w", id, context.Cause(ctx))
			}
		case refresh:
			if err != nil && !errors.Is(err, rules.ErrNoChange) {
				return Landed{}, err
			}
			refresh = false
		case errors.Is(err, rules.ErrStale):
			refresh = true
			outdated++
		case errors.Is(err, errRenewed):
			by = now
			outdated++
		case errors.Is(err, rules.ErrWebhookChanged):
			outdated++
		default:
			if err == nil && who.Renew != nil {
				ts.Env.Accepted(ctx, by)
			}
			return l, err
		}
	}
	return Landed{}, fmt.Errorf("%w: its tools, webhooks or the roles of the caller change faster than the request can count", scheduler.ErrBusy)
}

// round makes a draft of an input for a task as it is now, and appends it.
func (ts *Turns) round(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input, proof func(context.Context) error, advance bool) (Landed, error) {
	f, err := ts.Reader.LoadTurn(ctx, s, id)
	switch {
	case err != nil:
		return Landed{}, err
	case f.Header.Phase == store.Parked:
		return ts.takeOver(ctx, s, f, in, proof, advance)
	}
	return ts.write(ctx, s, f, in, proof)
}

// Changed is Change without [rules.ErrNoChange], for senders that do not need it.
func (ts *Turns) Changed(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input) error {
	_, err := ts.Change(ctx, s, id, in)
	if errors.Is(err, rules.ErrNoChange) {
		return nil
	}
	return err
}

// write writes an input to a task that is live or final.
func (ts *Turns) write(ctx context.Context, s store.Scope, f *fold.Fold, in rules.Input, proof func(context.Context) error) (Landed, error) {
	at := ts.at(ctx, f.Header.Owner)
	at.Holds = ts.Calls.Held(f.Header.Fence)
	d, err := rules.On(ts.Env.Rules(), at, f, in)
	if err != nil {
		return Landed{}, err
	}
	if d.Empty() {
		return Landed{}, rules.ErrNoChange
	}
	if err := d.KeepLive(); err != nil {
		return Landed{}, err
	}
	var t *Turn
	r, err := ts.commit(ctx, s, d, proof, func(r store.Receipt, err error) {
		if err != nil {
			return
		}
		ts.Env.At(env.PointTold)
		d.Committed(r)
		ts.Committed(d)
		if d.Quiet() {
			return
		}
		id, final := f.Header.Task, d.Phase() == store.Final
		t = ts.running(id)
		switch { // a turn that is about to leave may be followed by another that waits
		case final:
			ts.Scheduler.Forget(id)
		case d.Settles():
			ts.Scheduler.Settle(id)
		}
		switch {
		case t == nil:
		case final:
			t.cancel(errCanceled)
		default:
			t.Notify()
		}
	})
	return Landed{r.Last, t}, err
}

// takeOver writes an input to a parked task and continues the task from there.
func (ts *Turns) takeOver(ctx context.Context, s store.Scope, f *fold.Fold, in rules.Input, proof func(context.Context) error, advance bool) (Landed, error) {
	t := ts.newTurn(f.Header.Task, f.Header.Owner)
	t.take(f)
	d, err := rules.On(ts.Env.Rules(), t.at(ctx), f, in)
	if err == nil && d.Empty() {
		err = rules.ErrNoChange
	}
	if err != nil {
		t.cancel(nil)
		return Landed{}, err
	}
	if d.Rests() {
		r, err := ts.commit(ctx, s, d, proof, func(r store.Receipt, err error) {
			if err == nil {
				d.Committed(r)
				ts.Committed(d)
			}
			t.cancel(nil)
		})
		return Landed{Seq: r.Last}, err
	}
	why := scheduler.Other
	if d.Settles() {
		why = scheduler.Settled
	}
	run, err := ts.goOn(&t.place, d, why, advance)
	if err != nil {
		t.cancel(nil)
		return Landed{}, err
	}
	d.TakeOver()
	r, err := ts.commit(ctx, s, d, proof, func(r store.Receipt, err error) {
		if err == nil {
			ts.Env.At(env.PointWoken)
		}
		t.began(d, run, r, err)
	})
	return Landed{r.Last, t}, err
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

// goOn advances a draft of a parked task, if there is room to run it. run reports whether p
// holds a turn. A task that ends needs no turn.
func (ts *Turns) goOn(p *scheduler.Place, d *rules.Draft, why scheduler.Class, advance bool) (run bool, err error) {
	if d.Phase() == store.Final {
		return false, nil
	}
	admitted, err := ts.Scheduler.Admit(p, why)
	if err != nil {
		return false, err
	}
	advanced := false
	defer func() { // the application's code may have ended the goroutine
		if !advanced {
			ts.Scheduler.Release(p, admitted)
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
