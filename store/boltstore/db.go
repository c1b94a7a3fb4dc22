package boltstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"a2a-server/store"
)

// format is the version of the layout that is written. Opening a file of oldest or later sets
// its number to format, which keeps out programs that cannot read the new layout. The stored
// values stay as they are.
const (
	format = 5
	oldest = 4
)

var (
	keyFormat      = []byte("format")
	keyEpoch       = []byte("epoch")
	keyCreated     = []byte("created")
	keyIncarnation = []byte("incarnation")
	keyFile        = []byte("file") // device and inode that the file had
)

// Options tune a DB. The zero value suits a server.
type Options struct {
	// InitialMmapSize is the address space reserved at open, in bytes. A file that
	// outgrows it is mapped again, which waits for the active readers, and ends the
	// store if it fails. Defaults to four times the file size, at least 64 GiB, unless
	// the process is not allowed that much; it costs no memory.
	InitialMmapSize int

	// LockTimeout is how long Open waits for another process to release the file.
	// Defaults to 1 s.
	LockTimeout time.Duration

	// TailBytes bounds the event data kept in memory for readers of live tasks,
	// over all tasks. Defaults to 64 MiB.
	TailBytes int

	// Window is how many messages the window of Batch.Dedup remembers. Defaults to
	// [store.WindowSize].
	Window int

	// Running returns how long the process has run, which the window's hour is measured
	// by. It must not decrease. Defaults to the monotonic clock.
	Running func() time.Duration

	// Ahead is the disk space that is allocated before it is needed, in bytes, so that a full
	// disk is noticed before anything is written. At most an eighth of the free space of the
	// disk is taken at a time. Defaults to 64 MiB; negative: none.
	Ahead int64

	// Hook, when set, is called by the writer at named points, for tests that kill
	// the process there. The names are the constants Point….
	Hook func(point string)
}

// The points at which [Options.Hook] is called.
const (
	PointTaken     = "boltstore.taken"     // batches were taken from the queue, nothing is written
	PointApplied   = "boltstore.applied"   // all is in the transaction, nothing is on disk
	PointCommitted = "boltstore.committed" // the commit is on disk, and no caller has its answer yet
)

// DB is an open file. It is safe for concurrent use.
type DB struct {
	path        string
	bolt        *bolt.DB
	opened      os.FileInfo // of the file when it was opened
	itself      []byte      // which file it is
	metas       *metas
	note        string
	incarnation uint64
	hook        func(point string)

	queue   queue
	durable durable
	trouble trouble
	space   space
	tails   hub
	ofRows  store.Watchers[string]
	counts  counts

	rebuilding rebuilding
	closed     sync.WaitGroup // writer and window loader
	stop       context.CancelFunc

	beginning sync.Mutex // held while a transaction begins

	mu       sync.Mutex
	damaged  error
	readOnly error
	locked   bool // bbolt's lock is lost
	stuck    bool // so are the pages that every transaction begins with
	shut     bool
}

// Open opens or creates the file at path with default [Options].
func Open(path string) (*DB, error) { return Options{}.Open(path) }

// Open opens or creates the file at path. If the file is in use, of an unsupported format,
// damaged or truncated, the error names the next step; in the last two cases it wraps
// store.ErrDamaged.
func (o Options) Open(path string) (*DB, error) {
	o.LockTimeout = cmp.Or(o.LockTimeout, time.Second)
	o.TailBytes = cmp.Or(o.TailBytes, 64<<20)
	o.Ahead = cmp.Or(o.Ahead, aheadBytes)
	o.Window = cmp.Or(o.Window, store.WindowSize)
	if o.Running == nil {
		began := time.Now()
		o.Running = func() time.Duration { return time.Since(began) }
	}
	var opened *os.File
	options := bolt.Options{
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode)
			opened = f
			return f, err
		},
		Timeout:         o.LockTimeout,
		FreelistType:    bolt.FreelistMapType,
		PreLoadFreelist: true,
		InitialMmapSize: o.InitialMmapSize,
	}
	if err := create(path, options); err != nil {
		return nil, err
	}
	note, err := settle(path, o.LockTimeout)
	if err != nil {
		return nil, err
	}
	if network := networkOf(path); network != "" {
		note = strings.TrimPrefix(fmt.Sprintf("%s\n%s is on a network file system (%s): a lock may not keep another server out, and synced data may be gone when the file server loses power; use a local disk", note, path, network), "\n")
	}
	file, err := openFile(path, options)
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, bolt: file, hook: o.Hook, note: note}
	if err := db.init(o, opened); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	w := newWriter(db, newWindow(o.Window, o.Running))
	if w.compressor, err = newCompressor(); err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), file.Close())
	}
	var ctx context.Context
	ctx, db.stop = context.WithCancel(context.Background())
	db.closed.Go(func() { w.run() })
	db.closed.Go(func() { w.window.load(ctx, db) })
	return db, nil
}

