package turn

import (
	"context"
	"errors"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/rules"
)

// lateTimeout bounds the writing of a late result while the engine stops.
const lateTimeout = 30 * time.Second

// late records the result of a call whose turn is over, as a private event and in the audit.
// The task, which may have ended, does not change. While the store cannot write, this is
// retried: the result exists nowhere else.
func (ts *Turns) late(id store.TaskID, o *rules.RunEnded) {
	in := rules.LateResult{Entry: o.Entry, Result: o.Result, Err: o.Err, Unknown: o.Unknown}
	if o.Keeps && o.Stop && o.Suspension != nil && !o.Unknown {
		in.Stop = o.Suspension.State
	}
	err := ts.Env.Retry(func() error {
		ctx, cancel := ts.Env.Within(context.WithoutCancel(ts.Env.Ctx), lateTimeout, context.DeadlineExceeded)
		defer cancel()
		return ts.Changed(ctx, store.System(), id, in)
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		ts.Env.Log.Error().Err(err).Str("task_id", id.String()).Str("call_id", o.Entry.Call).Msg("late result was not recorded")
	}
}
