package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// restored makes a store from a backup, in a folder of its own, and opens it.
func restored(t *testing.T, backup []byte) (*boltstore.DB, store.Handle) {
	t.Helper()
	path := filepath.Join(inMemory(t), "store.db")
	must(boltstore.Options{Ahead: -1}.Restore(t.Context(), bytes.NewReader(backup), path, begins))
	need(boltCheck(path))
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	t.Cleanup(func() { _ = db.Close() })
	return db, h
}

func begins(context.Context, store.Handle, boltstore.Backup) error { return nil }

// during calls between each time that something is written to it, from the second on.
type during struct {
	bytes.Buffer
	n       int
	between func(n int)
}

func (d *during) Write(b []byte) (int, error) {
	if d.n++; d.n > 1 {
		d.between(d.n - 1)
	}
	return d.Buffer.Write(b)
}

// contents returns everything that a store has, as text.
func contents(t *testing.T, h store.Handle, kinds ...string) string {
	t.Helper()
	var all strings.Builder
	page := must(h.Tasks(t.Context(), store.System(), store.Query{Limit: 1000}))
	for i := range page.Tasks {
		task := &page.Tasks[i]
		fmt.Fprintf(&all, "%+v\n", *task)
		v := must(h.Read(t.Context(), store.System(), task.Task, store.After(0), store.Limit{Bytes: 64 << 20}))
		for _, e := range v.Events {
			fmt.Fprintf(&all, "  %d %s %x\n", e.Seq, e.Kind, e.Data)
		}
		list := must(h.Tasks(t.Context(), task.Owner, store.Query{Context: task.Context, State: task.State}))
		fmt.Fprintf(&all, "  among %d\n", list.Total)
	}
	for _, kind := range kinds {
		for _, row := range must(h.Rows(t.Context(), store.System(), store.RowQuery{Kind: kind, Index: "index", Limit: 1000})).Rows {
			fmt.Fprintf(&all, "row %+v\n", row)
		}
	}
	due, _, err := h.Due(t.Context(), 1<<40, "", 1000)
	need(err)
	fmt.Fprintf(&all, "%+v\n", due)
	for _, entry := range must(h.Audit(t.Context(), 0, 1000)) {
		fmt.Fprintf(&all, "%+v\n", entry)
	}
	return all.String()
}

// same compares the contents of two stores.
func same(t *testing.T, want, got string) {
	t.Helper()
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for n := range min(len(a), len(b)) {
		if a[n] != b[n] {
			t.Errorf("the restored store differs at line %d: %.200s, want %.200s", n, b[n], a[n])
			return
		}
	}
	if len(a) != len(b) {
		t.Errorf("the restored store has %d lines, want %d", len(b), len(a))
	}
}

// busy is a task with everything that a backup has to carry. It changes with n.
func busy(n int) []*store.Batch {
	create, end := turn(store.Owner("t", fmt.Sprint(n%3)))
	end.Events[0].Data = noise(100 + n%7*3000)
	end.Rows = []store.RowChange{{Kind: "kind", Key: fmt.Append(nil, n), Value: fmt.Append(nil, n), Index: []store.IndexKey{{Index: "index", Key: fmt.Append(nil, n)}}}}
	end.Audit = [][]byte{fmt.Append(nil, "entry ", n)}
	if n%5 == 0 {
		end.Due = []store.DueChange{{Kind: "kind", Key: fmt.Append(nil, n), Time: store.Millis(n + 1)}}
	}
	return []*store.Batch{create, end}
}

// A backup of a store that nobody uses has everything, and what is made of it has an incarnation
// and an epoch of its own.
func TestBackup(t *testing.T) {
	t.Parallel()
	path := sample(t)
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	for n := range 20 {
		commit(h, busy(n)...)
	}
	var to bytes.Buffer
	made := must(db.Backup(t.Context(), &to))
	if verified := must(boltstore.VerifyBackup(bytes.NewReader(to.Bytes()))); verified.Moment != made.Moment || verified.Values != made.Values || verified.Bytes != made.Bytes || made.Bytes != int64(to.Len()) || time.Since(made.Moment) > time.Minute {
		t.Errorf("verified %+v, want %+v and %d bytes", verified, made, to.Len())
	}
	second, again := restored(t, to.Bytes())
	same(t, contents(t, h, "kind"), contents(t, again, "kind"))
	if second.Incarnation() == db.Incarnation() || again.Epoch() <= h.Epoch() {
		t.Errorf("incarnations %x and %x, epochs %d and %d; want another one and a later one", db.Incarnation(), second.Incarnation(), h.Epoch(), again.Epoch())
	}
	commit(again, busy(21)...)
	for _, at := range []time.Time{made.Moment, made.Moment.Add(-time.Hour)} {
		need(db.BackedUp(t.Context(), at))
	}
	need(db.Close())
	db = must(boltstore.Open(path))
	if last := db.LastBackup(); !last.Equal(made.Moment) {
		t.Errorf("LastBackup() = %v, want %v", last, made.Moment)
	}
	need(db.Close())
}