// init makes an open file ready for use. file is that of bbolt.
func (db *DB) init(o Options, file *os.File) (err error) {
	if db.opened, err = file.Stat(); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	db.itself = identityOf(db.opened)
	if db.metas, err = mapMetas(file, db.bolt.Info().PageSize); err != nil {
		return err
	}
	db.space = space{file: file, metas: db.metas, ahead: max(o.Ahead, 0), inPlace: inPlace(file)}
	db.queue.init()
	db.tails.init(o.TailBytes)
	db.counts.init()
	if err := errors.Join(db.prepare(), syncFolders(db.path)); err != nil {
		return err
	}
	return db.bolt.View(func(tx *bolt.Tx) error {
		db.durable.reach(uint64(tx.ID())) // it was synced before the file was opened
		db.space.begin(tx.Size())
		return nil
	})
}

// openFile opens with bbolt, which panics on some damaged files. Unless o says how much address
// space to reserve, it reserves so much that the file is never mapped again.
func openFile(path string, o bolt.Options) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, damagedFile(path, p)
		}
	}()
	reserve := o.InitialMmapSize == 0
	if reserve {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
		o.InitialMmapSize = max(64<<30, 4*int(info.Size()))
	}
	if db, err = bolt.Open(path, 0o600, &o); reserve && errors.Is(err, syscall.ENOMEM) {
		o.InitialMmapSize = 0 // as much as the file needs now
		db, err = bolt.Open(path, 0o600, &o)
	}
	return db, openError(path, err)
}

func openError(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		return inUse(path)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return damagedFile(path, err)
	default:
		return fmt.Errorf("open store %s: %w", path, err)
	}
}

func damagedFile(path string, why any) error {
	return fmt.Errorf("%w: %s: %v: restore a backup of the file, or move it away and start with an empty store: a2a-server serve --init", store.ErrDamaged, path, why)
}

// prepare refuses a file that is not a store, or of a format that is not read, and brings
// it to the newest format.
func (db *DB) prepare() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = damagedFile(db.path, p)
		}
	}()
	ready := false
	if err := db.bolt.View(func(tx *bolt.Tx) error {
		if err := newImage(tx).checkBase(); err != nil { // before bbolt looks for a bucket: it would follow a page that refers to itself
			return damagedFile(db.path, err)
		}
		if err := db.checkBuckets(tx); err != nil {
			return err
		}
		meta := tx.Bucket(bucketMeta)
		have := readU64(meta.Get(keyFormat))
		if err := checkFormat(db.path, have); err != nil {
			return err
		}
		if have < format {
			if err := db.checkOldest(tx); err != nil {
				return err
			}
		}
		if meta.Get(keyRebuild) != nil {
			db.rebuilding.begin()
		}
		db.incarnation = readU64(meta.Get(keyIncarnation))
		known := meta.Get(keyFile)
		ready = have == format && bytes.Equal(known, db.itself)
		if db.isCopyOf(known) {
			if err := newImage(tx).checkWhole(); err != nil {
				return damagedFile(db.path, fmt.Sprintf("it is an incomplete copy of a store, such as one made while a server was writing to it: %v", err))
			}
		}
		return nil
	}); err != nil || ready {
		return err
	}
	return db.bolt.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if db.isCopyOf(meta.Get(keyFile)) {
			// It is a copy of the original file: positions that readers remember of the
			// original do not apply to it.
			if err := meta.Put(keyIncarnation, newIncarnation()); err != nil {
				return fmt.Errorf("give %s a new incarnation: %w", db.path, err)
			}
		}
		db.incarnation = readU64(meta.Get(keyIncarnation))
		return errors.Join(meta.Put(keyFormat, u64(format)), meta.Put(keyFile, db.itself))
	})
}

// checkFormat refuses a file of a format that this program does not read.
func checkFormat(path string, have uint64) error {
	switch {
	case have == 0:
		return damagedFile(path, "it has no format")
	case have > format:
		return fmt.Errorf("store %s has format %d, and this program reads formats %d to %d: it was written by a newer program; run that program", path, have, oldest, format)
	case have < oldest:
		return fmt.Errorf("store %s has format %d, and this program reads formats %d to %d: keep using the program that wrote it, or move the file away and start with an empty store: a2a-server serve --init", path, have, oldest, format)
	}
	return nil
}

// checkOldest refuses a file whose first log value has a format before oldest: the file began
// with that format.
func (db *DB) checkOldest(tx *bolt.Tx) error {
	defer func() { _ = recover() }() // a damaged page of the log is its readers' to report
	_, first := newImage(tx).bucket(bucketLog).Cursor().First()
	if len(first) == 0 || first[0] >= valueVersion {
		return nil
	}
	return fmt.Errorf("store %s has tasks that were written before format %d: this program does not read them; keep using the program that wrote it, or move the file away and start with an empty store: a2a-server serve --init", db.path, oldest)
}

