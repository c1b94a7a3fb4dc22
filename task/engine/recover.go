package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/rules"
)

// claimBatch is how many tasks a commit takes over.
const claimBatch = 64

// recoverTasks takes over the tasks that an earlier process was running. A task continues
// from its log: planned calls continue, calls that were started and have no result are
// unknown.
func (e *Engine) recoverTasks(ctx context.Context) error {
	for tries := 1; ; tries++ {
		claimed, err := e.store.Claim(ctx, claimBatch)
		switch {
		case err == nil && len(claimed) == 0, ctx.Err() != nil:
			return nil //nolint:nilerr // there are no more, or we are stopping
		case errors.Is(err, store.ErrUnavailable) && e.pause(retryPause(tries)):
			continue
		case errors.Is(err, store.ErrDataLoss), errors.Is(err, store.ErrReadOnly):
			e.log.Error().Err(err).Msg("tasks that were running cannot be taken over: they stop until a backup of the store is restored")
			return nil
		case err != nil:
			return fmt.Errorf("recover tasks: %w", err)
		}
		e.at(PointClaimed)
		for i := range claimed {
			h := &claimed[i]
			e.enqueue(&waiter{task: h.Task, owner: h.Owner, fence: h.Fence, class: other})
		}
	}
}

// orphan abandons a run. A later result, or a result that could not be written, is recorded
// late.
func (e *Engine) orphan(id store.TaskID, r *run) {
	o := r.letGo()
	if o == nil || o.GivenUp != nil || errors.Is(o.Err, errCut) || errors.Is(o.Err, errShutdown) {
		return
	}
	e.late(id, o)
}

// lateTimeout bounds the writing of a late result while the engine stops.
const lateTimeout = 30 * time.Second

// late records the result of a call whose turn is over, as a private event and in the audit.
// The task, which may have ended, does not change. While the store cannot write, this is
// retried: the result exists nowhere else.
func (e *Engine) late(id store.TaskID, o *rules.RunEnded) {
	var err error
	for n := 1; ; n++ {
		err = e.lateOnce(id, o)
		if !errors.Is(err, store.ErrUnavailable) || !e.pause(retryPause(n)) {
			break
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		e.log.Error().Err(err).Str("task_id", id.String()).Str("call_id", o.Entry.Call).Msg("late result was not recorded")
	}
}

func (e *Engine) lateOnce(id store.TaskID, o *rules.RunEnded) error {
	ctx, cancel := e.within(context.WithoutCancel(e.ctx), lateTimeout, context.DeadlineExceeded)
	defer cancel()
	in := rules.LateResult{Entry: o.Entry, Result: o.Result, Err: o.Err, Unknown: o.Unknown}
	if o.Keeps && o.Stop && o.Suspension != nil && !o.Unknown {
		in.Stop = o.Suspension.State
	}
	return e.changed(ctx, store.System(), id, in)
}

// pause waits for d. It returns false if the engine ends first.
func (e *Engine) pause(d time.Duration) bool {
	over := make(chan struct{})
	stop := e.after(d, func() { close(over) })
	defer stop()
	return e.wait(over, e.ctx.Done()) == 0
}
