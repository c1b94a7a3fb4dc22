package engine

import (
	"context"
	"fmt"

	"a2a-server/store"
	"a2a-server/task"
)

// maxTurnView is how much of what clients see a turn keeps in memory. A turn needs
// none of it to continue: it is kept so that a snapshot, and the answer to a client
// that waits, cost nothing. Beyond this it is let go, artifacts first, and the log is
// read when a snapshot of it is due. Else each of thousands of turns could hold
// 64 MiB.
const maxTurnView = 256 << 10

// snapshot returns the fold as it stands, before anything of the next batch is
// folded, when it is time to store it, else nil. chunks: that batch has nothing else.
func (t *turn) snapshot(chunks bool) *store.Snapshot {
	due := t.fold.WantsSnapshot(chunks)
	if !due.Fold {
		return nil
	}
	s, err := t.newSnapshot(due)
	if err != nil {
		t.fold.Snapshotted(due, 0) // it is not tried again with every chunk
		if t.e.ctx.Err() == nil {
			t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("snapshot failed")
		}
		return nil
	}
	t.fold.Snapshotted(due, len(s.Bytes))
	if max(len(s.Bytes), len(s.Bulk)) > store.MaxSnapshot {
		return nil // it is a cache: the log has it all
	}
	return s
}

func (t *turn) newSnapshot(due task.SnapshotParts) (*store.Snapshot, error) {
	if t.fold.Has(due) {
		return encode(t.fold, due)
	}
	// One turn at a time reads a large task back; its tool waits meanwhile.
	if t.e.wait(t.e.whole, t.ctx.Done()) == 1 {
		return nil, context.Cause(t.ctx)
	}
	defer signal(t.e.whole)
	// A snapshot is kept only if nothing stands between it and its batch, so all that
	// is on its way has to be in it. What of it failed is found out by the loop.
	for _, c := range t.inflight {
		_, _ = t.e.await(c)
	}
	f, _, err := t.e.load(t.e.ctx, store.System(), t.id, reading{noArtifacts: !due.Artifacts})
	if err != nil {
		return nil, fmt.Errorf("read a task back for its snapshot: %w", err)
	}
	return encode(f, due)
}

func encode(f *task.Fold, due task.SnapshotParts) (*store.Snapshot, error) {
	s := &store.Snapshot{After: f.Header.Seq, Rev: f.Header.Rev}
	var err error
	s.Bytes, s.Bulk, err = f.Encode(due)
	return s, err
}
