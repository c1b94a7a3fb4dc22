package boltstore

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// met makes the store read-only, because the writer has found damage: its next write would
// depend on pages that cannot be trusted. Nothing of its round was written. locked says
// that bbolt still holds its lock, so that the file cannot be closed.
func (db *DB) met(damage any, locked bool) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.locked = db.locked || locked
	if db.readOnly == nil {
		db.readOnly = fmt.Errorf("%w: a part of %s is damaged: it is read-only now, and its readable data is still served: stop the server and restore a backup of the file (%v)", store.ErrReadOnly, db.path, damage)
	}
	return db.readOnly
}

// refuses returns why the store no longer writes, nil while it writes or is closed.
func (db *DB) refuses() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.damaged != nil {
		return db.damaged
	}
	return db.readOnly
}

// rollback undoes a transaction in which bbolt panicked; it may panic again.
func rollback(tx *bolt.Tx) (done bool) {
	defer func() { done = recover() == nil && done }()
	_ = tx.Rollback() // an already closed channel is as good
	return true
}
