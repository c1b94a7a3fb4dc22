package boltstore_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store/boltstore"
)

func besideOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".epoch")
}

// changeFile changes the identity that a store has in its meta data.
func changeIdentity(path string, change func(identity []byte)) {
	file := must(bolt.Open(path, 0o600, nil))
	need(file.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		identity := bytes.Clone(meta.Get([]byte("file")))
		change(identity)
		return meta.Put([]byte("file"), identity)
	}))
	need(file.Close())
}

func strangerRefused(t *testing.T, path, what string) {
	t.Helper()
	if db, err := boltstore.Open(path); err == nil {
		t.Errorf("%s: Open() = nil, want that it is refused", what)
		need(db.Close())
	} else {
		t.Logf("%s: %v", what, err)
	}
}

// An earlier version from before the disk got another number is refused, too: the store ran since, and
// the records are beside it.
func TestStrangerEarlierVersionOfARenumberedDisk(t *testing.T) {
	path := sample(t)
	changeIdentity(path, func(identity []byte) { identity[7]++ }) // as it was before the system started again
	earlier := must(os.ReadFile(path))
	db, h := handled(boltstore.Open(path))
	fill(t, h, anonymous, 5)
	need(db.Close())
	need(os.WriteFile(path, earlier, 0o600))
	strangerRefused(t, path, "an earlier version, of before the disk was renumbered")
}

// The same, with a single commit since.
func TestStrangerEarlierVersionOfARenumberedDiskOneCommit(t *testing.T) {
	path := sample(t)
	changeIdentity(path, func(identity []byte) { identity[7]++ })
	earlier := must(os.ReadFile(path))
	db, _ := handled(boltstore.Open(path)) // the start alone is a commit
	need(db.Close())
	need(os.WriteFile(path, earlier, 0o600))
	strangerRefused(t, path, "an earlier version, of before the disk was renumbered")
}

// An old binary has recorded epoch 99 of the store: the program before refuses an earlier version of it.
func TestStrangerOldRecordOfEpochs(t *testing.T) {
	path := sample(t)
	db := must(boltstore.Open(path))
	incarnation := db.Incarnation()
	need(db.Close())
	need(os.WriteFile(besideOf(path), binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, incarnation), 99), 0o600))
	strangerRefused(t, path, "an earlier version beside the record of an old binary")
}

// The file beside cannot be written: the operator is told.
func TestStrangerRecordsCannotBeWritten(t *testing.T) {
	for name, spoil := range map[string]func(beside string) error{
		"a folder":         func(beside string) error { return os.MkdirAll(filepath.Join(beside, "x"), 0o700) },
		"a dangling link":  func(beside string) error { return os.Symlink("/nowhere/at/all", beside) },
		"a device, silent": func(beside string) error { return os.Symlink("/dev/null", beside) },
	} {
		path := sample(t)
		need(os.RemoveAll(besideOf(path)))
		need(spoil(besideOf(path)))
		db, h := handled(boltstore.Open(path))
		fill(t, h, anonymous, 1)
		if note := db.Note(); !strings.Contains(note, "commits are not recorded") {
			t.Errorf("%s: Note() = %q, want that commits are not recorded", name, note)
		}
		need(db.Close())
	}
}

// A record is of another length: an open without a commit must not lose a valid slot.
func TestStrangerRecordOfAnotherLength(t *testing.T) {
	path := sample(t)
	earlier := must(os.ReadFile(path))
	db, h := handled(boltstore.Open(path))
	fill(t, h, anonymous, 3)
	need(db.Close())
	newest := must(os.ReadFile(path))
	whole := must(os.ReadFile(besideOf(path)))
	need(os.WriteFile(besideOf(path), append(bytes.Clone(whole), 0), 0o600)) // longer: both slots are valid
	need(os.WriteFile(path, earlier, 0o600))
	strangerRefused(t, path, "an earlier version beside a long record")
	need(os.WriteFile(path, newest, 0o600))
	need(must(boltstore.Open(path)).Close()) // without a commit
	need(os.WriteFile(path, earlier, 0o600))
	strangerRefused(t, path, "an earlier version after an open without a commit")
}

// A store is opened by two names of its folder and file; the record is of the file.
func TestStrangerOtherNames(t *testing.T) {
	for name, link := range map[string]func(path, other string) error{"symlink": os.Symlink, "hard link": os.Link} {
		path := sample(t)
		earlier := must(os.ReadFile(path))
		other := filepath.Join(t.TempDir(), "other.db")
		if name == "hard link" {
			other = filepath.Join(filepath.Dir(path), "other.db")
		}
		need(link(path, other))
		db, h := handled(boltstore.Open(other))
		fill(t, h, anonymous, 3)
		need(db.Close())
		need(os.WriteFile(path, earlier, 0o600))
		strangerRefused(t, path, "an earlier version of a store used by a "+name)
	}
}