// What happens while a backup is made is in it whole or not at all, wherever it happens: changes and
// deletions before and after the place that the backup has come to.
func TestBackupWhileWritten(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(filepath.Join(inMemory(t), "store.db")))
	defer db.Close()
	var tasks []store.TaskID
	for n := range 400 {
		batches := busy(n)
		tasks = append(tasks, batches[0].Task)
		commit(h, batches...)
	}
	const changes = 6
	to := &during{between: func(n int) {
		if n > changes {
			return // the last transaction comes after all changes
		}
		for k := range 20 {
			commit(h, busy(1000*n+k)...)
		}
		for k := range 4 {
			id := tasks[(n*61+k*97)%len(tasks)]
			v, err := h.Read(t.Context(), store.System(), id, store.After(1<<40), store.Limit{})
			if err != nil {
				continue // it was deleted
			}
			if v.Header.Due > 0 {
				commit(h, &store.Batch{Scope: store.System(), Task: id, Due: []store.DueChange{{Kind: "kind", Key: fmt.Append(nil, indexOf(tasks, id)), Time: store.Millis(indexOf(tasks, id) + 1), Delete: true}}})
			}
			need(h.Delete(t.Context(), store.System(), id, nil))
		}
	}}
	must(db.Backup(t.Context(), to))
	if to.n < changes+4 {
		t.Fatalf("the backup was written in %d parts, want more", to.n)
	}
	_, again := restored(t, to.Bytes())
	same(t, contents(t, h, "kind"), contents(t, again, "kind"))
}

func indexOf(tasks []store.TaskID, id store.TaskID) int {
	for i := range tasks {
		if tasks[i] == id {
			return i
		}
	}
	return -1
}

// Positions in the log begin again when it is empty: a backup that has come to a later position has
// what follows.
func TestBackupOfEmptiedLog(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(filepath.Join(inMemory(t), "store.db")))
	defer db.Close()
	var tasks []store.TaskID
	for range 3 {
		create, end := turn(anonymous)
		tasks = append(tasks, create.Task)
		commit(h, create, end)
	}
	to := &during{between: func(n int) {
		if n > 1 {
			return
		}
		for _, id := range tasks {
			need(h.Delete(t.Context(), store.System(), id, nil))
		}
		create, end := turn(anonymous)
		commit(h, create, end)
	}}
	must(db.Backup(t.Context(), to))
	_, again := restored(t, to.Bytes())
	same(t, contents(t, h), contents(t, again))
}

// A backup under load is of one moment: it has each append that was acknowledged before it, and
// never a later one without those that it was made after.
func TestBackupIsOfOneMoment(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(filepath.Join(inMemory(t), "store.db")))
	defer db.Close()
	for n := range 300 {
		commit(h, busy(n)...)
	}
	const chains = 4
	first, second := make([]store.TaskID, chains), make([]store.TaskID, chains)
	var acked [chains]atomic.Int64
	var stop atomic.Bool
	var writing sync.WaitGroup
	for c := range chains {
		for _, in := range [][]store.TaskID{first, second} {
			create, _ := turn(anonymous)
			in[c] = create.Task
			commit(h, create)
		}
		writing.Go(func() {
			for n := 1; !stop.Load(); n++ {
				for _, id := range []store.TaskID{first[c], second[c]} { // the second after the first
					rev := uint64(n)
					must(h.Append(context.Background(), &store.Batch{Scope: store.System(), Task: id, Rev: &rev, Events: []store.Event{{Kind: "n", Data: fmt.Append(nil, n)}}}).Wait())
				}
				acked[c].Store(int64(n))
			}
		})
	}
	for range 5 {
		var before [chains]int64
		for c := range chains {
			before[c] = acked[c].Load()
		}
		var to bytes.Buffer
		must(db.Backup(t.Context(), &to))
		_, again := restored(t, to.Bytes())
		for c := range chains {
			events := func(id store.TaskID) int64 {
				return int64(must(again.Read(t.Context(), store.System(), id, store.After(1<<40), store.Limit{})).Header.Rev) - 1
			}
			if a, b := events(first[c]), events(second[c]); a < before[c] || b < before[c] || a-b < 0 || a-b > 1 {
				t.Errorf("the backup has %d and then %d changes, and %d were acknowledged before it", a, b, before[c])
			}
		}
	}
	stop.Store(true)
	writing.Wait()
}

