package turn

import (
	"context"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/fold"
)

// snapshot returns a snapshot of the fold, before anything of the next batch is folded,
// or nil if none is due. chunks says that the next batch only has chunks.
func (t *Turn) snapshot(chunks bool) *store.Snapshot {
	due := t.fold.WantsSnapshot(chunks)
	if !due.Fold {
		return nil
	}
	s, err := t.newSnapshot(due)
	if err != nil {
		t.fold.Snapshotted(due, 0) // do not retry with every chunk
		if t.turns.Env.Ctx.Err() == nil {
			t.turns.Env.Log.Error().Err(err).Str("task_id", t.Task.String()).Msg("snapshot failed")
		}
		return nil
	}
	t.fold.Snapshotted(due, len(s.Bytes))
	if max(len(s.Bytes), len(s.Bulk)) > store.MaxSnapshot {
		return nil // a snapshot is only a cache: the log has everything
	}
	return s
}

func (t *Turn) newSnapshot(due fold.SnapshotParts) (*store.Snapshot, error) {
	if t.fold.Has(due) {
		return encode(t.fold, due)
	}
	// A snapshot is kept only if there is nothing between it and its batch, so it has to
	// include all batches in flight. The loop detects failed batches.
	for _, c := range t.inflight {
		_, _ = t.turns.Env.Await(c)
	}
	// A single turn at a time reads a large task back; its tool waits in the meantime.
	if t.turns.Env.Wait(t.turns.large, t.ctx.Done()) == 1 {
		return nil, context.Cause(t.ctx)
	}
	defer env.Signal(t.turns.large)
	f, _, err := t.turns.Reader.Load(t.turns.Env.Ctx, store.System(), t.Task, tasklog.Reading{NoArtifacts: !due.Artifacts})
	if err != nil {
		return nil, fmt.Errorf("read a task back for its snapshot: %w", err)
	}
	return encode(f, due)
}

func encode(f *fold.Fold, due fold.SnapshotParts) (*store.Snapshot, error) {
	s := &store.Snapshot{After: f.Header.Seq, Rev: f.Header.Rev}
	var err error
	s.Bytes, s.Bulk, err = f.Encode(due)
	return s, err
}
