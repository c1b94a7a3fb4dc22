package engine

import (
	"context"
	"fmt"

	"a2a-server/store"
)

// maxTurnView is how much of what clients see a turn keeps in memory. A turn needs
// none of it to go on: it is kept so that a snapshot, and the answer to a client
// that waits, cost nothing. Beyond this it is let go, and the log is read when a
// snapshot is due. Else each of thousands of turns could hold 64 MiB.
const maxTurnView = 256 << 10

// snapshot returns the fold as it stands, before anything of the next batch is
// folded, when it is time to store it, else nil.
func (t *turn) snapshot() *store.Snapshot {
	if !t.fold.WantsSnapshot() {
		return nil
	}
	s, err := t.newSnapshot()
	if err != nil {
		t.fold.Snapshotted(0) // it is not tried again with every chunk
		if t.e.ctx.Err() == nil {
			t.e.log.Error().Err(err).Str("task_id", t.id.String()).Msg("snapshot failed")
		}
		return nil
	}
	t.fold.Snapshotted(len(s.Bytes))
	if len(s.Bytes) > store.MaxSnapshot {
		return nil // it is a cache: the log has it all
	}
	return s
}

func (t *turn) newSnapshot() (*store.Snapshot, error) {
	h := &t.fold.Header
	if !t.fold.Light() {
		data, err := t.fold.Encode()
		return &store.Snapshot{After: h.Seq, Rev: h.Rev, Bytes: data}, err
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
	f, err := t.e.load(t.e.ctx, store.System(), t.id)
	if err != nil {
		return nil, fmt.Errorf("read a task back for its snapshot: %w", err)
	}
	data, err := f.Encode()
	return &store.Snapshot{After: f.Header.Seq, Rev: f.Header.Rev, Bytes: data}, err
}