// A backup that differs anywhere from what was written is refused, and leaves nothing behind.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(filepath.Join(inMemory(t), "store.db")))
	defer db.Close()
	for n := range 3 {
		commit(h, busy(n)...)
	}
	var to bytes.Buffer
	must(db.Backup(t.Context(), &to))
	whole := to.Bytes()
	folder := inMemory(t)
	path := filepath.Join(folder, "store.db")
	refused := func(what string, backup []byte) {
		t.Helper()
		if _, err := boltstore.VerifyBackup(bytes.NewReader(backup)); err == nil {
			t.Errorf("%s: verified", what)
		}
		if _, err := (boltstore.Options{}).Restore(t.Context(), bytes.NewReader(backup), path, begins); err == nil {
			t.Errorf("%s: restored", what)
		}
		if left := must(os.ReadDir(folder)); len(left) > 0 {
			t.Fatalf("%s: it left %v", what, left)
		}
	}
	for at := 0; at < len(whole); at += 1 + len(whole)/60 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		refused(fmt.Sprintf("byte %d of %d", at, len(whole)), damaged)
		refused(fmt.Sprintf("cut at %d of %d", at, len(whole)), whole[:at])
	}
	refused("more", append(bytes.Clone(whole), 0))
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	to.Reset()
	if _, err := db.Backup(stopped, &to); err == nil {
		t.Error("a canceled backup was made")
	}
	if _, err := boltstore.VerifyBackup(bytes.NewReader(to.Bytes())); err == nil || !strings.Contains(err.Error(), "not completed") {
		t.Errorf("Verify() of a canceled backup = %v, want that it was not completed", err)
	}
}

// A restore replaces nothing. One that fails when the store is begun leaves nothing; one that was
// killed is made again.
func TestRestoreReplacesNothing(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(sample(t)))
	defer db.Close()
	commit(h, busy(1)...)
	var to bytes.Buffer
	must(db.Backup(t.Context(), &to))
	folder := inMemory(t)
	path := filepath.Join(folder, "store.db")
	restore := func(begin func(context.Context, store.Handle, boltstore.Backup) error) error {
		_, err := boltstore.Options{Ahead: -1}.Restore(t.Context(), bytes.NewReader(to.Bytes()), path, begin)
		return err
	}
	failed := errors.New("failed")
	if err := restore(func(context.Context, store.Handle, boltstore.Backup) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("Restore() = %v, want the error of begin", err)
	}
	if left := must(os.ReadDir(folder)); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	need(os.WriteFile(filepath.Join(folder, ".restoring-store.db"), []byte("of a process that was killed"), 0o600))
	need(restore(begins))
	whole := must(os.ReadFile(path))
	if err := restore(begins); !errors.Is(err, os.ErrExist) {
		t.Errorf("Restore() onto a store = %v, want os.ErrExist", err)
	}
	if left := must(os.ReadDir(folder)); len(left) != 1 || !bytes.Equal(whole, must(os.ReadFile(path))) {
		t.Errorf("the folder has %v, or the store has changed", left)
	}
}

// A plain copy is taken after all of it was read: a damaged page or value is refused.
func TestBackupPlain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(inMemory(t), "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	for n := range 30 {
		commit(h, busy(n)...)
	}
	want := contents(t, h, "kind")
	need(db.Close())
	whole := must(os.ReadFile(path))
	copied := filepath.Join(inMemory(t), "copy.db")
	need(os.WriteFile(copied, whole, 0o600))
	file := must(os.OpenFile(copied, os.O_RDWR, 0))
	defer file.Close()
	plain := func() ([]byte, error) {
		var to bytes.Buffer
		_, err := boltstore.BackupPlain(t.Context(), copied, &to, true)
		return to.Bytes(), err
	}
	backup := must(plain())
	_, again := restored(t, backup)
	same(t, want, contents(t, again, "kind"))
	const end = 8 + 3 + 32 // the moment, the number of values and the checksum
	meta, _ := newestMeta(whole)
	page, pages, found := os.Getpagesize(), int(order.Uint64(meta[40:])), 0
	for at := 2 * page; at < pages*page; at += page {
		half := whole[at+page/2 : at+page]
		damaged := bytes.Clone(half)
		for i := range damaged {
			damaged[i] ^= 0x55
		}
		must(file.WriteAt(damaged, int64(at+page/2)))
		got, err := plain()
		if err != nil {
			found++
		} else if !bytes.Equal(got[:len(got)-end], backup[:len(backup)-end]) {
			t.Errorf("page %d of %d is damaged, and the backup is another one", at/page, pages)
		}
		must(file.WriteAt(half, int64(at+page/2)))
	}
	if !bytes.Equal(must(os.ReadFile(copied)), whole) {
		t.Error("who takes a plain copy changes the file")
	}
	for _, cut := range []int{pages*page - 1, 2 * page, page, 100, 0} {
		need(file.Truncate(int64(cut)))
		if _, err := plain(); err == nil {
			t.Errorf("cut at %d of %d: it was taken", cut, len(whole))
		}
	}
	if found < pages/3 {
		t.Errorf("%d of %d damaged pages were found", found, pages)
	}
}

