package call

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/output"
	"a2a-server/tool"
)

// A Checkpoint is a state that a running tool wants to keep, while the tool waits for it.
//
// Checkpoints are appended with the chunks of their turn, in their order, in batches that name
// the fence only. So they never conflict: a tool with constant checkpoints delays no decision
// and no cancel, and neither makes an earlier checkpoint fail. Such a batch does not change
// rev, so a decision or a cancel may be computed from a fold without it; but neither depends
// on the newest state of a running call: the remote work of a canceled call is stopped with
// the state that the log has by then. Steps that depend on the state (to enter the call again,
// or to suspend it) are written by a turn with a newer fence, or by the same turn in a later
// batch. As soon as a cancel or another process has taken the fence, the batch and its
// checkpoint are refused.
type Checkpoint struct {
	decided chan struct{} // closed when one of these is set
	commit  *store.Commit
	err     error
}

// Queued tells the waiting tool that the checkpoint is in a batch.
func (k *Checkpoint) Queued(c *store.Commit) {
	k.commit = c
	close(k.decided)
}

// refuse tells the waiting tool that the checkpoint is not kept.
func (k *Checkpoint) refuse(err error) {
	k.err = err
	close(k.decided)
}

// Checkpoint implements [tool.Checkpointer].
func (x *toolContext) Checkpoint(ctx context.Context, state json.RawMessage) error {
	wrapped, err := x.run.wrap(state)
	if err == nil {
		err = x.run.checkpoint(ctx, wrapped, state)
	}
	if err != nil {
		return fmt.Errorf("the checkpoint is not kept: %w", err)
	}
	return nil
}

// checkpoint keeps the state of a running call, and returns when that is durable. It is
// refused once the run was told to end: then it may be over. own is the part of state that
// is the tool's.
func (r *Run) checkpoint(ctx context.Context, state, own json.RawMessage) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	chunk, err := r.publish.Checkpoint(r.runs.Env.Now(), r.entry.Call, state)
	if err != nil {
		return err
	}
	k, err := r.handCheckpoint(chunk, own)
	if err != nil {
		return err
	}
	if r.runs.Env.Wait(k.decided, ctx.Done()) == 1 && !env.Closed(k.decided) {
		return unsure(ctx)
	}
	if k.err != nil {
		return k.err
	}
	if r.runs.Env.Wait(k.commit.Done(), ctx.Done()) == 1 && !k.commit.Answered() {
		return unsure(ctx)
	}
	switch _, err := k.commit.Wait(); {
	case errors.Is(err, store.ErrFenced), errors.Is(err, store.ErrNotFound):
		return ErrCut
	case err != nil:
		return err
	}
	r.runs.Env.At(env.PointKept)
	return nil
}

// unsure is the error of a checkpoint whose caller has stopped waiting for it.
func unsure(ctx context.Context) error {
	return fmt.Errorf("the checkpoint may not be durable: %w", context.Cause(ctx))
}

// handCheckpoint hands a checkpoint over. It waits, as a chunk does, while the tool is more
// than a window ahead of the disk.
func (r *Run) handCheckpoint(chunk output.RunEvent, own json.RawMessage) (*Checkpoint, error) {
	r.lockWithRoom()
	defer r.mu.Unlock()
	if err := cmp.Or(r.cut, r.tooMuch); err != nil {
		return nil, err // the call ends with that
	}
	if err := r.hand(chunk); err != nil {
		return nil, err
	}
	if r.job != nil {
		r.kept = bytes.Clone(own)
	}
	k := &Checkpoint{decided: make(chan struct{})}
	r.keeping = append(r.keeping, k)
	return k, nil
}

// cutOff makes the run refuse everything from now on, its awaited answer and checkpoints that
// the turn has not taken included: the call ends, or may not. r.mu must be held.
func (r *Run) cutOff(why error) {
	if r.cut == nil || errors.Is(r.cut, errToolTimeout) { // chunks are accepted after a timeout only
		r.cut = why
	}
	r.stopReports()
	if r.question != nil {
		r.question.end(tool.Answer{}, r.cut)
	}
	if len(r.keeping) == 0 {
		return
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(k output.RunEvent) bool {
		if !k.IsCheckpoint() {
			return false
		}
		n := len(k.Event.Data)
		r.bytes -= n
		r.seat.Size.Add(-int64(n))
		return true
	})
	for _, k := range r.keeping {
		k.refuse(r.cut)
	}
	r.keeping = nil
}
