package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
			db, h := handled(boltstore.Open(path))
			defer db.Close()
			fill(t, h, anonymous, 3)
			need(move(path))
			create, _ := turn(anonymous)
			_, err := h.Append(context.Background(), create).Wait()
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
		db := must(bolt.Open(path, 0o600, nil))
		return errors.Join(db.Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucket([]byte("theirs"))
			return err
		}), db.Close())
	}
	without := func(bucket string) func(string) error {
		return func(path string) error {
			db := must(boltstore.Open(path))
			need(db.Close())
			file := must(bolt.Open(path, 0o600, nil))
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
			need(tc.make(path))
			before := must(os.Stat(path))
			refused(t, path, tc.says)
			if after, err := os.Stat(path); err != nil || after.Size() != before.Size() {
				t.Errorf("after Open() the file has %d bytes, %v; want %d", after.Size(), err, before.Size())
			}
		})
	}
}

// A file that is opened again, or was moved, is the same one. A copy of it is refused, with the
// command that makes a store of it.
func TestCopyIsAnotherFile(t *testing.T) {
	t.Parallel()
	path := sample(t)
	incarnation := func(path string) uint64 {
		t.Helper()
		db := must(boltstore.Open(path))
		defer db.Close()
		return db.Incarnation()
	}
	first := incarnation(path)
	if again := incarnation(path); again != first {
		t.Errorf("opened again it is %x, want %x", again, first)
	}
	moved := filepath.Join(filepath.Dir(path), "moved.db")
	need(os.Rename(path, moved))
	if again := incarnation(moved); again != first {
		t.Errorf("moved it is %x, want %x", again, first)
	}
	copied, data := filepath.Join(filepath.Dir(path), "copied.db"), must(os.ReadFile(moved))
	need(os.Remove(moved)) // its inode is free, and may be used again
	need(os.WriteFile(copied, data, 0o600))
	for range 2 {
		if db, err := boltstore.Open(copied); err == nil || !strings.Contains(err.Error(), "a2a-server store restore --unverified "+copied) {
			t.Errorf("Open() of a copy = %v, %v; want the command that restores it", db, err)
		}
	}
}

// An earlier version that is written over a store is refused, also when it is the same file and of
// the same start.
func TestEarlierVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := sample(t)
	earlier := must(os.ReadFile(path))
	db, h := handled(boltstore.Open(path))
	running := must(os.ReadFile(path))
	fill(t, h, anonymous, 1)
	need(db.Close())
	newest := must(os.ReadFile(path))
	for name, tc := range map[string]struct {
		file []byte
		says string
	}{
		"before a start": {earlier, "is an earlier version of the store: it was started 1 times since"},
		"of the start":   {running, "is an earlier version of the store: it lacks 2 commits"},
	} {
		need(os.WriteFile(path, tc.file, 0o600))
		if _, err := boltstore.Open(path); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: Open() of an earlier version = %v, want that it %s", name, err, tc.says)
		}
	}
	need(os.WriteFile(path, newest, 0o600))
	for range 2 { // a start without a commit
		need(must(boltstore.Open(path)).Close())
	}
	need(os.WriteFile(path, earlier, 0o600))
	var to bytes.Buffer
	must(boltstore.BackupPlain(t.Context(), path, &to, true))
	need(os.Remove(path))
	must(boltstore.Options{Ahead: -1}.Restore(t.Context(), &to, path, begins))
	need(must(boltstore.Open(path)).Close()) // it is another store
}

// A record beside the store that is damaged, too short or gone refuses nothing: a write that was torn
// leaves the record of the commit before.
func TestRecordOfCommitsIsDamaged(t *testing.T) {
	t.Parallel()
	path := sample(t)
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".epoch")
	whole := must(os.ReadFile(beside))
	for at := range whole {
		if at%512 < 64 || at%512 == 511 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 0xff
			need(os.WriteFile(beside, damaged, 0o600))
			need(must(boltstore.Open(path)).Close())
		}
	}
	for _, size := range []int{0, 1, 16, 40, 512, 513} {
		need(os.WriteFile(beside, whole[:size], 0o600))
		need(must(boltstore.Open(path)).Close())
	}

	// The newest commit is torn from its record: a version two commits older is still refused.
	earlier := must(os.ReadFile(path))
	db, h := handled(boltstore.Open(path))
	for range 3 {
		create, _ := turn(anonymous)
		commit(h, create)
	}
	need(db.Close())
	whole = must(os.ReadFile(beside))
	for slot := range 2 {
		damaged := bytes.Clone(whole)
		clear(damaged[512*slot : 512*slot+20])
		need(os.WriteFile(beside, damaged, 0o600))
		need(os.WriteFile(path, earlier, 0o600))
		if _, err := boltstore.Open(path); err == nil || !strings.Contains(err.Error(), "is an earlier version") {
			t.Errorf("Open() with the slot %d torn = %v, want that it is an earlier version", slot, err)
		}
	}
}

