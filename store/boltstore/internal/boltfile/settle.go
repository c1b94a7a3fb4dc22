package boltfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// settle refuses a file that is empty, or shorter than its pages need. It writes the newest
// valid meta page again and syncs it, before bbolt opens the file. If the sync of its commit failed, the page is in the cache and not on the disk.
// bbolt would build on it, and a loss of power would bring back the older page, which by then
// points at overwritten pages.
//
// note tells the operator that the other meta page is not valid, so that newer commits may
// have been lost. settle holds the file's lock while it runs.
func settle(path string) (note string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("open store: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := lock(f, path); err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("open store: %w", err)
	}
	if info.Size() == 0 {
		return "", DamagedFile(path, "it is empty, which a store never is")
	}
	size := pageSize(f)
	pages := make([]byte, 2*size)
	if _, err := f.ReadAt(pages, 0); err != nil {
		return "", nil // it is too short for bbolt, which says so
	}
	at, newest, other := newestMeta(pages)
	if !newest.valid {
		return "", nil // bbolt refuses it
	}
	if err := newest.fits(info.Size(), size); err != nil {
		return "", DamagedFile(path, err)
	}
	if _, err := f.WriteAt(pages[int64(at)*size:][:size], int64(at)*size); err != nil {
		return "", fmt.Errorf("write the newest meta page of %s again: %w: %w", path, store.ErrUnavailable, err)
	}
	if err := f.Sync(); err != nil {
		return "", fmt.Errorf("sync the newest meta page of %s: %w: %w", path, store.ErrUnavailable, err)
	}
	if !other.valid {
		note = fmt.Sprintf("one of the two meta pages of %s is not valid: the file is used as transaction %d has left it; newer commits, if any, are lost", path, newest.tx)
	}
	return note, nil
}

// fits returns an error if a file of so many bytes lacks pages, past whose end bbolt would read.
func (m *meta) fits(size, page int64) error {
	if need := int64(m.high) * page; need < 0 || size < need {
		return fmt.Errorf("it has %d bytes and needs %d pages of %d", size, m.high, page)
	}
	return nil
}

// OpenPlain runs fn with the file at path, which is opened for reading only, and a transaction.
func OpenPlain(path string, fn func(file *File, tx *bolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = DamagedFile(path, p)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := pageSize(f)
	pages := make([]byte, 2*size)
	if _, err := f.ReadAt(pages, 0); err != nil {
		return DamagedFile(path, "it is too short to be a store")
	}
	_, newest, _ := newestMeta(pages)
	if !newest.valid {
		return DamagedFile(path, "it does not begin as a store does")
	}
	if err := newest.fits(info.Size(), size); err != nil {
		return DamagedFile(path, err)
	}
	file, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return openError(path, err)
	}
	defer func() { _ = file.Close() }()
	return file.View(func(tx *bolt.Tx) error { return fn(&File{path: path, bolt: file, itself: identityOf(f, info)}, tx) })
}

// pageSize returns the page size of a file, which the machine that created it has chosen. It
// reads the first meta page, or else searches for the second.
func pageSize(f io.ReaderAt) int64 {
	page := make([]byte, metaAt+metaSize)
	for at := int64(0); at <= 16<<20; at = max(1<<10, 2*at) {
		if _, err := f.ReadAt(page, at); err != nil {
			break
		}
		if m := readMeta(page); m.valid {
			return m.pageSize
		}
	}
	return int64(os.Getpagesize())
}

// lockTimeout is how long another process may take to release a file.
const lockTimeout = time.Second

// lock takes the lock that bbolt takes. Closing f releases it.
func lock(f *os.File, path string) error {
	for until := time.Now().Add(lockTimeout); ; time.Sleep(10 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("lock %s: %w", path, err)
		case time.Now().After(until):
			return inUse(path)
		}
	}
}

// ErrInUse says that another process has a file open.
var ErrInUse = errors.New("is in use by another process")

func inUse(path string) error {
	return fmt.Errorf("store %s %w: stop it, or choose another data folder", path, ErrInUse)
}
