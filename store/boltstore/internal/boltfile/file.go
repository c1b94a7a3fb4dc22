// Package boltfile is an open bbolt file. It opens the file so that nothing is lost, and ends its
// use when it cannot be trusted any more. It does not know the contents of buckets.
//
// A [File] is written by one goroutine, with transactions from [File.Tx], and read by any number,
// with [File.View]. It fails for good: with [File.Break] after a panic or a fault in a
// transaction, or [File.Fail] when the outcome of a commit is unknown. Then all calls return the
// same error, and only a new process can use the file.
package boltfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"a2a-server/store"
)

// Options say how a file is opened.
type Options struct {
	// InitialMmapSize is the address space reserved at open, in bytes. A file that outgrows it is
	// mapped again, which waits for the active readers, and ends the store if it fails. Defaults to
	// four times the file size, at least 64 GiB, unless the process is not allowed that much; it costs
	// no memory.
	InitialMmapSize int

	Ahead int64 // disk space that is allocated before it is needed, in bytes; negative: none

	Create  func(*bolt.Tx) error // fills a new file
	Prepare func(*File) error    // checks the open file, and records which file it is
}

// File is an open file. It is safe for concurrent use.
type File struct {
	path   string
	bolt   *bolt.DB
	opened os.FileInfo // of the file when it was opened
	itself []byte      // which file it is
	note   string

	durable durable
	Space   Space

	// Mark returns the mark that [File.Break] leaves. It is set before the first read.
	Mark func(p any) Mark

	beginning sync.Mutex // held while a transaction begins

	failing sync.Once
	failure atomic.Pointer[error] // why the use of the file has ended; nil: it has not
	broken  chan struct{}         // closed: bbolt may have kept its locks
	breaks  sync.Once
	shut    atomic.Bool
}

// Open opens or creates the file at path. If the file is in use, of an unsupported format,
// damaged or truncated, the error names the next step; in the last two cases it wraps
// store.ErrDamaged.
func Open(path string, o Options) (*File, error) {
	var opened *os.File
	options := bolt.Options{
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode)
			opened = f
			return f, err
		},
		Timeout:         lockTimeout,
		FreelistType:    bolt.FreelistMapType,
		PreLoadFreelist: true,
		InitialMmapSize: o.InitialMmapSize,
	}
	if err := create(path, options, o.Create); err != nil {
		return nil, err
	}
	note, err := settle(path)
	if err != nil {
		return nil, err
	}
	if network := networkOf(path); network != "" {
		note = strings.TrimPrefix(fmt.Sprintf("%s\n%s is on a network file system (%s): a lock may not keep another server out, and synced data may be gone when the file server loses power; use a local disk", note, path, network), "\n")
	}
	file, err := openBolt(path, options)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, bolt: file, note: note, broken: make(chan struct{})}
	if err := f.init(o, opened); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// init makes an open file ready for use. opened is that of bbolt.
func (f *File) init(o Options, opened *os.File) (err error) {
	if f.opened, err = opened.Stat(); err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	f.itself = identityOf(opened, f.opened)
	metas, err := mapMetaPages(opened, f.bolt.Info().PageSize)
	if err != nil {
		return err
	}
	f.Space = Space{file: opened, metas: metas, ahead: max(o.Ahead, 0), inPlace: inPlace(opened)}
	if err := errors.Join(o.Prepare(f), syncFolders(f.path)); err != nil {
		return err
	}
	return f.bolt.View(func(tx *bolt.Tx) error {
		f.durable.reach(uint64(tx.ID())) // it was synced before the file was opened
		f.Space.begin(tx.Size())
		return nil
	})
}

// openBolt opens with bbolt, which panics on some damaged files. Unless o says how much address
// space to reserve, it reserves so much that the file is never mapped again.
func openBolt(path string, o bolt.Options) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, DamagedFile(path, p)
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
	}
	_, ofPath := errors.AsType[*fs.PathError](err)
	if _, ofSystem := errors.AsType[syscall.Errno](err); ofPath || ofSystem {
		return fmt.Errorf("open store %s: %w", path, err)
	}
	return DamagedFile(path, err) // bbolt has read it
}

// DamageError is the store.ErrDamaged of a file that is damaged, or in which a transaction met a bug
// of this program. Its text is a line that names the damage and the next step.
type DamageError struct{ damage, next string }

// Error returns the line.
func (e *DamageError) Error() string { return e.damage + ": " + e.next }

// Damage returns the line without the next step.
func (e *DamageError) Damage() string { return e.damage }

// Is reports that the error is store.ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == store.ErrDamaged }

