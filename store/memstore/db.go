// Package memstore keeps tasks in memory. It is the reference implementation of the storage
// contract: one mutex, a map of tasks, and sorted maps of rows and due work, so that the
// contract is easy to see. It suits tests and trials; a list of tasks takes time proportional
// to the stored data.
//
// It owns no format and no files and, like [store], does not know the meaning of an event, a
// row or an audit entry.
package memstore

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/tidwall/btree"

	"a2a-server/store"
)

// DB is a backend in memory. It is safe for concurrent use. Make one with [New].
type DB struct {
	incarnation uint64

	mu      sync.Mutex
	closed  bool
	life    uint64 // raised by Close: a handle of an earlier life stays closed
	epoch   uint64 // of the newest handle
	tasks   map[store.TaskID]*task
	rows    btree.Map[string, *row]      // by position
	index   btree.Map[string, *row]      // by index key and position
	due     btree.Map[string, store.Due] // by position
	audit   []store.AuditEntry
	ofTasks store.Watchers[store.TaskID]
	ofRows  store.Watchers[string]
}

// task is a header with its log.
type task struct {
	header   store.Header
	events   []store.Event // seq n is at n-1
	snapshot []byte        // holds the events up to header.Snapshot that are not bulk
	bulk     []byte        // holds the bulk events up to header.BulkSnapshot
}

// place is the owner of a row or due row: a task, or else a context of an owner, or else an
// owner. Places of a task leave the owner zero: the task's header names it.
type place struct {
	task    store.TaskID
	owner   store.Scope
	context string // "": of no context
}

// key is p in the order of a list.
func (p place) key() string { return string(p.append(nil)) }

// append appends the key of p.
func (p place) append(dst []byte) []byte {
	dst = append(dst, p.task[:]...)
	if !p.task.IsZero() {
		return dst
	}
	key := p.owner.Key()
	if p.context != "" {
		key = p.owner.ContextKey(p.context)
	}
	return append(dst, key[:]...)
}

// New returns an empty, open DB.
func New() *DB { return &DB{incarnation: rand.Uint64(), tasks: make(map[store.TaskID]*task)} }

// Handle returns a new handle with an epoch above all earlier epochs, or
// store.ErrClosed.
func (db *DB) Handle() (store.Handle, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, store.ErrClosed
	}
	db.epoch++
	return &handle{db: db, epoch: db.epoch, life: db.life}, nil
}

// Close closes all handles for good: every later call on them returns
// store.ErrClosed. The data is kept for [DB.Reopen]. A second call does nothing. The
// error is always nil.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.closed {
		db.closed = true
		db.life++
	}
	return nil
}

// Reopen makes a closed DB usable again, with all its data, as a restart does: old handles
// stay closed, new handles have higher epochs. It does nothing if the DB is open.
func (db *DB) Reopen() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = false
}

// handle is the view that an instance has of a DB.
type handle struct {
	db    *DB
	epoch uint64
	life  uint64

	closed bool // guarded by db.mu
}

// Epoch returns the number of the instance; see [store.Leases].
func (h *handle) Epoch() uint64 { return h.epoch }

// Err returns store.ErrClosed after the DB was closed; see [store.Health].
func (h *handle) Err() error {
	h.db.mu.Lock()
	defer h.db.mu.Unlock()
	if h.life != h.db.life {
		return store.ErrClosed
	}
	return nil
}

// Trouble returns nil: memory can always be written.
func (h *handle) Trouble() error { return nil }

// Incarnation returns a random number of the DB.
func (h *handle) Incarnation() uint64 { return h.db.incarnation }

// lock takes the DB's mutex for a call of h, or returns why the call must fail,
// with the mutex free.
func (h *handle) lock(ctx context.Context) error {
	h.db.mu.Lock()
	err := ctx.Err()
	if h.dead() {
		err = store.ErrClosed
	}
	if err != nil {
		h.db.mu.Unlock()
	}
	return err
}

func (h *handle) dead() bool { return h.closed || h.life != h.db.life }

// Close closes the handle. A second call does nothing.
func (h *handle) Close() error {
	h.db.mu.Lock()
	defer h.db.mu.Unlock()
	h.closed = true
	return nil
}

// find returns the task if it exists and s covers it, or store.ErrNotFound.
func (db *DB) find(s store.Scope, id store.TaskID) (*task, error) {
	if t := db.tasks[id]; t != nil && s.Covers(t.header.Owner) {
		return t, nil
	}
	return nil, store.ErrNotFound
}

// owner returns the owner of p.
func (db *DB) owner(p place) store.Scope {
	if p.task.IsZero() {
		return p.owner
	}
	return db.tasks[p.task].header.Owner
}
