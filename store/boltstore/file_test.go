package boltstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// A file that was removed, renamed or replaced while it is open is not written to as if
// nothing had happened: nobody is told that what they wrote is safe.
func TestFileIsNotThereAnyMore(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(path string) error{
		"removed": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			db, err := boltstore.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			h, err := db.Handle()
			if err != nil {
				t.Fatal(err)
			}
			fill(t, h, store.Owner("", "anonymous"), 3)
			if err := move(path); err != nil {
				t.Fatal(err)
			}
			create, _ := turn(store.Owner("", "anonymous"))
			_, err = h.Append(context.Background(), create).Wait()
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("Append() = %v, want ErrDamaged that names the file", err)
			}
			if err := db.Err(); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Err() = %v, want ErrDamaged: the process has to end", err)
			}
			if _, err := h.Read(context.Background(), store.System(), create.Task, store.After(0), store.Limit{}); err == nil {
				t.Error("what was not acknowledged is shown")
			}
		})
	}
}

// What is at the path and is no store is refused, and left as it is.
func TestOpenRefusesWhatIsNoStore(t *testing.T) {
	t.Parallel()
	foreign := func(path string) error {
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			return err
		}
		return errors.Join(db.Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucket([]byte("theirs"))
			return err
		}), db.Close())
	}
	without := func(bucket string) func(string) error {
		return func(path string) error {
			db, err := boltstore.Open(path)
			if err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
			file, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				return err
			}
			return errors.Join(file.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(bucket)) }), file.Close())
		}
	}
	for name, tc := range map[string]struct {
		make func(path string) error
		says string
	}{
		"empty":             {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "is empty"},
		"of another use":    {foreign, "no bucket meta"},
		"without its meta":  {without("meta"), "no bucket meta"},
		"without its tasks": {without("task"), "no bucket task"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			if err := tc.make(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			db, err := boltstore.Open(path)
			if err == nil {
				_ = db.Close()
				t.Fatal("Open() = nil, want an error")
			}
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Open() = %v, want ErrDamaged with the path and %q", err, tc.says)
			}
			if after, err := os.Stat(path); err != nil || after.Size() != before.Size() {
				t.Errorf("after Open() the file has %d bytes, %v; want %d", after.Size(), err, before.Size())
			}
		})
	}
}

// A file that is a copy of another one gets an incarnation of its own; one that is
// opened again, or was moved, keeps it.
func TestCopyIsAnotherFile(t *testing.T) {
	t.Parallel()
	path := sample(t)
	incarnation := func(path string) uint64 {
		t.Helper()
		db, err := boltstore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return db.Incarnation()
	}
	first := incarnation(path)
	if again := incarnation(path); again != first {
		t.Errorf("opened again it is %x, want %x", again, first)
	}
	moved := filepath.Join(filepath.Dir(path), "moved.db")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if again := incarnation(moved); again != first {
		t.Errorf("moved it is %x, want %x", again, first)
	}
	data, err := os.ReadFile(moved)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(path), "copied.db")
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	other := incarnation(copied)
	if other == first {
		t.Errorf("the copy is %x, as the original", other)
	}
	if again := incarnation(copied); again != other {
		t.Errorf("the copy opened again is %x, want %x", again, other)
	}
}

// No part of a new file is ever at its path: it gets there whole.
func TestNewFileLeavesNothingBeside(t *testing.T) {
	t.Parallel()
	path := sample(t)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, want the store alone", entries)
	}
}

// A meta page that is not valid is said, because something newer may have been lost; a
// file that is sound says nothing.
func TestNote(t *testing.T) {
	t.Parallel()
	path := sample(t)
	note := func() string {
		t.Helper()
		db, err := boltstore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		return db.Note()
	}
	if said := note(); said != "" {
		t.Errorf("Note() = %q of a sound file", said)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	pages := make([]byte, 2*os.Getpagesize())
	if _, err := f.ReadAt(pages, 0); err != nil {
		t.Fatal(err)
	}
	const tx = 16 + 48 // of a meta page
	newest := 0
	if second := pages[os.Getpagesize():]; binary.NativeEndian.Uint64(second[tx:]) > binary.NativeEndian.Uint64(pages[tx:]) {
		newest = os.Getpagesize()
	}
	if _, err := f.WriteAt([]byte{^pages[newest+tx-8]}, int64(newest+tx-8)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if said := note(); !strings.Contains(said, "not valid") || !strings.Contains(said, path) {
		t.Errorf("Note() = %q of a file whose newest meta page is damaged", said)
	}
}