// A start as root leaves a record that the server's own user can write: that of the owner of the folder.
func TestRecordBelongsToTheOwner(t *testing.T) {
	t.Parallel()
	path := sample(t)
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".epoch")
	owner := os.Getuid()
	if owner == 0 {
		owner = 65534 // only root makes files of others
		need(os.Chown(filepath.Dir(path), owner, owner))
	}
	need(os.Remove(beside))
	need(must(boltstore.Open(path)).Close())
	if stat, ok := must(os.Stat(beside)).Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != owner {
		t.Errorf("the record is %+v, want one of user %d", stat, owner)
	}
}

// A released store moves once: a copy of it continues, it does not itself, and neither does the
// released file in the place of the copy that was used.
func TestReleasedStoreMoves(t *testing.T) {
	t.Parallel()
	path := sample(t)
	before := must(os.ReadFile(path))
	db := must(boltstore.Open(path))
	incarnation := db.Incarnation()
	if err := boltstore.Release(path); !errors.Is(err, boltstore.ErrInUse) {
		t.Errorf("Release() of a store in use = %v, want ErrInUse", err)
	}
	need(db.Close())
	need(boltstore.Release(path))
	refuses := func(path, says string) {
		t.Helper()
		if _, err := boltstore.Open(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Open() = %v, want that it %s", err, says)
		}
	}
	refuses(path, "was released to be moved")
	if err := boltstore.Release(path); err == nil || !strings.Contains(err.Error(), "was released to be moved") {
		t.Errorf("Release() again = %v, want that it was released", err)
	}
	released := must(os.ReadFile(path))
	need(os.WriteFile(path, before, 0o600))
	refuses(path, "is an earlier version")
	need(os.WriteFile(path, released, 0o600))

	moved := filepath.Join(t.TempDir(), "store.db")
	need(os.WriteFile(moved, before, 0o600))
	refuses(moved, "a2a-server store release --data")
	need(os.WriteFile(moved, released, 0o600))
	db, h := handled(boltstore.Open(moved))
	if db.Incarnation() != incarnation {
		t.Error("the copy has another incarnation")
	}
	fill(t, h, anonymous, 1)
	need(db.Close())
	need(must(boltstore.Open(moved)).Close())
	used := must(os.ReadFile(moved))
	need(os.WriteFile(path, used, 0o600))
	refuses(path, "is a copy of another file")
	need(os.WriteFile(moved, released, 0o600))
	refuses(moved, "is an earlier version")

	need(os.WriteFile(moved, used, 0o600))
	need(boltstore.Release(moved))
	need(os.WriteFile(path, must(os.ReadFile(moved)), 0o600))
	need(must(boltstore.Open(path)).Close()) // it is back
	need(os.Remove(path))
	if err := boltstore.Release(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Release() without a store = %v, want ErrNotExist", err)
	}
}

// A disk that got another number when the system started again has the same files; streams begin
// again, because it may also be an earlier state of the disk.
func TestDiskIsRenumbered(t *testing.T) {
	t.Parallel()
	path := sample(t)
	db := must(boltstore.Open(path))
	first := db.Incarnation()
	need(db.Close())
	file := must(bolt.Open(path, 0o600, nil))
	need(file.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		identity := bytes.Clone(meta.Get([]byte("file")))
		identity[7]++
		return meta.Put([]byte("file"), identity)
	}))
	need(file.Close())
	db = must(boltstore.Open(path))
	if again := db.Incarnation(); again == first {
		t.Errorf("the incarnation is still %x", again)
	}
	need(db.Close())
}

// No part of a new file is ever at its path: it gets there whole. Beside it is only the number of its
// newest start.
func TestNewFileLeavesNothingBeside(t *testing.T) {
	t.Parallel()
	path := sample(t)
	entries := must(os.ReadDir(filepath.Dir(path)))
	if len(entries) != 2 || entries[0].Name() != ".store.db.epoch" || entries[1].Name() != filepath.Base(path) {
		t.Errorf("the folder holds %v, want the store and its epoch", entries)
	}
}

// A meta page that is not valid is said, because something newer may have been lost; a
// file that is sound says nothing.
func TestNote(t *testing.T) {
	t.Parallel()
	path := sample(t)
	note := func() string {
		t.Helper()
		db := must(boltstore.Open(path))
		defer db.Close()
		return db.Note()
	}
	if said := note(); said != "" {
		t.Errorf("Note() = %q of a sound file", said)
	}
	f := must(os.OpenFile(path, os.O_RDWR, 0))
	pages := make([]byte, 2*os.Getpagesize())
	must(f.ReadAt(pages, 0))
	meta, page := newestMeta(pages)
	must(f.WriteAt([]byte{^meta[40]}, int64(page*os.Getpagesize()+16+40)))
	need(f.Close())
	if _, err := boltstore.Open(path); err == nil || !strings.Contains(err.Error(), "it lacks 1 commits") {
		t.Errorf("Open() without an acknowledged commit = %v, want that the commit is missing", err)
	}
	older(path)
	if said := note(); !strings.Contains(said, "not valid") || !strings.Contains(said, path) {
		t.Errorf("Note() = %q of a file whose newest meta page is damaged", said)
	}
}
