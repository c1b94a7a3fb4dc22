package boltstore

import (
	"context"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/counts"
	"a2a-server/store/boltstore/internal/read"
)

// handle is an instance's access to a DB. It implements [store.Handle].
type handle struct {
	db    *DB
	epoch uint64

	closed atomic.Bool

	mu    sync.Mutex
	claim store.TaskID // where Claim continues
}

var _ store.Handle = (*handle)(nil)

// Handle returns a new handle: a separate instance with a new epoch, which is durable
// when Handle returns.
func (db *DB) Handle() (store.Handle, error) {
	epoch, err := db.writer.NewEpoch()
	if err != nil {
		return nil, err
	}
	for newest := db.newest.Load(); newest < epoch && !db.newest.CompareAndSwap(newest, epoch); {
		newest = db.newest.Load()
	}
	return &handle{db: db, epoch: epoch}, nil
}

// Epoch returns the number of the instance; see [store.Leases].
func (h *handle) Epoch() uint64 { return h.epoch }

// Lease returns whether an instance holds an epoch: the newest handle does, because the lock of the
// file keeps other processes out; see [store.Leases].
func (h *handle) Lease(_ context.Context, epoch uint64) (store.Lease, error) {
	if err := h.alive(); err != nil {
		return store.Lease{}, err
	}
	if err := h.db.Err(); err != nil {
		return store.Lease{}, err
	}
	return store.Lease{Held: epoch == h.db.newest.Load()}, nil
}

// Close releases the handle; see [store.Store].
func (h *handle) Close() error {
	h.closed.Store(true)
	return nil
}

// Err calls [DB.Err]; see [store.Health].
func (h *handle) Err() error { return h.db.Err() }

// Trouble calls [DB.Trouble].
func (h *handle) Trouble() error { return h.db.Trouble() }

// Incarnation calls [DB.Incarnation].
func (h *handle) Incarnation() uint64 { return h.db.Incarnation() }

func (h *handle) alive() error {
	if h.closed.Load() {
		return store.ErrClosed
	}
	return h.db.file.Failure()
}

// view reads the file for a handle that is open. With an error v is zero.
func view[T any](ctx context.Context, h *handle, read func(tx *bolt.Tx) (T, error)) (v T, err error) {
	if err := h.alive(); err != nil {
		return v, err
	}
	var found T
	if err := h.db.file.View(ctx, func(tx *bolt.Tx) (err error) {
		found, err = read(tx)
		return err
	}); err != nil {
		return v, err
	}
	return found, nil
}

// Append queues b; see [store.Store].
func (h *handle) Append(ctx context.Context, b *store.Batch) *store.Commit {
	err := h.alive()
	if err == nil {
		err = b.Validate()
	}
	if err == nil {
		err = h.db.Err()
	}
	if err != nil {
		return store.Answered(store.Receipt{}, err)
	}
	var open *counts.Count
	if b.Parked > 0 && !b.Scope.IsZero() {
		if open, err = h.db.counts.Use(ctx, h.db.file, b.Scope, b.Change.Context); err != nil {
			return store.Answered(store.Receipt{}, err)
		}
	}
	return h.db.writer.Append(ctx, b, h.epoch, open)
}

// Read returns a page of a task; see [store.Store].
func (h *handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if err := h.alive(); err != nil {
		return store.LogPage{}, err
	}
	limit = limit.WithDefaults()
	if _, exact := from.Seq(); exact {
		if v, ok := h.db.tails.Read(s, id, from, limit); ok {
			return v, nil
		}
	}
	return view(ctx, h, func(tx *bolt.Tx) (store.LogPage, error) { return read.Log(tx, s, id, from, limit) })
}

// Tasks lists headers; see [store.Store].
func (h *handle) Tasks(ctx context.Context, s store.Scope, q store.Query) (store.TaskPage, error) {
	at, err := q.DecodeCursor(s)
	if err != nil {
		return store.TaskPage{}, err
	}
	if s.IsZero() {
		return store.TaskPage{}, nil
	}
	return view(ctx, h, func(tx *bolt.Tx) (store.TaskPage, error) { return read.Tasks(tx, s, q, at, h.db.counts.Total) })
}

// States counts the tasks of all owners; see [store.Counter].
func (h *handle) States(ctx context.Context) (store.States, error) {
	return view(ctx, h, func(tx *bolt.Tx) (store.States, error) { return h.db.counts.All(tx), nil })
}

// Rows lists rows; see [store.Store].
func (h *handle) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	if err := q.Validate(s); err != nil {
		return store.RowPage{}, err
	}
	at, err := q.DecodeCursor(s)
	if err != nil {
		return store.RowPage{}, err
	}
	if s.IsZero() {
		return store.RowPage{}, nil
	}
	return view(ctx, h, func(tx *bolt.Tx) (store.RowPage, error) { return read.Rows(tx, s, q, at) })
}

// Due lists due work; see [store.Store].
func (h *handle) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) (due []store.Due, next store.Millis, err error) {
	limit = store.PageSize(limit)
	due, err = view(ctx, h, func(tx *bolt.Tx) (due []store.Due, err error) {
		due, next, err = read.Due(tx, now, after, limit)
		return due, err
	})
	return due, next, err
}

// Audit lists the audit; see [store.AuditLog].
func (h *handle) Audit(ctx context.Context, after uint64, limit int) ([]store.AuditEntry, error) {
	limit = store.PageSize(limit)
	return view(ctx, h, func(tx *bolt.Tx) ([]store.AuditEntry, error) { return read.Audit(tx, after, limit) })
}

// Claim takes over tasks of older epochs; see [store.Store].
func (h *handle) Claim(ctx context.Context, limit int) ([]store.Header, error) {
	if err := h.alive(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	from := h.claim
	h.mu.Unlock()
	claimed, err := h.db.writer.Claim(ctx, h.epoch, from, store.PageSize(limit))
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.claim = store.TaskID{}
	if len(claimed) > 0 {
		h.claim = claimed[len(claimed)-1].Task
	}
	h.mu.Unlock()
	return claimed, nil
}

// Delete removes a task; see [store.Store].
func (h *handle) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
	if err := h.alive(); err != nil {
		return err
	}
	return h.db.writer.Delete(ctx, s, id, audit)
}

// Watch wakes a reader; see [store.Watcher].
func (h *handle) Watch(s store.Scope, id store.TaskID) (<-chan struct{}, func()) {
	return h.db.tails.Watch(s, id)
}

// WatchRows wakes a reader of rows of a kind; see [store.Watcher].
func (h *handle) WatchRows(s store.Scope, kind string) (<-chan struct{}, func()) {
	return h.db.ofRows.Watch(s, kind)
}
