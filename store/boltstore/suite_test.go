package boltstore_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"a2a-server/store"
	"a2a-server/store/boltstore"
	"a2a-server/store/storetest"
)

// backend is a file under test.
type backend struct {
	path string
	opts boltstore.Options
	db   *boltstore.DB
}

func (b *backend) open() (err error) {
	if b.db, err = b.opts.Open(b.path); err == nil && b.db.Note() != "" {
		err = errors.New(b.db.Note())
	}
	return err
}

func (b *backend) Handle() (store.Handle, error) { return b.db.Handle() }

// Rebuild empties the derived buckets, which a file says that was restored.
func (b *backend) Rebuild() error {
	if err := b.Close(); err != nil {
		return err
	}
	file := must(bolt.Open(b.path, 0o600, nil))
	if err := errors.Join(file.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"live", "list", "list.ctx", "rowidx"} {
			need(tx.DeleteBucket([]byte(name)))
			must(tx.CreateBucket([]byte(name)))
		}
		return tx.Bucket([]byte("meta")).Put([]byte("rebuild"), []byte{1})
	}), file.Close()); err != nil {
		return err
	}
	return b.open()
}

// Close also has bbolt check the file.
func (b *backend) Close() error { return errors.Join(b.db.Close(), boltCheck(b.path)) }

func (b *backend) Reopen() error {
	if err := b.Close(); err != nil {
		return err
	}
	return b.open()
}

func suite(t *testing.T, opts boltstore.Options, page int) {
	storetest.Run(t, func(t *testing.T) storetest.Backend {
		b := &backend{path: filepath.Join(inMemory(t), "store.db"), opts: opts}
		if page > 0 {
			emptyWithPages(t, b.path, page)
		}
		need(b.open())
		return b
	})
}

// inMemory returns a folder in memory, where there is enough: what a test shows there needs no
// disk, which would make it wait.
func inMemory(t *testing.T) string {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &s); err != nil || int64(s.Bavail)*int64(s.Bsize) < 2<<30 { //nolint:unconvert // its type differs between machines
		return t.TempDir()
	}
	folder := must(os.MkdirTemp("/dev/shm", "boltstore-")) //nolint:usetesting // that of a test is on the disk
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// emptyWithPages makes an empty store with pages of another size than the system's.
func emptyWithPages(t *testing.T, path string, size int) {
	t.Helper()
	whole := filepath.Join(t.TempDir(), "whole.db")
	need(must(boltstore.Options{Ahead: -1}.Open(whole)).Close())
	from, to := must(bolt.Open(whole, 0o600, &bolt.Options{ReadOnly: true})), must(bolt.Open(path, 0o600, &bolt.Options{PageSize: size}))
	need(errors.Join(bolt.Compact(to, from, 1<<20), to.Close(), from.Close()))
	forget(path)
}

func TestSuite(t *testing.T) {
	t.Parallel()
	suite(t, boltstore.Options{Ahead: 1 << 20}, 0) // hundreds of them are open at once
}

// A file that outgrows its map again and again, tails that hold next to nothing, and pages
// that hold little, so that there are many levels of them, must make no difference.
func TestSuiteSmall(t *testing.T) {
	t.Parallel()
	suite(t, boltstore.Options{Ahead: -1}.WithMap(64<<10).WithTails(4<<10), 1024)
}

// noise returns bytes that cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says crypto/rand
	return b
}

// must, and check, panic with what the preparation of a test failed with.
func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}

// handled returns an open store with a handle on it.
func handled(db *boltstore.DB, err error) (*boltstore.DB, store.Handle) {
	need(err)
	return db, must(db.Handle())
}

// refuses appends a batch that must fail.
func refuses(t *testing.T, h store.Handle, b *store.Batch, want error) {
	t.Helper()
	if _, err := h.Append(t.Context(), b).Wait(); !errors.Is(err, want) {
		t.Errorf("Append() = %v, want %v", err, want)
	}
}

// unreadable reads a task that must fail.
func unreadable(t *testing.T, h store.Handle, s store.Scope, id store.TaskID, want error) {
	t.Helper()
	if _, err := h.Read(t.Context(), s, id, store.After(0), store.Limit{}); !errors.Is(err, want) {
		t.Errorf("Read() = %v, want %v", err, want)
	}
}

// commit appends batches one after the other, which must succeed.
func commit(h store.Handle, batches ...*store.Batch) {
	for _, b := range batches {
		must(h.Append(context.Background(), b).Wait())
	}
}

func waitAll(commits []*store.Commit) {
	for _, c := range commits {
		must(c.Wait())
	}
}

// refused opens a file that must be refused as damaged, with an error that says all of this.
func refused(t *testing.T, path string, says ...string) {
	t.Helper()
	db, err := boltstore.Open(path)
	if err == nil {
		_ = db.Close()
	}
	for _, part := range append(says, path, "restore a backup") {
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), part) {
			t.Errorf("Open() = %v, want ErrDamaged and %q", err, part)
		}
	}
}

// mark leaves the mark of a failed process beside a store, without what it would say.
func mark(path string) { need(os.WriteFile(markOf(path), nil, 0o600)) }

func markOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".failed")
}

// isMarked reports whether a process has left its mark beside a store.
func isMarked(path string) bool {
	_, err := os.Stat(markOf(path))
	return err == nil
}

// afterEnd returns the path of what the end of the process leaves of a store that has failed: this
// process goes on, and keeps the lock of the file. The copy says that it is the file.
func afterEnd(t *testing.T, path string) string {
	t.Helper()
	left := filepath.Join(t.TempDir(), "store.db")
	file := must(os.ReadFile(path))
	need(os.WriteFile(left, nil, 0o600))
	need(os.WriteFile(left, bytes.ReplaceAll(file, identity(path), identity(left)), 0o600))
	need(os.WriteFile(markOf(left), must(os.ReadFile(markOf(path))), 0o600))
	need(os.WriteFile(recordsOf(left), must(os.ReadFile(recordsOf(path))), 0o600))
	return left
}

// newestMeta returns the newest meta data of a file, and the number of its page.
func newestMeta(file []byte) (meta []byte, page int) {
	first, second := file[16:], file[os.Getpagesize()+16:]
	if order.Uint64(second[48:]) > order.Uint64(first[48:]) {
		return second, 1
	}
	return first, 0
}

// identity is how the store writes down which file of its disk it is in.
func identity(path string) []byte {
	var stat syscall.Stat_t
	need(syscall.Stat(path, &stat))
	var made unix.Statx_t
	need(unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BTIME, &made))
	id := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, stat.Dev), stat.Ino)
	return binary.BigEndian.AppendUint64(id, uint64(made.Btime.Sec)*1e9+uint64(made.Btime.Nsec))
}

// older lets a test put an earlier version of a file in its place.
func older(path string) {
	if err := os.Remove(recordsOf(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
}

// forget removes from a file which file it is, so that tests may write copies of it.
func forget(path string) {
	file := must(bolt.Open(path, 0o600, nil))
	need(errors.Join(file.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Delete([]byte("file")) }), file.Close()))
}

// boltCheck has bbolt check a file.
func boltCheck(path string) error {
	file, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		return err
	}
	err = file.View(func(tx *bolt.Tx) (err error) {
		for e := range tx.Check() {
			err = errors.Join(err, e)
		}
		return err
	})
	return errors.Join(err, file.Close())
}

var anonymous = store.Owner("", "anonymous")
