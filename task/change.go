package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// input puts what came from outside into a draft of a task. It returns an error to
// refuse it: then nothing is written.
type input func(t *turn, d *draft) error

// errCanceled is why a turn is cut off whose task was canceled.
var errCanceled = errors.New("the task was canceled")

// errNothing, returned by an input, means that there is nothing to write.
var errNothing = errors.New("nothing to change")

// ErrBusy is returned when no more tasks can be taken right now: the queue is
// full, or the server is shutting down.
var ErrBusy = errors.New("the server cannot take more work right now: try again later")

// change puts an input into a task that exists: the one way in for follow-up
// messages, decisions, wake-ups and deadlines. A task at rest is taken over and
// runs on; one at work goes on running and is told. It returns when the input is
// durable, and says where it is.
func (e *Engine) change(ctx context.Context, s store.Scope, id store.TaskID, in input) (landed, error) {
	for {
		f, err := e.loadTurn(ctx, s, id)
		if err != nil {
			return landed{}, err
		}
		var l landed
		if f.header.Phase == store.Parked {
			l, err = e.wakeUp(ctx, s, f, in)
		} else {
			l, err = e.tell(ctx, s, f, in)
		}
		switch {
		case errors.Is(err, store.ErrConflict):
			if err := ctx.Err(); err != nil {
				return landed{}, fmt.Errorf("change task %s: %w", id, context.Cause(ctx))
			}
		case errors.Is(err, errNothing):
			return landed{}, nil
		default:
			return l, err
		}
	}
}

// landed says where an input is. It is zero for one that changed nothing.
type landed struct {
	seq  uint64 // of the newest event of its batch
	turn *turn  // that probably goes on from it; nil when none does here
}

// tell writes an input to a task that is at work, or at its end.
func (e *Engine) tell(ctx context.Context, s store.Scope, f *fold, in input) (landed, error) {
	t := e.newTurn(f.header.Task)
	defer t.cancel(nil)
	t.take(f)
	rev := f.header.Rev
	d := e.draft(f)
	if err := in(t, d); err != nil {
		return landed{}, err
	}
	if d.empty() && len(d.audit) == 0 {
		return landed{}, nil
	}
	receipt, err := e.store.Append(ctx, d.batch(s, rev, nil)).Wait()
	if err != nil {
		return landed{}, err
	}
	e.at(PointTold)
	e.rearm(d)
	r := e.running(f.header.Task)
	if r == nil || d.quiet {
		return landed{seq: receipt.Last}, nil
	}
	if d.phase == store.Final {
		r.stop(errCanceled)
	} else {
		r.tell()
	}
	return landed{receipt.Last, r}, nil
}

// wakeUp writes an input to a task at rest and lets it run on from there.
func (e *Engine) wakeUp(ctx context.Context, s store.Scope, f *fold, in input) (landed, error) {
	t := e.newTurn(f.header.Task)
	t.take(f)
	rev := f.header.Rev
	d := e.draft(f)
	if err := in(t, d); err != nil {
		t.cancel(nil)
		return landed{}, err
	}
	if d.empty() {
		t.cancel(nil)
		return landed{}, nil
	}
	if d.quiet || d.phase == store.Parked || onlyDue(d) {
		defer t.cancel(nil)
		receipt, err := e.store.Append(ctx, d.batch(s, rev, nil)).Wait()
		e.rearm(d)
		return landed{seq: receipt.Last}, err
	}
	run, err := e.goOn(t, d)
	if err != nil {
		t.cancel(nil)
		return landed{}, err
	}
	d.fence = true
	r, err := e.store.Append(ctx, d.batch(s, rev, nil)).Wait()
	if err != nil {
		e.release(t, run)
		return landed{}, err
	}
	e.at(PointWoken)
	t.rev, t.fence, t.seq = r.Rev, r.Fence, t.seq+uint64(len(d.events))
	f.header.Rev, f.header.Fence = r.Rev, r.Fence
	e.started(t, d, r, run)
	return landed{r.Last, t}, nil
}

// onlyDue reports whether a draft only puts or removes due work, which is no reason
// to run.
func onlyDue(d *draft) bool {
	return !d.force && len(d.events) == 0 && len(d.rows) == 0 && d.phase == 0 && len(d.due) > 0
}

// goOn advances a draft of a task that nobody runs, as far as there is room to run
// it. run says that t holds a turn.
func (e *Engine) goOn(t *turn, d *draft) (run bool, err error) {
	if d.phase == store.Final {
		return false, nil
	}
	run, ok := e.admit(t)
	if !ok {
		return false, ErrBusy
	}
	if run {
		if _, err = t.advance(d); err != nil {
			e.release(t, run)
			return false, err
		}
	}
	if d.phase != 0 {
		return run, nil
	}
	d.phase = store.Live
	if !run && d.f.header.State != stateSubmitted && d.f.header.State != stateWorking {
		err = d.say(a2a.TaskStateWorking, nil, nil) // it waits for a turn
	}
	return run, err
}

// release gives a turn back that never began.
func (e *Engine) release(t *turn, run bool) {
	if run {
		e.leave(t)
		return
	}
	t.end()
}

// started lets a task run that was taken over by a draft, which is durable.
func (e *Engine) started(t *turn, d *draft, r store.Receipt, run bool) {
	e.rearm(d)
	switch {
	case d.phase != store.Live:
		t.rested(r, d, t.seq)
		e.release(t, run)
	case run:
		e.crew.run(func() { t.runFrom(d) })
	default:
		t.cancel(nil)
		e.enqueue(t.id)
	}
}

// take gives a turn its fold.
func (t *turn) take(f *fold) {
	t.fold, t.rev, t.fence, t.seq = f, f.header.Rev, f.header.Fence, f.header.Seq
	if t.ids == nil { // they are the task's: a tool that runs reads them meanwhile
		t.ids = f.view.ids
	}
	t.size.Store(int64(f.header.Bytes))
}
