package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
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
		if _, err := boltstore.BackupPlain(t.Context(), path, io.Discard, false); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: BackupPlain() of an earlier version = %v, want that it %s", name, err, tc.says)
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

// recordsOf returns the path of the file that records the newest commit of a store.
func recordsOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".epoch")
}

// commitOnce opens a store, commits to it and closes it.
func commitOnce(t *testing.T, path string) (incarnation uint64) {
	t.Helper()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	fill(t, h, anonymous, 1)
	need(db.Close())
	return db.Incarnation()
}

// opens opens a store and closes it again. The error says that, or is nil if says is "".
func opens(t *testing.T, path, says string) {
	t.Helper()
	db, err := boltstore.Options{Ahead: -1}.Open(path)
	if err == nil {
		need(db.Close())
	}
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("Open() = %v, want an error that says %q", err, says)
	}
}

// The table of what is served: which file it is, whether it was released, and what is recorded beside
// it. In the place of a store that was served no earlier version is, also when its device was numbered
// again meanwhile.
func TestVersionsOfAStore(t *testing.T) {
	t.Parallel()
	const (
		served    = ""
		earlier   = "is an earlier version of the store"
		copied    = "is a copy of another file"
		givenAway = "was released to be moved"
		unknown   = "cannot be read"
	)
	path := sample(t)
	itself := identity(path)
	other := func(at int) []byte {
		id := bytes.Clone(itself)
		id[at]++
		return id
	}
	renumbered, elsewhere := other(7), other(15)
	type version struct{ file, record []byte }
	read := func() version { return version{must(os.ReadFile(path)), must(os.ReadFile(recordsOf(path)))} }
	old := read()
	incarnation := commitOnce(t, path)
	newest := read()
	need(boltstore.Release(path))
	released := read()
	moved := filepath.Join(t.TempDir(), "store.db")
	need(os.WriteFile(moved, released.file, 0o600))
	commitOnce(t, moved)
	later := must(os.ReadFile(recordsOf(moved)))
	foreign := must(os.ReadFile(recordsOf(sample(t))))
	for name, tc := range map[string]struct {
		file, was                                       []byte
		equal, lower, none, foreign, higher, unreadable string
	}{
		"same":                 {newest.file, itself, served, served, served, served, earlier, unknown},
		"renumbered":           {newest.file, renumbered, served, served, served, served, earlier, unknown},
		"copied":               {newest.file, elsewhere, copied, copied, copied, copied, copied, copied},
		"released, same":       {released.file, itself, givenAway, givenAway, givenAway, givenAway, givenAway, givenAway},
		"released, renumbered": {released.file, renumbered, givenAway, givenAway, givenAway, givenAway, givenAway, givenAway},
		"released, copied":     {released.file, elsewhere, served, served, served, served, earlier, unknown},
	} {
		equal, lower, higher := version{tc.file, newest.record}, version{tc.file, old.record}, version{old.file, newest.record}
		if bytes.Equal(tc.file, released.file) {
			equal, lower, higher = released, version{tc.file, newest.record}, version{tc.file, later}
		}
		for record, c := range map[string]struct {
			version
			says string
		}{
			"equal": {equal, tc.equal}, "lower": {lower, tc.lower}, "none": {version{tc.file, nil}, tc.none},
			"of another incarnation": {version{tc.file, foreign}, tc.foreign}, "higher": {higher, tc.higher},
			"unreadable": {version{tc.file, []byte("of another program")}, tc.unreadable},
		} {
			file := bytes.ReplaceAll(c.file, itself, tc.was)
			need(os.WriteFile(path, file, 0o600))
			if older(path); c.record != nil {
				need(os.WriteFile(recordsOf(path), c.record, 0o600))
			}
			if opens(t, path, c.says); c.says != served {
				if left, _ := os.ReadFile(recordsOf(path)); !bytes.Equal(left, c.record) {
					t.Errorf("%s, record %s: the refused store has another record", name, record)
				}
				continue
			}
			for range 2 { // the device is numbered again
				if now := commitOnce(t, path); now != incarnation {
					t.Errorf("%s, record %s: the incarnation is %x, want %x", name, record, now, incarnation)
				}
				need(os.WriteFile(path, bytes.ReplaceAll(must(os.ReadFile(path)), itself, renumbered), 0o600))
			}
			need(os.WriteFile(path, file, 0o600))
			opens(t, path, earlier)
			if t.Failed() {
				t.Fatalf("%s, record %s", name, record)
			}
		}
	}
}

// A store that is opened by a symbolic link has its record beside the file.
func TestRecordIsBesideTheFile(t *testing.T) {
	t.Parallel()
	path := sample(t)
	earlier := must(os.ReadFile(path))
	link := filepath.Join(t.TempDir(), "link.db")
	need(os.Symlink(path, link))
	commitOnce(t, link)
	need(os.WriteFile(path, earlier, 0o600))
	for _, name := range []string{path, link} {
		opens(t, name, "is an earlier version of the store")
	}
	if _, err := os.Lstat(recordsOf(link)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("beside the link is a record (%v)", err)
	}
}

// A damaged record refuses nothing while the other is valid: a write that was torn leaves the record of
// the commit before. Without a valid record the store is refused, and the file stays as it is.
func TestRecordOfCommitsIsDamaged(t *testing.T) {
	t.Parallel()
	path := sample(t)
	earlier := must(os.ReadFile(path))
	commitOnce(t, path)
	beside, newest := recordsOf(path), must(os.ReadFile(path))
	whole := must(os.ReadFile(beside))
	for at := range whole {
		if at%512 < 64 || at%512 == 511 {
			damaged := bytes.Clone(whole)
			damaged[at] ^= 0xff
			need(os.WriteFile(beside, damaged, 0o600))
			opens(t, path, "")
		}
	}
	zeros := make([]byte, len(whole))
	for name, tc := range map[string]struct {
		record []byte
		says   string
	}{
		"empty":                   {nil, ""},
		"zeros":                   {zeros, ""},
		"cut while it was made":   {zeros[:16], ""},
		"torn first":              {append(bytes.Clone(whole[:20]), zeros[20:]...), ""},
		"cut in the first record": {whole[:16], beside + ", which records"},
		"of another program":      {bytes.Repeat([]byte("other "), 200), "If " + path + " is as the server left it, remove " + beside},
	} {
		need(os.WriteFile(beside, tc.record, 0o600))
		if opens(t, path, tc.says); tc.says != "" && !bytes.Equal(must(os.ReadFile(beside)), tc.record) {
			t.Errorf("%s: the file was changed", name)
		}
	}

	// The newest commit is torn from its record, or the file has another length: it is left as it is, and a
	// version two commits older is still refused.
	for name, damaged := range map[string][]byte{
		"first torn":    append(make([]byte, 20), whole[20:]...),
		"second torn":   append(append(bytes.Clone(whole[:512]), zeros[:20]...), whole[532:]...),
		"first alone":   whole[:512],
		"cut in second": whole[:530],
		"longer":        append(bytes.Clone(whole), 0),
	} {
		need(os.WriteFile(beside, damaged, 0o600))
		need(os.WriteFile(path, newest, 0o600))
		opens(t, path, "") // without a commit
		need(os.WriteFile(path, earlier, 0o600))
		if opens(t, path, "is an earlier version of the store"); t.Failed() {
			t.Fatal(name)
		}
	}
}

// A start as root leaves a record that the server's own user can write: that of the owner of the folder.
func TestRecordBelongsToTheOwner(t *testing.T) {
	t.Parallel()
	path := sample(t)
	beside := recordsOf(path)
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
