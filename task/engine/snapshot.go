package engine

import (
	"context"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/internal/fold"
)

// maxTurnView is how many bytes of the View a turn keeps in memory. A turn does not need
// the View to continue: it is kept so that a snapshot, and the answer to a waiting
// client, cost nothing. If the View is larger, parts are dropped, artifacts first, and
// the log is read when a snapshot is due. Otherwise each of thousands of turns could hold
// 64 MiB.
const maxTurnView = 256 << 10

// snapshot returns a snapshot of the fold, before anything of the next batch is folded,
// or nil if none is due. chunks says that the next batch only has chunks.
func (t *turn) snapshot(chunks bool) *store.Snapshot {
	due := t.fold.WantsSnapshot(chunks)
	if !due.Fold {
		return nil
	}
	s, err := t.newSnapshot(due)
	if err != nil {
		t.fold.Snapshotted(due, 0) // do not retry with every chunk
		if t.e.ctx.Err() == nil {
			t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("snapshot failed")
		}
		return nil
	}
	t.fold.Snapshotted(due, len(s.Bytes))
	if max(len(s.Bytes), len(s.Bulk)) > store.MaxSnapshot {
		return nil // a snapshot is only a cache: the log has everything
	}
	return s
}

func (t *turn) newSnapshot(due fold.SnapshotParts) (*store.Snapshot, error) {
	if t.fold.Has(due) {
		return encode(t.fold, due)
	}
	// A snapshot is kept only if there is nothing between it and its batch, so it has to
	// include all batches in flight. The loop detects failed batches.
	for _, c := range t.inflight {
		_, _ = t.e.await(c)
	}
	// A single turn at a time reads a large task back; its tool waits in the meantime.
	if t.e.wait(t.e.whole, t.ctx.Done()) == 1 {
		return nil, context.Cause(t.ctx)
	}
	defer signal(t.e.whole)
	f, _, err := t.e.load(t.e.ctx, store.System(), t.id, reading{noArtifacts: !due.Artifacts})
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