// isCopyOf reports whether the file differs from the file named in its meta data. Nil names no
// file.
func (db *DB) isCopyOf(known []byte) bool {
	return known != nil && !bytes.Equal(known, db.itself)
}

// checkBuckets refuses a file that lacks a bucket of ours.
func (db *DB) checkBuckets(tx *bolt.Tx) error {
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			return damagedFile(db.path, fmt.Sprintf("it has no bucket %s, so it is not a store of this program, or parts of it are lost", name))
		}
	}
	return nil
}

var buckets = [][]byte{bucketMeta, bucketLog, bucketTask, bucketLive, bucketList, bucketListCtx, bucketRow, bucketRowIdx, bucketDue, bucketAudit}

// makeBuckets creates the buckets and meta data of a new file.
func makeBuckets(tx *bolt.Tx) error {
	for _, name := range buckets {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("make bucket %s: %w", name, err)
		}
	}
	meta := tx.Bucket(bucketMeta)
	return errors.Join(
		meta.Put(keyCreated, u64(uint64(time.Now().UnixMilli()))),
		meta.Put(keyIncarnation, newIncarnation()),
		meta.Put(keyEpoch, u64(0)),
		meta.Put(keyFormat, u64(format)),
	)
}

func newIncarnation() []byte {
	var n [8]byte
	_, _ = rand.Read(n[:]) // never fails, says crypto/rand
	return n[:]
}

func readU64(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// Note returns facts about the opened file for the operator, a line each, or "".
func (db *DB) Note() string { return db.note }

// Incarnation returns the file's random number. It is new when the file is created, and when
// the file is found to be a copy.
func (db *DB) Incarnation() uint64 { return db.incarnation }

// Err returns nil while the store works, and then why it has ended: store.ErrDamaged when
// the outcome of a commit is unknown, store.ErrClosed after Close.
func (db *DB) Err() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case db.damaged != nil:
		return db.damaged
	case db.shut:
		return store.ErrClosed
	default:
		return nil
	}
}

// fail closes the store for writing: the outcome of a commit is unknown.
// locked says that bbolt still holds its lock, so that the file cannot be closed.
func (db *DB) fail(why any, locked bool) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.locked = db.locked || locked
	defer db.durable.end()
	if db.damaged == nil {
		db.damaged = fmt.Errorf("%w: %s: a commit failed and its outcome is unknown: %v: restart the server, which reads the file again", store.ErrDamaged, db.path, why)
	}
	return db.damaged
}

// Close commits and answers the queued batches, ends the writer and closes the file.
// Afterwards all handles are closed. A second call does nothing.
func (db *DB) Close() error {
	db.mu.Lock()
	shut := db.shut
	db.shut = true
	db.mu.Unlock()
	if shut {
		return nil
	}
	db.stop()
	db.queue.close()
	db.closed.Wait()
	db.mu.Lock()
	locked := db.locked
	db.mu.Unlock()
	if locked {
		return fmt.Errorf("close store: %w", db.refuses())
	}
	if err := db.bolt.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// view runs fn with a read transaction of the file. fn must copy the values that it keeps, and
// must not block: an open transaction delays the writer when the file has to grow. A fault
// while reading is store.ErrDataLoss, not a crash.
func (db *DB) view(ctx context.Context, fn func(im *image) error) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read store: %w", context.Cause(ctx))
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	tx, err := db.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { //nolint:contextcheck // the drop of an index outlives the read
		if p := recover(); damagedDerived(p) {
			db.rebuilding.met(db)
			err = errRebuilding
		} else if p != nil {
			err = fmt.Errorf("%w: a page of %s cannot be read: %v", store.ErrDataLoss, db.path, p)
		}
		_ = tx.Rollback() // a read transaction has nothing to lose
	}()
	return fn(newImage(tx))
}

// begin begins a read transaction of the durable state.
func (db *DB) begin(ctx context.Context) (tx *bolt.Tx, err error) {
	defer func() {
		if p := recover(); p != nil {
			tx, err = nil, fmt.Errorf("%w: %s: %v", store.ErrDataLoss, db.path, p)
		}
	}()
	for {
		if tx, err = db.tx(false /* writable */); err != nil {
			return nil, fmt.Errorf("read %s: %w", db.path, err)
		}
		id := uint64(tx.ID())
		if id <= db.durable.id.Load() {
			return tx, nil
		}
		// Not held while waiting: it would keep pages from being used again.
		_ = tx.Rollback()
		if err := db.durable.wait(ctx, id, db.Err); err != nil {
			return nil, err
		}
	}
}
