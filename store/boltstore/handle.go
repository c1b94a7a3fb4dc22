package boltstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"a2a-server/store"
)

// Handle is an instance's access to a DB. It implements [store.Handle].
type Handle struct {
	db    *DB
	epoch uint64

	closed atomic.Bool

	mu    sync.Mutex
	claim store.TaskID // where Claim continues
}

var _ store.Handle = (*Handle)(nil)

// Handle returns a new handle: a separate instance with a new epoch, which is durable
// when Handle returns.
func (db *DB) Handle() (store.Handle, error) {
	h := &Handle{db: db}
	err := db.do(context.Background(), func(r *round) error {
		h.epoch = readU64(r.meta.Get(keyEpoch)) + 1
		return r.put(&r.meta, keyEpoch, u64(h.epoch))
	})
	if err != nil {
		return nil, fmt.Errorf("raise epoch: %w", err)
	}
	return h, nil
}

// Epoch returns the number of the instance; see [store.Handle].
func (h *Handle) Epoch() uint64 { return h.epoch }

// Close releases the handle; see [store.Store].
func (h *Handle) Close() error {
	h.closed.Store(true)
	return nil
}

// Err calls [DB.Err].
func (h *Handle) Err() error { return h.db.Err() }

// Trouble calls [DB.Trouble].
func (h *Handle) Trouble() error { return h.db.Trouble() }

// Rebuilds calls [DB.Rebuilds].
func (h *Handle) Rebuilds() uint64 { return h.db.Rebuilds() }

// Incarnation calls [DB.Incarnation].
func (h *Handle) Incarnation() uint64 { return h.db.Incarnation() }

func (h *Handle) alive() error {
	if h.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// view is [DB.view] for a handle that is open.
func (h *Handle) view(ctx context.Context, fn func(im *image) error) error {
	if err := h.alive(); err != nil {
		return err
	}
	return h.db.view(ctx, fn)
}
