package engine

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
)

// claimBatch is how many tasks a commit takes over.
const claimBatch = 64

// recoverTasks takes over the tasks that an earlier process was running. A task continues
// from its log: planned calls continue, calls that were started and have no result are
// unknown.
func (e *Engine) recoverTasks(ctx context.Context) error {
	for tries := 1; ; tries++ {
		claimed, err := e.env.Store.Claim(ctx, claimBatch)
		switch {
		case err == nil && len(claimed) == 0, ctx.Err() != nil:
			return nil //nolint:nilerr // there are no more, or we are stopping
		case errors.Is(err, store.ErrUnavailable) && e.env.Pause(env.RetryPause(tries)):
			continue
		case errors.Is(err, store.ErrDataLoss):
			e.env.Log.Error().Err(err).Msg("tasks that were running cannot be taken over: they stop until a backup of the store is restored")
			return nil
		case err != nil:
			return fmt.Errorf("recover tasks: %w", err)
		}
		e.env.At(env.PointClaimed)
		for i := range claimed {
			h := &claimed[i]
			if _, unsettled := e.reader.Unsettled.Load(h.Task); unsettled {
				continue // see restoration
			}
			e.turns.Scheduler.Recover(h.Task, h.Owner, h.Fence)
		}
	}
}
