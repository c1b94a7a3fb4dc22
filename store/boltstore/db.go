package boltstore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/counts"
	"a2a-server/store/boltstore/internal/tail"
	"a2a-server/store/boltstore/internal/writer"
)

// DB is an open file. It is safe for concurrent use.
type DB struct {
	file        *boltfile.File
	writer      *writer.Writer
	commits     *recorder
	incarnation uint64
	newest      atomic.Uint64 // epoch of the newest handle
	backup      atomic.Uint64 // moment of the newest backup that was verified, in milliseconds; 0: none is known
	failed      *failed       // the check at open; nil: no transaction had failed

	tails  *tail.Hub
	ofRows store.Watchers[string]
	counts *counts.Counts
}

// Note returns facts about the opened file for the operator, a line each, or "". Some are known only
// after the first [DB.Handle].
func (db *DB) Note() string {
	if more := db.commits.failure.Load(); more != nil {
		return strings.TrimPrefix(db.file.Note()+"\n"+*more, "\n")
	}
	return db.file.Note()
}

// Incarnation returns the file's random number. It is made with the file, also with a file that
// [Options.Restore] makes, and stays when a released store is moved.
func (db *DB) Incarnation() uint64 { return db.incarnation }

// Err returns nil while the store works, and then why it has ended for good. store.ErrDamaged: a
// transaction met damage or a bug, and the error is a *[DamageError], or the outcome of a commit is
// unknown. All calls return it. After a *[DamageError] the process has to end before the file can be
// opened again: the database below may keep its locks, and keeps the lock of the file.
// store.ErrClosed: Close was called.
func (db *DB) Err() error { return db.file.Err() }

// Trouble returns the error that keeps the store from writing, or nil. After
// store.ErrUnavailable the store recovers by itself when the cause is gone. [DB.Err] returns the
// error that ends the store for good.
func (db *DB) Trouble() error { return db.writer.Trouble() }

// Failed returns the result of the check if a transaction had failed the last time the file was open: a text
// for the operator, and the panic with its stack. The text is "" if none had failed.
func (db *DB) Failed() (text, panicked string) {
	if db.failed == nil {
		return "", ""
	}
	return db.failed.text(db.file.Path()), db.failed.mark.Panic
}

// mark returns the mark of a failure.
func (db *DB) mark(p any) boltfile.Mark {
	return boltfile.Mark{Incarnation: db.incarnation, Time: time.Now().UTC(), Panic: fmt.Sprintf("%v\n%s", p, debug.Stack()), Backup: db.LastBackup()}
}

// DamageError is the store.ErrDamaged of a file that is damaged, or in which a transaction met a bug
// of this program. Its text is a line that names the damage and the next step.
type DamageError = boltfile.DamageError

// Usage returns how many bytes of the file are in use, as limits of the disk count them, and how
// many the disk has free; known is false if the system does not say that.
func (db *DB) Usage(ctx context.Context) (used, free uint64, known bool, err error) {
	free, known = db.file.DiskFree()
	err = db.file.View(ctx, func(tx *bolt.Tx) error {
		used = uint64(max(0, tx.Size()-db.file.FreeBytes()))
		return nil
	})
	return used, free, known, err
}

// Close commits and answers the queued batches, ends the writer and closes the file, unless a
// *[DamageError] has ended the store. Afterwards all handles are closed. A second call does nothing.
func (db *DB) Close() error {
	if !db.file.Shut() {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		db.writer.Close()
	}()
	select {
	case <-ended:
	case <-db.file.Broken():
		select {
		case <-ended:
		case <-time.After(time.Second): // it reads a damaged page, and may never return
			return nil
		}
	}
	return errors.Join(db.file.Close(), db.commits.close())
}
