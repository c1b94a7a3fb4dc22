package boltstore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

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

// Incarnation returns the file's random number. It is made with the file, also with one that
// [Options.Restore] makes, and stays when a released store is moved.
func (db *DB) Incarnation() uint64 { return db.incarnation }

// Err returns nil while the store works, and then why it has ended: store.ErrDamaged when
// the outcome of a commit is unknown, store.ErrClosed after Close.
func (db *DB) Err() error { return db.file.Err() }

// Trouble returns the error that keeps the store from writing, or nil. After
// store.ErrUnavailable the store recovers by itself when the cause is gone, after
// store.ErrReadOnly never. [DB.Err] returns the error that ends the store for good.
func (db *DB) Trouble() error { return db.writer.Trouble() }

// Rebuilds returns how often derived buckets have been found damaged, or incomplete, since the
// store was opened. A growing number means that the disk has returned a bad page: tell the
// operator.
func (db *DB) Rebuilds() uint64 { return db.writer.Rebuilds() }

// Usage returns how many bytes of the file are in use, as limits of the disk count them, and how
// many the disk has free; known is false if the system does not say that.
func (db *DB) Usage(ctx context.Context) (used, free uint64, known bool, err error) {
	free, known = db.file.DiskFree()
	err = db.file.View(ctx, func(im *boltfile.Image) error {
		used = uint64(max(0, im.Size()-db.file.FreeBytes()))
		return nil
	})
	return used, free, known, err
}

// Rebuild rebuilds live, list, list.ctx and rowidx from the headers and the rows, as the store
// does when it meets damage in them, and returns when that is done. If the file is sound,
// nothing observable changes, but lists are store.ErrUnavailable meanwhile.
func (db *DB) Rebuild(ctx context.Context) error { return db.writer.Rebuild(ctx) }

// Close commits and answers the queued batches, ends the writer and closes the file.
// Afterwards all handles are closed. A second call does nothing.
func (db *DB) Close() error {
	if !db.file.Shut() {
		return nil
	}
	db.writer.Close()
	return errors.Join(db.file.Close(), db.commits.close())
}