// A copy that lacks a value of a log is refused, whichever bucket of the two it lacks it in.
func TestCopyLacksValue(t *testing.T) {
	t.Parallel()
	path := filepath.Join(inMemory(t), "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	commit(h, busy(1)...)
	commit(h, busy(2)...)
	need(db.Close())
	whole := must(os.ReadFile(path))
	for _, bucket := range []string{"log", "task"} {
		copied := filepath.Join(inMemory(t), "copy.db")
		need(os.WriteFile(copied, whole, 0o600))
		file := must(bolt.Open(copied, 0o600, nil))
		need(errors.Join(file.Update(func(tx *bolt.Tx) error {
			c := tx.Bucket([]byte(bucket)).Cursor()
			c.First()
			return c.Delete()
		}), file.Close()))
		if _, err := boltstore.BackupPlain(t.Context(), copied, &bytes.Buffer{}, true); err == nil || !strings.Contains(err.Error(), "while a server was writing") {
			t.Errorf("a copy without a value of %s = %v, want that it is refused", bucket, err)
		}
	}
}

// A second restore into a folder does not disturb the first. What one that was killed has left keeps
// a new store from being begun in its place.
func TestRestoresAtOnce(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(sample(t)))
	defer db.Close()
	commit(h, busy(1)...)
	var to bytes.Buffer
	must(db.Backup(t.Context(), &to))
	path := filepath.Join(inMemory(t), "store.db")
	must(boltstore.Options{Ahead: -1}.Restore(t.Context(), bytes.NewReader(to.Bytes()), path, func(context.Context, store.Handle, boltstore.Backup) error {
		if _, err := (boltstore.Options{}).Restore(t.Context(), strings.NewReader("none"), path, begins); err == nil || !strings.Contains(err.Error(), "is being restored there") {
			t.Errorf("a second Restore() = %v, want that the first is running", err)
		}
		if _, err := boltstore.Open(path); err == nil || !strings.Contains(err.Error(), "is being restored") {
			t.Errorf("Open() = %v, want that it is being restored", err)
		}
		return nil
	}))
	second, again := handled(boltstore.Open(path))
	same(t, contents(t, h, "kind"), contents(t, again, "kind"))
	need(second.Close())
}

// Who follows the audit by its numbers misses nothing after a restore.
func TestAuditGoesOnAfterARestore(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(filepath.Join(inMemory(t), "store.db")))
	defer db.Close()
	commit(h, busy(1)...)
	var to bytes.Buffer
	must(db.Backup(t.Context(), &to))
	for n := range 5 { // is lost
		commit(h, busy(n+2)...)
	}
	_, again := restored(t, to.Bytes())
	commit(again, busy(9)...)
	read := must(h.Audit(t.Context(), 0, 0))
	if next := must(again.Audit(t.Context(), read[len(read)-1].N, 0)); len(next) != 1 || string(next[0].Data) != "entry 9" {
		t.Errorf("after entry %d there are %v, want the one after the restore", read[len(read)-1].N, next)
	}
}

// A value that is damaged in the store is so in the backup, which says it also when it is verified.
func TestBackupOfDamagedValue(t *testing.T) {
	t.Parallel()
	path := sample(t)
	file := must(bolt.Open(path, 0o600, nil))
	need(errors.Join(file.Update(func(tx *bolt.Tx) error {
		log := tx.Bucket([]byte("log"))
		k, v := log.Cursor().First()
		damaged := bytes.Clone(v)
		damaged[len(damaged)/2] ^= 1
		return log.Put(bytes.Clone(k), damaged)
	}), file.Close()))
	db := must(boltstore.Open(path))
	defer db.Close()
	var to bytes.Buffer
	made := must(db.Backup(t.Context(), &to))
	if verified := must(boltstore.VerifyBackup(&to)); made.Damaged != 1 || verified.Damaged != 1 {
		t.Errorf("%d values are damaged, and %d of the backup, want 1", made.Damaged, verified.Damaged)
	}
}

// Only one backup is made at a time.
func TestOneBackup(t *testing.T) {
	t.Parallel()
	db, h := handled(boltstore.Options{Ahead: -1}.Open(sample(t)))
	defer db.Close()
	commit(h, busy(1)...)
	to := &during{between: func(int) {
		if _, err := db.Backup(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "another backup is being made") {
			t.Errorf("a second Backup() = %v, want that another is being made", err)
		}
	}}
	must(db.Backup(t.Context(), to))
	must(db.Backup(t.Context(), &bytes.Buffer{}))
}
