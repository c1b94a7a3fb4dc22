package boltstore

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"a2a-server/store"
)

// metas are the two meta pages of an open file, as bbolt sees them. They are mapped a
// second time, because bbolt's own mapping may be gone when the file is closed.
type metas struct{ pages []byte }

// mapMetas maps the meta pages. They stay mapped while the result is in use.
func mapMetas(file *os.File, pageSize int) (*metas, error) {
	pages, err := syscall.Mmap(int(file.Fd()), 0, 2*pageSize, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the meta pages of the store: %w", err)
	}
	m := &metas{pages}
	runtime.AddCleanup(m, func(pages []byte) { _ = syscall.Munmap(pages) }, pages)
	return m, nil
}

// newest returns the newest valid meta data. ok is false if neither page is valid, or they are
// not there any more.
func (m *metas) newest() (newest meta, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok }()
	_, newest, _ = newestMeta(m.pages)
	return newest, newest.valid
}

// tx begins a bbolt transaction, or returns store.ErrDataLoss. Without a valid meta page bbolt
// panics in Begin and keeps its locks, so that every later Begin, and Close, would wait
// forever. Without the newest meta page it would begin at the previous commit: everything
// acknowledged since would be missing, and its pages would be overwritten.
func (db *DB) tx(writable bool) (*bolt.Tx, error) {
	db.beginning.Lock()
	defer db.beginning.Unlock()
	if db.isStuck() {
		return nil, fmt.Errorf("%w: its meta pages are gone", store.ErrDataLoss)
	}
	oldest := db.durable.id.Load()
	if writable {
		oldest++
	}
	if _, ok := db.metas.newest(); !ok {
		return nil, fmt.Errorf("%w: neither of its meta pages is valid", store.ErrDataLoss)
	}
	tx, err := db.boltTx(writable)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return nil, store.ErrClosed
	} else if err != nil {
		return nil, fmt.Errorf("begin transaction: %w", err)
	}
	if id := uint64(tx.ID()); id < oldest {
		_ = tx.Rollback()
		return nil, fmt.Errorf("%w: its newest meta page is not valid", store.ErrDataLoss)
	}
	return tx, nil
}

// boltTx begins a bbolt transaction. A meta page that vanishes just now, after it was
// checked, makes bbolt panic after all: then no other transaction begins, and the file is
// not closed, because each of them would wait for the locks that bbolt keeps.
func (db *DB) boltTx(writable bool) (*bolt.Tx, error) {
	defer func() {
		if p := recover(); p != nil {
			_ = db.met(p, true /* locked */)
			db.mu.Lock()
			db.stuck = true
			db.mu.Unlock()
			panic(p)
		}
	}()
	return db.bolt.Begin(writable)
}

func (db *DB) isStuck() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.stuck
}
