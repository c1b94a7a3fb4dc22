package boltstore

import (
	"cmp"
	"errors"
	"time"

	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/counts"
	"a2a-server/store/boltstore/internal/tail"
	"a2a-server/store/boltstore/internal/writer"
)

// Options tune a DB. The zero value suits a server.
type Options struct {
	// Ahead is the disk space that is allocated before it is needed, in bytes, so that a full
	// disk is noticed before anything is written. At most an eighth of the free space of the
	// disk is taken at a time, 1 MiB for a new file, and then as much as the file has, but 8 MiB.
	// Defaults to 64 MiB; negative: none.
	Ahead int64

	// Committed, when set, is called by the writer after each commit, with the time it took. It
	// must not block.
	Committed func(took time.Duration)

	// Hook, when set, is called by the writer at named points, for tests that kill
	// the process there. The names are the constants Point….
	Hook func(point string)

	mapped int // see [boltfile.Options]
	tails  int // bytes of event data that are kept in memory for readers of live tasks. Defaults to 64 MiB.
}

// The points at which [Options.Hook] is called.
const (
	PointTaken     = writer.PointTaken     // batches were taken from the queue, nothing is written
	PointApplied   = writer.PointApplied   // all is in the transaction, nothing is on disk
	PointCommitted = writer.PointCommitted // the commit is on disk, and no caller has its answer yet
)

// Open opens or creates the file at path with default [Options].
func Open(path string) (*DB, error) { return Options{}.Open(path) }

// Open opens or creates the file at path. If the file is in use, of an unsupported format,
// damaged or truncated, the error names the next step; in the last two cases it is a *[DamageError].
// If a transaction failed the last time the file was open, all of it is checked first, which reads
// it once; see [DB.Failed].
func (o Options) Open(path string) (*DB, error) {
	earlier, err := afterFailure(path)
	if err != nil {
		return nil, err
	}
	has := contents{remake: earlier.remakes()}
	has.damaged = has.remake && earlier.derived != ""
	file, err := boltfile.Open(path, boltfile.Options{
		InitialMmapSize: o.mapped,
		Ahead:           cmp.Or(o.Ahead, boltfile.AheadBytes),
		Create:          makeBuckets,
		Prepare:         has.prepare,
	})
	if err != nil {
		return nil, err
	}
	db := &DB{file: file, failed: earlier, incarnation: has.incarnation, commits: newRecorder(path, has.incarnation), tails: tail.New(cmp.Or(o.tails, 64<<20)), counts: counts.New()}
	db.backup.Store(uint64(has.backup))
	file.Mark = db.mark
	db.writer, err = writer.New(writer.Config{
		File: file, Counts: db.counts, Tails: db.tails, Rows: &db.ofRows,
		Epoch: has.epoch, Synced: db.commits.note, Hook: o.Hook, Committed: o.Committed,
	})
	if err == nil && earlier != nil {
		err = boltfile.RemoveMark(path) // the file is sound, or has become so
	}
	if err != nil {
		return nil, errors.Join(err, file.Close(), db.commits.close())
	}
	db.writer.Start()
	return db, nil
}
