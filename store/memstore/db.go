// Package memstore keeps tasks in memory. It is the reference implementation of
// the storage contract: one mutex, plain maps, and order made when it is asked
// for, so that what the contract means can be read here. It suits tests and
// trials; a list costs time in proportion to all that is stored.
//
// It owns no format and no files, and knows no more than [store] what an event, a
// row or an audit entry means.
package memstore

import (
	"context"
	"sync"
	"time"

	"a2a-server/store"
)

// DB is a backend in memory. It is safe for concurrent use. Make one with [New].
type DB struct {
	// Now is the clock of the window of Batch.Dedup, which goes by the differences
	// between what it says. It must not go back, as the readings of time.Now do not
	// among themselves, whatever is done to the system's clock. It is called with a lock
	// held and must not call the DB. Set it before the first use of the DB. Defaults to
	// time.Now.
	Now func() time.Time

	began    time.Time // what Now said first
	mu       sync.Mutex
	closed   bool
	life     uint64 // raised by Close: a handle of an earlier life stays dead
	epoch    uint64 // of the newest handle
	tasks    map[store.TaskID]*task
	rows     map[rowID]row
	due      map[dueID][]byte // to payload
	audit    []store.AuditEntry
	window   *store.Window
	watchers map[store.TaskID]map[*watcher]struct{}
	ofRows   store.RowWatchers
}

// task is a header with its log.
type task struct {
	header   store.Header
	events   []store.Event // seq n is at n-1
	snapshot []byte        // holds the events up to header.Snapshot that are not bulk
	bulk     []byte        // holds the bulk events up to header.BulkSnapshot
}

// place is what a row or due row belongs to: a task, or else an owner. Places of
// a task leave the owner zero: the task's header names it.
type place struct {
	task  store.TaskID
	owner store.Scope
}

// New returns an empty, open DB.
func New() *DB { return NewWithWindow(0) }

// NewWithWindow is New for tests that fill the window of Batch.Dedup: it remembers
// size messages. 0 means [store.WindowSize].
func NewWithWindow(size int) *DB {
	return &DB{
		Now:      time.Now,
		tasks:    make(map[store.TaskID]*task),
		rows:     make(map[rowID]row),
		due:      make(map[dueID][]byte),
		window:   store.NewWindow(size),
		watchers: make(map[store.TaskID]map[*watcher]struct{}),
	}
}

// Handle returns a new handle with an epoch above all earlier ones, or
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

// Close ends all handles for good: every later call of theirs is store.ErrClosed.
// The data stay for [DB.Reopen]. Closing again does nothing. The error is always
// nil.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if !db.closed {
		db.closed = true
		db.life++
	}
	return nil
}

// Reopen makes a closed DB usable again, with all its data, as a restart does: the
// handles of before stay dead, new ones have higher epochs. It does nothing to a
// DB that is open.
func (db *DB) Reopen() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = false
}

// handle is one instance's view of a DB.
type handle struct {
	db    *DB
	epoch uint64
	life  uint64

	closed bool // guarded by db.mu
}

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

// Close gives the handle back. Closing again does nothing.
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

// ran returns for how long the DB has been in use.
func (db *DB) ran() time.Duration {
	now := db.Now()
	if db.began.IsZero() {
		db.began = now
	}
	return now.Sub(db.began)
}

// owner returns whose p is.
func (db *DB) owner(p place) store.Scope {
	if p.task.IsZero() {
		return p.owner
	}
	return db.tasks[p.task].header.Owner
}