// DamagedFile returns the *[DamageError] that refuses the file at path.
func DamagedFile(path string, why any) error { return damagedFile(path, why, time.Time{}) }

// damagedFile is DamagedFile with the moment of the newest backup; zero: none is known.
func damagedFile(path string, why any, backup time.Time) error {
	return &DamageError{fmt.Sprintf("%v: %s: %v", store.ErrDamaged, path, why), restoreText(path, backup)}
}

// restoreText names the commands that replace the file at path.
func restoreText(path string, backup time.Time) string {
	known := ""
	if !backup.IsZero() {
		known = fmt.Sprintf(" (the newest that the store knows of is of %s)", backup.Format(time.RFC3339))
	}
	return fmt.Sprintf("move the file away and restore a backup%s: a2a-server store restore BACKUP --data %s; without a backup, begin with an empty store: a2a-server serve --init", known, filepath.Dir(path))
}

// Path returns where the file is.
func (f *File) Path() string { return f.path }

// Bolt returns the file as bbolt has opened it.
func (f *File) Bolt() *bolt.DB { return f.bolt }

// Renumbers reports whether the file's system may number the same file differently at each start:
// it is on another machine.
func (f *File) Renumbers() bool { return networkOf(f.path) != "" }

// Identity returns which file of its disk it is; see [Copied].
func (f *File) Identity() []byte { return f.itself }

// Note returns facts about the opened file for the operator, a line each, or "".
func (f *File) Note() string { return f.note }

// Reach records that a transaction is durable.
func (f *File) Reach(txid uint64) { f.durable.reach(txid) }

// FreeBytes returns how many bytes of the file are in free pages.
func (f *File) FreeBytes() int64 {
	stats := f.bolt.Stats()
	return int64(stats.FreePageN+stats.PendingPageN) * int64(f.bolt.Info().PageSize)
}

// DiskFree returns how many bytes the disk of the file has free; known is false if the system does
// not say that.
func (f *File) DiskFree() (bytes uint64, known bool) {
	n, known := available(f.Space.file)
	return uint64(max(n, 0)), known
}

// Err returns nil while the file is used, and then why that has ended: [File.Failure], or
// store.ErrClosed after Shut.
func (f *File) Err() error {
	if why := f.Failure(); why != nil {
		return why
	}
	if f.shut.Load() {
		return store.ErrClosed
	}
	return nil
}

// Failure returns the store.ErrDamaged that has ended the use of the file; nil: it works, or is shut.
func (f *File) Failure() error {
	if why := f.failure.Load(); why != nil {
		return *why
	}
	return nil
}

// Fail ends the use of the file, because the outcome of a commit is unknown.
func (f *File) Fail(why any) error {
	return f.fail(func() error {
		return fmt.Errorf("%w: %s: a commit failed and its outcome is unknown: %v: restart the server, which reads the file again", store.ErrDamaged, f.path, why)
	})
}

// Break ends the use of the file after a panic in a transaction: a page is damaged, or the program
// has a bug. It leaves a mark beside the file, by which the next start finds out the cause. The error is a *[DamageError].
func (f *File) Break(p any) error {
	f.breaks.Do(func() { close(f.broken) })
	return f.fail(func() error {
		p = strings.ReplaceAll(fmt.Sprint(p), "\n", " ")
		mark := f.Mark(p)
		next := "start the server again, which checks all of the file first; if that refuses it, " + restoreText(f.path, mark.Backup)
		if err := mark.leave(f.path); err != nil && !isMarked(f.path) {
			next = fmt.Sprintf("the mark by which the next start checks it could not be left (%v): create the file %s, then start the server again; if that refuses it, %s", err, markPath(f.path), restoreText(f.path, mark.Backup))
		}
		return &DamageError{fmt.Sprintf("%v: %s: a transaction failed, so that the file is damaged or this program has a bug: %v", store.ErrDamaged, f.path, p), next}
	})
}

// fail ends the use of the file with the error that why returns. Only the first call counts.
func (f *File) fail(why func() error) error {
	f.failing.Do(func() {
		err := why()
		f.failure.Store(&err)
		f.durable.end()
	})
	return f.Failure()
}

// Broken returns a channel that is closed by [File.Break].
func (f *File) Broken() <-chan struct{} { return f.broken }

// Shut ends the use of the file, before it is closed. It reports false if that was done before.
func (f *File) Shut() bool { return !f.shut.Swap(true) }

// Close closes the file. After [File.Break] it does nothing: bbolt would wait for locks that it has
// kept, and the system closes the file when the process ends.
func (f *File) Close() error {
	select {
	case <-f.broken:
		return nil
	default:
	}
	if err := f.bolt.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}
