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
	epoch, err := db.writer.NewEpoch()
	if err != nil {
		return nil, err
	}
	for newest := db.newest.Load(); newest < epoch && !db.newest.CompareAndSwap(newest, epoch); {
		newest = db.newest.Load()
	}
	return &Handle{db: db, epoch: epoch}, nil
}

// Epoch returns the number of the instance; see [store.Leases].
func (h *Handle) Epoch() uint64 { return h.epoch }

// Lease returns whether an instance holds an epoch: the newest handle does, because the lock of the
// file keeps other processes out; see [store.Leases].
func (h *Handle) Lease(_ context.Context, epoch uint64) (store.Lease, error) {
	if err := h.alive(); err != nil {
		return store.Lease{}, err
	}
	if err := h.db.Err(); err != nil {
		return store.Lease{}, err
	}
	return store.Lease{Held: epoch == h.db.newest.Load()}, nil
}

// Close releases the handle; see [store.Store].
func (h *Handle) Close() error {
	h.closed.Store(true)
	return nil
}

// Err calls [DB.Err]; see [store.Health].
func (h *Handle) Err() error { return h.db.Err() }

// Trouble calls [DB.Trouble].
func (h *Handle) Trouble() error { return h.db.Trouble() }

// Incarnation calls [DB.Incarnation].
func (h *Handle) Incarnation() uint64 { return h.db.Incarnation() }

func (h *Handle) alive() error {
	if h.closed.Load() {
		return store.ErrClosed
	}
	return h.db.file.Failure()
}

// view reads the file for a handle that is open.
func (h *Handle) view(ctx context.Context, fn func(tx *bolt.Tx) error) error {
	if err := h.alive(); err != nil {
		return err
	}
	return h.db.file.View(ctx, fn)
}

// Append queues b; see [store.Store].
func (h *Handle) Append(ctx context.Context, b *store.Batch) *store.Commit {
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
func (h *Handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if err := h.alive(); err != nil {
		return store.LogPage{}, err
	}
	limit = limit.WithDefaults()
	if _, exact := from.Seq(); exact {
		if v, ok := h.db.tails.Read(s, id, from, limit); ok {
			return v, nil
		}
	}
	p := read.NewPager(s, id, from, limit)
	defer p.Release()
	if err := h.view(ctx, p.Run); err != nil {
		return store.LogPage{}, err
	}
	return p.Page, nil
}

// Tasks lists headers; see [store.Store].
func (h *Handle) Tasks(ctx context.Context, s store.Scope, q store.Query) (page store.TaskPage, err error) {
	at, err := q.DecodeCursor(s)
	if err != nil {
		return store.TaskPage{}, err
	}
	if s.IsZero() {
		return store.TaskPage{}, nil
	}
	err = h.view(ctx, func(tx *bolt.Tx) (err error) {
		page, err = read.Tasks(tx, s, q, at, h.db.counts.Total)
		return err
	})
	if err != nil {
		return store.TaskPage{}, err
	}
	return page, nil
}

// States counts the tasks of all owners; see [store.Counter].
func (h *Handle) States(ctx context.Context) (n store.States, err error) {
	err = h.view(ctx, func(tx *bolt.Tx) error {
		n = h.db.counts.All(tx)
		return nil
	})
	return n, err
}

// Rows lists rows; see [store.Store].
func (h *Handle) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
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
	l := read.NewRowLister(s, q, at)
	if err := h.view(ctx, l.Run); err != nil {
		return store.RowPage{}, err
	}
	return l.Page, nil
}

// Due lists due work; see [store.Store].
func (h *Handle) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) (due []store.Due, next store.Millis, err error) {
	limit = store.PageSize(limit)
	err = h.view(ctx, func(tx *bolt.Tx) (err error) {
		due, next, err = read.Due(tx, now, after, limit)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	return due, next, nil
}

// Audit lists the audit; see [store.AuditLog].
func (h *Handle) Audit(ctx context.Context, after uint64, limit int) (entries []store.AuditEntry, err error) {
	limit = store.PageSize(limit)
	err = h.view(ctx, func(tx *bolt.Tx) (err error) {
		entries, err = read.Audit(tx, after, limit)
		return err
	})
	return entries, err
}

// Claim takes over tasks of older epochs; see [store.Store].
func (h *Handle) Claim(ctx context.Context, limit int) ([]store.Header, error) {
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
func (h *Handle) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
	if err := h.alive(); err != nil {
		return err
	}
	return h.db.writer.Delete(ctx, s, id, audit)
}

// Watch wakes a reader; see [store.Watcher].
func (h *Handle) Watch(s store.Scope, id store.TaskID) (<-chan struct{}, func()) {
	return h.db.tails.Watch(s, id)
}

// WatchRows wakes a reader of rows of a kind; see [store.Watcher].
func (h *Handle) WatchRows(s store.Scope, kind string) (<-chan struct{}, func()) {
	return h.db.ofRows.Watch(s, kind)
}
