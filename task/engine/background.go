package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/call"
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
		case errors.Is(err, store.ErrDataLoss), errors.Is(err, store.ErrReadOnly):
			e.env.Log.Error().Err(err).Msg("tasks that were running cannot be taken over: they stop until a backup of the store is restored")
			return nil
		case err != nil:
			return fmt.Errorf("recover tasks: %w", err)
		}
		e.env.At(env.PointClaimed)
		for i := range claimed {
			h := &claimed[i]
			e.turns.Scheduler.Recover(h.Task, h.Owner, h.Fence)
		}
	}
}

// handleDue does the work of a due row. The row is removed in the same batch.
func (e *Engine) handleDue(row store.Due) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	e.env.At(env.PointDue)
	if row.Damaged {
		return fmt.Errorf("%w: due work", store.ErrDataLoss)
	}
	switch row.Kind {
	case store.DueDelete:
		err = e.env.Store.Delete(e.env.Ctx, store.System(), row.Task, nil /* audit: its first step is done */)
	case task.DueExpiry:
		err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, task.Expiry{Row: row})
	case task.DueProviderTimeout:
		err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, task.ProviderTimeout{Row: row})
	case task.DueWake:
		err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, task.Wake{Row: row})
		if errors.Is(err, task.ErrNotYet) {
			e.turns.Tell(row.Task)
		}
	case task.DueChildCancel:
		err = e.childCancel(row)
	default:
		err = fmt.Errorf("due work of kind %q is not known to this program: use the newer one that wrote it", row.Kind)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// childCancel does due work of kind [task.DueChildCancel].
func (e *Engine) childCancel(row store.Due) error {
	f, err := e.reader.LoadTurn(e.env.Ctx, store.System(), row.Task)
	if err != nil {
		return err
	}
	var p task.ChildCancel
	if err := json.Unmarshal(row.Payload, &p); err != nil {
		return fmt.Errorf("decode child cancel: %w", err)
	}
	if p.Kept {
		var kept bool
		if p.State, kept = f.Kept(p.Call); !kept {
			return e.turns.Changed(e.env.Ctx, store.System(), row.Task, task.ChildCancelResult{Row: row, Nothing: true})
		}
	}
	failed := e.turns.Calls.CancelJob(&p, f)
	_, unreachable := errors.AsType[*call.UnreachableError](failed)
	return e.turns.Changed(e.env.Ctx, store.System(), row.Task, task.ChildCancelResult{Row: row, Failed: failed, Unreachable: unreachable})
}
