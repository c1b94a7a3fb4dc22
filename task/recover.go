package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/auth"
	"a2a-server/store"
)

// claimBatch is how many tasks are taken over in one commit.
const claimBatch = 64

// recoverTasks takes over what an earlier process was running. A task goes on from
// its log: what was planned goes on, what was started and has no result is unknown.
func (e *Engine) recoverTasks(ctx context.Context) error {
	for {
		claimed, err := e.store.Claim(ctx, claimBatch)
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // we are stopping
			}
			return fmt.Errorf("recover tasks: %w", err)
		}
		if len(claimed) == 0 {
			return nil
		}
		e.at(PointClaimed)
		for i := range claimed {
			e.enqueue(claimed[i].Task)
		}
	}
}

// system is who acts when nobody does.
func (e *Engine) system() auth.Principal { return auth.Principal{Subject: "system", Method: "system"} }

// orphan lets go of a run. What it still returns, or has returned and could not
// write, is recorded late.
func (e *Engine) orphan(id store.TaskID, r *run, o *outcome) {
	if o == nil {
		o = r.letGo()
	}
	if o == nil {
		return
	}
	if o.unknown != "" || errors.Is(o.err, errCut) || e.ctx.Err() != nil {
		return
	}
	e.late(id, r.call, o)
}

// late records the result of a call whose turn is over, privately and in the
// audit. The task, which may have ended, does not change.
func (e *Engine) late(id store.TaskID, callID string, o *outcome) {
	v := &callLate{Call: callID, Result: o.result}
	if o.err != nil {
		v.Error = o.err.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), 30*time.Second)
	defer cancel()
	_, err := e.change(ctx, store.System(), id, func(_ *turn, d *draft) error {
		c := d.f.call(callID)
		if c == nil {
			return errNothing // its start was never durable
		}
		d.quiet = true
		if err := d.private(kindLate, v); err != nil {
			return err
		}
		return d.record(approval.Audit{What: approval.AuditLate, Call: callID, Tool: c.Tool, Reason: v.Error, Attempt: c.Attempt})
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		e.log.Error().Err(err).Str("task_id", id.String()).Str("call_id", callID).Msg("late result was not recorded")
	}
}