// Restored over: the store's file was moved away, a backup restored in its place and used, and the old
// file's bytes are written over the restored.
func TestStrangerRestoredOver(t *testing.T) {
	path := sample(t)
	db := must(boltstore.Open(path))
	var to bytes.Buffer
	must(db.Backup(t.Context(), &to))
	need(db.Close())
	old := must(os.ReadFile(path))
	away := path + ".away"
	need(os.Rename(path, away))
	must(boltstore.Options{Ahead: -1}.Restore(t.Context(), &to, path, begins))
	restored := must(os.ReadFile(path))
	db, h := handled(boltstore.Open(path))
	fill(t, h, anonymous, 3)
	need(db.Close())
	used := must(os.ReadFile(path))
	need(os.WriteFile(path, old, 0o600))
	strangerRefused(t, path, "the old store over the restored")
	need(os.WriteFile(path, restored, 0o600))
	strangerRefused(t, path, "the restored store over the used")
	need(os.WriteFile(path, used, 0o600))
	need(must(boltstore.Open(path)).Close())
}

// Crashes in the first open of a released copy.
func TestStrangerReleased(t *testing.T) {
	path := sample(t)
	need(boltstore.Release(path))
	released := must(os.ReadFile(path))
	record := must(os.ReadFile(besideOf(path)))

	// over itself
	need(os.WriteFile(path, released, 0o600))
	strangerRefused(t, path, "released, over itself")
	hard := path + ".hard"
	need(os.Link(path, hard))
	strangerRefused(t, hard, "released, a hard link")
	need(os.Remove(hard))
	renamed := filepath.Join(t.TempDir(), "renamed.db")
	need(os.Rename(path, renamed))
	strangerRefused(t, renamed, "released, renamed")
	need(os.Rename(renamed, path))

	// the folder is copied with its record
	to := filepath.Join(t.TempDir(), "store.db")
	need(os.WriteFile(to, released, 0o600))
	need(os.WriteFile(besideOf(to), record, 0o600))
	need(must(boltstore.Open(to)).Close()) // without a commit of an instance: the mark is removed
	opened := must(os.ReadFile(to))
	need(os.WriteFile(path, opened, 0o600))
	strangerRefused(t, path, "the opened copy over the released")
	need(os.WriteFile(to, released, 0o600))
	db, h := handled(boltstore.Open(to))
	fill(t, h, anonymous, 2)
	need(db.Close())
	need(os.WriteFile(to, released, 0o600))
	strangerRefused(t, to, "the released file over its copy in use")
	need(os.WriteFile(to, opened, 0o600))
	strangerRefused(t, to, "the copy as it was opened over its copy in use")

	// once more, twice
	third := filepath.Join(t.TempDir(), "store.db")
	need(os.WriteFile(third, released, 0o600))
	need(boltstore.Release(third)) // a copy that was never served
	need(os.Remove(to))
	need(os.Remove(besideOf(to)))
	need(os.WriteFile(to, must(os.ReadFile(third)), 0o600))
	strangerRefused(t, third, "released twice, the second place")
	db, h = handled(boltstore.Open(to))
	fill(t, h, anonymous, 2)
	need(db.Close())
	need(os.WriteFile(to, must(os.ReadFile(third)), 0o600))
	strangerRefused(t, to, "released twice, over its copy in use")
	need(os.WriteFile(to, released, 0o600))
	strangerRefused(t, to, "the first release over the copy of the second in use")
}

// A released store on a renumbered disk: its copy is used, and then the released file is written over it.
func TestStrangerReleasedAndRenumbered(t *testing.T) {
	path := sample(t)
	need(boltstore.Release(path))
	released := must(os.ReadFile(path))
	to := filepath.Join(t.TempDir(), "store.db")
	need(os.WriteFile(to, released, 0o600))
	db, h := handled(boltstore.Open(to))
	fill(t, h, anonymous, 2)
	need(db.Close())
	changeIdentity(to, func(identity []byte) { identity[7]++ }) // the new system starts again, with another number of the disk
	db, h = handled(boltstore.Open(to))
	fill(t, h, anonymous, 2)
	need(db.Close())
	need(os.WriteFile(to, released, 0o600))
	strangerRefused(t, to, "the released file over its copy in use")
}

