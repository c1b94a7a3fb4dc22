// Package boltfile is an open bbolt file and its pages. It opens the file so that nothing is
// lost, tells whether it can still be written, and reads its pages itself: bbolt trusts its pages,
// and an [Image] checks each page that it uses. It does not know what the buckets hold.
//
// A [File] is written by one goroutine, with transactions from [File.Tx] whose buckets are
// [Changing], and read by any number, with [File.View]. It ends in one of two ways:
// [File.SetReadOnly] after damage, when no commit is possible and reads go on, and [File.Fail]
// when the outcome of a commit is unknown.
package boltfile

import (
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

// Options say how a file is opened.
type Options struct {
	// InitialMmapSize is the address space reserved at open, in bytes. Defaults to four times
	// the file size, at least 64 GiB, unless the process is not allowed that much.
	InitialMmapSize int

	LockTimeout time.Duration // how long to wait for another process to release the file
	Ahead       int64         // disk space that is allocated before it is needed, in bytes; negative: none

	Create  func(*bolt.Tx) error // fills a new file
	Prepare func(*File) error    // checks the open file, and records which file it is
}

// File is an open file. It is safe for concurrent use.
type File struct {
	path   string
	bolt   *bolt.DB
	opened os.FileInfo // of the file when it was opened
	itself []byte      // which file it is
	Metas  *Metas
	note   string

	durable durable
	Space   Space

	// OnDamage is set before the first read: it may return the error of a read that met damage
	// with this panic. Nil: the error is store.ErrDataLoss.
	OnDamage func(p any) error

	beginning sync.Mutex // held while a transaction begins

	mu       sync.Mutex
	damaged  error
	readOnly error
	locked   bool // bbolt's lock is lost
	stuck    bool // so are the pages that every transaction begins with
	shut     bool
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
		Timeout:         o.LockTimeout,
		FreelistType:    bolt.FreelistMapType,
		PreLoadFreelist: true,
		InitialMmapSize: o.InitialMmapSize,
	}
	if err := create(path, options, o.Create); err != nil {
		return nil, err
	}
	note, err := settle(path, o.LockTimeout)
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
	f := &File{path: path, bolt: file, note: note}
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
	if f.Metas, err = MapMetas(opened, f.bolt.Info().PageSize); err != nil {
		return err
	}
	f.Space = Space{file: opened, metas: f.Metas, ahead: max(o.Ahead, 0), inPlace: inPlace(opened)}
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
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return DamagedFile(path, err)
	default:
		return fmt.Errorf("open store %s: %w", path, err)
	}
}

// DamagedFile returns the store.ErrDamaged of a file, with the reason and the next step.
func DamagedFile(path string, why any) error {
	return fmt.Errorf("%w: %s: %v: restore a backup of the file, or move it away and start with an empty store: a2a-server serve --init", store.ErrDamaged, path, why)
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

// Err returns nil while the store works, and then why it has ended: store.ErrDamaged when
// the outcome of a commit is unknown, store.ErrClosed after Close.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.damaged != nil:
		return f.damaged
	case f.shut:
		return store.ErrClosed
	default:
		return nil
	}
}

// Fail closes the store for writing: the outcome of a commit is unknown.
// locked says that bbolt still holds its lock, so that the file cannot be closed.
func (f *File) Fail(why any, locked bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked = f.locked || locked
	defer f.durable.end()
	if f.damaged == nil {
		f.damaged = fmt.Errorf("%w: %s: a commit failed and its outcome is unknown: %v: restart the server, which reads the file again", store.ErrDamaged, f.path, why)
	}
	return f.damaged
}

// Shut ends the use of the file, before it is closed. It reports false if that was done before.
func (f *File) Shut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.shut
	f.shut = true
	return !was
}

// Close closes the file, unless bbolt holds a lock that it will not give back.
func (f *File) Close() error {
	f.mu.Lock()
	locked := f.locked
	f.mu.Unlock()
	if locked {
		return fmt.Errorf("close store: %w", f.Refusal())
	}
	if err := f.bolt.Close(); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// SetReadOnly makes the store read-only, because the writer has found damage: its next write would
// depend on pages that cannot be trusted. Nothing of its round was written. locked says
// that bbolt still holds its lock, so that the file cannot be closed.
func (f *File) SetReadOnly(damage any, locked bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locked = f.locked || locked
	if f.readOnly == nil {
		f.readOnly = fmt.Errorf("%w: a part of %s is damaged: it is read-only now, and its readable data is still served: stop the server and restore a backup of the file (%v)", store.ErrReadOnly, f.path, damage)
	}
	return f.readOnly
}

// Refusal returns why the store no longer writes, nil while it writes or is closed.
func (f *File) Refusal() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damaged != nil {
		return f.damaged
	}
	return f.readOnly
}