// A crash at each write of the record: whatever prefix of a slot is there, a version two commits older is refused,
// and the store itself starts.
func TestStrangerTornRecords(t *testing.T) {
	path := sample(t)
	earlier := must(os.ReadFile(path))
	db, h := handled(boltstore.Open(path))
	fill(t, h, anonymous, 4)
	before := must(os.ReadFile(besideOf(path)))
	fill(t, h, anonymous, 1)
	need(db.Close())
	after := must(os.ReadFile(besideOf(path)))
	newest := must(os.ReadFile(path))
	for n := range after {
		if before[n] == after[n] {
			continue
		}
		torn := append(bytes.Clone(after[:n]), before[n:]...)
		need(os.WriteFile(besideOf(path), torn, 0o600))
		need(os.WriteFile(path, earlier, 0o600))
		if _, err := boltstore.Open(path); err == nil {
			t.Errorf("torn at %d: an earlier version is accepted", n)
		}
		need(os.WriteFile(path, newest, 0o600))
		if db, err := boltstore.Open(path); err != nil {
			t.Errorf("torn at %d: the store is refused: %v", n, err)
		} else {
			need(db.Close())
		}
	}
}

// More ways to a released or earlier store.
func TestStrangerMore(t *testing.T) {
	path := sample(t)
	earlier := must(os.ReadFile(path))
	db := must(boltstore.Open(path))
	need(db.Rebuild(t.Context()))
	need(db.Close())
	rebuilt := must(os.ReadFile(path))
	need(os.WriteFile(path, earlier, 0o600))
	strangerRefused(t, path, "of before a rebuild")
	if err := boltstore.Release(path); err == nil {
		t.Error("an earlier version is released")
	}
	need(os.WriteFile(path, rebuilt, 0o600))
	need(boltstore.Release(path))

	// two starts at once on one copy
	to := filepath.Join(t.TempDir(), "store.db")
	need(os.WriteFile(to, must(os.ReadFile(path)), 0o600))
	type opened struct {
		db  *boltstore.DB
		err error
	}
	both := make(chan opened, 2)
	for range 2 {
		go func() {
			db, err := boltstore.Options{LockTimeout: 100 * time.Millisecond}.Open(to)
			both <- opened{db, err}
		}()
	}
	a, b := <-both, <-both
	if (a.err == nil) == (b.err == nil) {
		t.Errorf("two starts at once: %v, %v", a.err, b.err)
	}
	for _, o := range []opened{a, b} {
		if o.err == nil {
			need(o.db.Close())
		}
	}

	// the released file is restored
	var out bytes.Buffer
	must(boltstore.BackupPlain(t.Context(), path, &out, true))
	third := filepath.Join(t.TempDir(), "store.db")
	must(boltstore.Options{Ahead: -1}.Restore(t.Context(), &out, third, begins))
	need(must(boltstore.Open(third)).Close())
	need(must(boltstore.Open(third)).Close())

	// records of another incarnation in both slots
	record := must(os.ReadFile(besideOf(third)))
	need(os.WriteFile(besideOf(to), record, 0o600))
	db, h := handled(boltstore.Open(to))
	before := must(os.ReadFile(to))
	fill(t, h, anonymous, 1)
	need(db.Close())
	need(os.WriteFile(to, before, 0o600))
	strangerRefused(t, to, "an earlier version beside a file that had records of another store")
}

// A crash at each point of a commit, as the files are then: the store starts, and a version before the commit before is refused.
func TestStrangerCrashAtEachPoint(t *testing.T) {
	path := sample(t)
	type state struct{ file, record []byte }
	var states []state
	var points []string
	hook := func(point string) {
		states = append(states, state{must(os.ReadFile(path)), must(os.ReadFile(besideOf(path)))})
		points = append(points, point)
	}
	db := must(boltstore.Options{Hook: hook}.Open(path))
	h := must(db.Handle())
	for range 4 {
		create, _ := turn(anonymous)
		commit(h, create)
	}
	need(db.Close())
	for i, s := range states {
		need(os.WriteFile(path, s.file, 0o600))
		need(os.WriteFile(besideOf(path), s.record, 0o600))
		if db, err := boltstore.Open(path); err != nil {
			t.Errorf("crash at %s (%d): %v", points[i], i, err)
		} else {
			need(db.Close())
		}
		for j, older := range states[:i] {
			// at a point before, with at least a whole commit acknowledged between
			if bytes.Equal(older.record, s.record) {
				continue
			}
			need(os.WriteFile(path, older.file, 0o600))
			need(os.WriteFile(besideOf(path), s.record, 0o600))
			db, err := boltstore.Open(path)
			if err == nil {
				need(db.Close())
				if points[j] != boltstore.PointCommitted {
					t.Errorf("the file of %s (%d) beside the record of %s (%d) is accepted", points[j], j, points[i], i)
				}
			}
		}
	}
	t.Logf("%d states", len(states))
}
