package boltstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// large is a store in which every bucket has several pages.
type large struct {
	file   []byte
	leaves map[string][]int // where each bucket has its leaves
	roots  map[string]int   // and its root, which is a branch
	ids    []store.TaskID
	tasks  map[store.TaskID]held
}

// held is what a store has of a task.
type held struct {
	owner   store.Scope
	name    string       // of its row, its due work and its audit entry
	due     store.Millis // 0: not any more
	context string
	state   store.State
	phase   store.Phase
	rev     uint64
}

var bob = store.Owner("t", "bob")

var newLarge = sync.OnceValues(func() (l *large, err error) {
	folder := must(os.MkdirTemp("", "large"))
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.WithMap(16 << 20).Open(path))
	l = &large{leaves: map[string][]int{}, roots: map[string]int{}, tasks: map[store.TaskID]held{}}
	var creates, parks []*store.Batch
	for n := range 240 * os.Getpagesize() / 4096 {
		name := fmt.Sprintf("task %d", n)
		t := held{alice, name, store.Millis(3000 + n), fmt.Sprint("context ", n%5), 2, store.Live, 1}
		if n%4 == 3 {
			t.owner = bob
		}
		id := store.NewTaskID()
		creates = append(creates, &store.Batch{
			Scope: t.owner, Task: id, Rev: new(uint64(0)),
			Change: store.Change{Context: t.context, Status: &store.Status{State: t.state, Time: store.Millis(1000 + n)}, Phase: t.phase},
			Events: []store.Event{{Public: true, Kind: "task", Time: 1000, Data: id[:]}},
			Rows:   []store.RowChange{{Kind: "approval", Key: []byte(name), IfRev: store.Any, Value: []byte(name + " asks"), Index: []store.IndexKey{{Index: "pending", Key: []byte(name)}}}},
			Due:    []store.DueChange{{Time: t.due, Kind: "expiry", Key: []byte(name), Payload: []byte(`{"name":"` + name + `"}`)}},
			Audit:  [][]byte{[]byte(`{"says":"` + name + ` was asked"}`)},
		})
		if n%3 > 0 {
			t.state, t.phase, t.rev = 4, store.Parked, 2
			parks = append(parks, &store.Batch{
				Scope: store.System(), Task: id, Rev: new(uint64(1)), Fence: new(uint64(1)),
				Change: store.Change{Status: &store.Status{State: t.state, Time: store.Millis(2000 + n)}, Phase: t.phase},
			})
		}
		l.ids, l.tasks[id] = append(l.ids, id), t
	}
	for n := range notes {
		parks[0].Rows = append(parks[0].Rows, note(fmt.Sprintf("%04d", n)))
	}
	for _, batches := range [][]*store.Batch{creates, parks} {
		var commits []*store.Commit
		for _, b := range batches {
			commits = append(commits, h.Append(context.Background(), b))
		}
		waitAll(commits)
	}
	need(db.Close())
	forget(path)
	l.file = must(os.ReadFile(path))
	file := must(bolt.Open(path, 0, &bolt.Options{ReadOnly: true}))
	defer file.Close()
	return l, file.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			if b.Root() == 0 || string(name) == "meta" {
				return nil
			}
			root := int(b.Root()) * os.Getpagesize()
			l.roots[string(name)] = root
			p := l.file[root:]
			if order.Uint16(p[8:]) != 0x01 {
				return fmt.Errorf("the root of %s is not a branch", name)
			}
			for i := range int(order.Uint16(p[10:])) {
				l.leaves[string(name)] = append(l.leaves[string(name)], int(order.Uint64(p[16+16*i+8:]))*os.Getpagesize())
			}
			return nil
		})
	})
})

// notes is how many rows the context of the first task has that rests.
var notes = 200 * os.Getpagesize() / 4096

func note(key string) store.RowChange {
	return store.RowChange{Kind: "note", Key: []byte(key), OfContext: true, IfRev: store.Any, Value: []byte("this is noted")}
}

var order = binary.NativeEndian

// Whatever is wrong with the structure of a page, the check after a failure finds it. The file is
// refused, or a derived bucket is made anew, and then all is there.
func TestDamagedStructure(t *testing.T) {
	t.Parallel()
	l := must(newLarge())
	if len(l.roots) != 9 {
		t.Fatalf("%d buckets have pages of their own, want all 9 but meta", len(l.roots))
	}
	more := func(n int) func(p []byte) {
		return func(p []byte) { order.PutUint16(p[10:], order.Uint16(p[10:])+uint16(n)) }
	}
	both := map[string]func(p []byte){
		"one too many": more(1),
		"one too few":  more(-1),
		"far too many": func(p []byte) { order.PutUint16(p[10:], 0x0fff) },
		"none":         func(p []byte) { order.PutUint16(p[10:], 0) },
		"another size": func(p []byte) { order.PutUint32(p[12:], 1) },
		"another page": func(p []byte) { order.PutUint64(p, order.Uint64(p)+1) },
		"two elements": func(p []byte) { copy(p[16+16:][:16], p[16:]) },
		"outside":      func(p []byte) { p[16+16+7]++ },
	}
	leaf := map[string]func(p []byte){
		"out of order": func(p []byte) {
			e := p[16+16*(order.Uint16(p[10:])/2):]
			e[order.Uint32(e[4:])] ^= 0x80
		},
		"buckets": func(p []byte) {
			for i := range int(order.Uint16(p[10:])) {
				p[16+16*i]++
			}
		},
		"an empty key": func(p []byte) { order.PutUint32(p[16+16*2+8:], 0) },
	}
	branch := map[string]func(p []byte){
		"its own child":    func(p []byte) { order.PutUint64(p[16+16+8:], order.Uint64(p)) },
		"the same child":   func(p []byte) { copy(p[16+8:][:8], p[16+16+8:]) },
		"a child too high": func(p []byte) { p[16+16+8+5] = 1 },
		"the child before": func(p []byte) { copy(p[16+16+8:][:8], p[16+8:]) },
		"children swapped": func(p []byte) {
			first, second := order.Uint64(p[16+8:]), order.Uint64(p[16+16+8:])
			order.PutUint64(p[16+8:], second)
			order.PutUint64(p[16+16+8:], first)
		},
	}
	for bucket, root := range l.roots {
		leaves := l.leaves[bucket]
		pages := map[string]int{"root": root, "first leaf": leaves[0], "middle leaf": leaves[len(leaves)/2], "last leaf": leaves[len(leaves)-1]}
		for name, at := range pages {
			if (name == "middle leaf" || name == "last leaf") && slices.Contains([]string{"list.ctx", "rowidx", "live", "audit"}, bucket) {
				continue // like list
			}
			t.Run(bucket+"/"+name, func(t *testing.T) {
				t.Parallel()
				ways := maps.Clone(both)
				if name == "root" {
					other := l.leaves["audit"]
					if bucket == "audit" {
						other = l.leaves["due"]
					}
					maps.Copy(ways, branch)
					ways["another child"] = func(p []byte) { order.PutUint64(p[16+16+8:], order.Uint64(l.file[other[1]:])) }
				} else {
					maps.Copy(ways, leaf)
				}
				path := l.copy(t)
				for way, damage := range ways {
					t.Run(way, func(t *testing.T) {
						page := bytes.Clone(l.file[at:][:os.Getpagesize()])
						damage(page)
						over(t, path, path+".whole")
						put(t, path, page, at)
						mark(path)
						if !isDerived(bucket) {
							refused(t, path, bucket)
							return
						}
						mended(t, path, bucket)
						l.intact(t, path)
					})
				}
			})
		}
	}
}

// copy returns the path of a file that has been opened once.
func (l *large) copy(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(inMemory(t), "store.db")
	need(os.WriteFile(path, l.file, 0o600))
	need(l.open(t, path).Close())
	over(t, path+".whole", path)
	return path
}

// put writes a page over one of a file.
func put(t *testing.T, path string, page []byte, at int) {
	t.Helper()
	file := must(os.OpenFile(path, os.O_WRONLY, 0))
	_, err := file.WriteAt(page, int64(at))
	need(errors.Join(err, file.Close()))
}

// over writes one file over another, which stays the same file.
func over(t *testing.T, to, from string) {
	t.Helper()
	older(to)
	source := must(os.Open(from))
	defer source.Close()
	target := must(os.Create(to))
	_, err := io.Copy(target, source)
	need(errors.Join(err, target.Close()))
}

func isDerived(bucket string) bool {
	return slices.Contains([]string{"live", "list", "list.ctx", "rowidx"}, bucket)
}

// mended opens a file with a mark in which only a derived bucket is damaged.
func mended(t *testing.T, path, bucket string) {
	t.Helper()
	need(boltstore.Check(path, nil))
	db, err := boltstore.Options{Ahead: -1}.Open(path)
	if err != nil {
		t.Errorf("Open() = %v, want that the index is made again", err)
		return
	}
	if text, _ := db.Failed(); !strings.Contains(text, "an index of "+path+" was damaged, and was made again") || !strings.Contains(text, bucket) {
		t.Errorf("Failed() = %q, want that %s was made again", text, bucket)
	}
	if need(db.Close()); isMarked(path) {
		t.Error("the mark is there")
	}
}

// intact opens a file, reads everything and writes, and reads everything when it has opened the file
// again.
func (l *large) intact(t *testing.T, path string) {
	t.Helper()
	tasks := maps.Clone(l.tasks)
	db, h := handled(l.open(t, path), nil)
	l.read(t, h, tasks)
	l.write(t, h, tasks)
	need(db.Close())
	db, h = handled(l.open(t, path), nil)
	l.read(t, h, tasks)
	need(db.Close())
}

func (l *large) open(t *testing.T, path string) *boltstore.DB {
	t.Helper()
	db := must(boltstore.Options{Ahead: -1}.WithMap(16 << 20).Open(path))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// read reads everything that a store has.
func (l *large) read(t *testing.T, h store.Handle, tasks map[store.TaskID]held) {
	t.Helper()
	// answer takes an answer: what is there, by a name that it has once, of so many.
	answer := func(what string, err error, have []string, want int) {
		t.Helper()
		slices.Sort(have)
		if err != nil || len(slices.Compact(slices.Clone(have))) != len(have) || len(have) != want {
			t.Errorf("%s: there are %d, %v, want %d, each once", what, len(have), err, want)
		}
	}
	matching := func(match func(held) bool) (n int) {
		for _, task := range tasks {
			if match(task) {
				n++
			}
		}
		return n
	}
	for id, task := range tasks {
		p, err := h.Read(t.Context(), task.owner, id, store.After(0), store.Limit{})
		if err != nil || p.Header.Rev != task.rev || p.Header.State != task.state || !bytes.Equal(p.Events[0].Data, id[:]) {
			t.Errorf("task %s is %+v with %d events, %v; want %+v", id, p.Header, len(p.Events), err, task)
		}
	}
	if _, err := h.Read(t.Context(), alice, store.NewTaskID(), store.After(0), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a task that never was: %v", err)
	}
	for _, tc := range []struct {
		scope store.Scope
		query store.Query
		match func(held) bool
	}{
		{alice, store.Query{}, func(h held) bool { return h.owner == alice }},
		{bob, store.Query{State: 4}, func(h held) bool { return h.owner == bob && h.state == 4 }},
		{alice, store.Query{Context: "context 1"}, func(h held) bool { return h.owner == alice && h.context == "context 1" }},
		{store.Tenant("t"), store.Query{}, func(held) bool { return true }},
		{store.System(), store.Query{}, func(held) bool { return true }},
	} {
		var have []string
		var err error
		total, want := int64(-1), matching(tc.match)
		for tc.query.Limit = 37; err == nil; {
			var page store.TaskPage
			page, err = h.Tasks(t.Context(), tc.scope, tc.query)
			for _, task := range page.Tasks {
				have = append(have, string(task.Task[:]))
				if known, ok := tasks[task.Task]; !ok || !task.Damaged && (known.rev != task.Rev || known.state != task.State) {
					t.Errorf("a list has %+v, want %+v", task, known)
				}
			}
			total = page.Total
			if tc.query.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		answer(fmt.Sprintf("tasks of %v, %+v", tc.scope, tc.query), err, have, want)
		if err == nil && tc.scope.IsOwner() && total != int64(want) {
			t.Errorf("tasks of %v, %+v: %d in all, want %d", tc.scope, tc.query, total, want)
		}
	}
	for _, tc := range []struct {
		scope store.Scope
		query store.RowQuery
		want  int
	}{
		{store.System(), store.RowQuery{Kind: "approval"}, len(l.tasks)},
		{store.System(), store.RowQuery{Kind: "approval", Index: "pending"}, len(l.tasks)},
		{alice, store.RowQuery{Kind: "note", Context: "context 1"}, notes},
	} {
		var have []string
		var err error
		for tc.query.Limit = 41; err == nil; {
			var page store.RowPage
			page, err = h.Rows(t.Context(), tc.scope, tc.query)
			for _, row := range page.Rows {
				have = append(have, string(row.Key))
			}
			if tc.query.Cursor = page.Next; page.Next == "" {
				break
			}
		}
		answer(fmt.Sprintf("rows of %v, %+v", tc.scope, tc.query), err, have, tc.want)
	}
	var have []string
	var err error
	for after := store.DuePosition(""); err == nil; {
		var due []store.Due
		due, _, err = h.Due(t.Context(), math.MaxInt64, after, 43)
		for _, d := range due {
			have, after = append(have, string(d.Key)), d.Position
		}
		if len(have) > 10*len(l.tasks) {
			t.Fatal("due work has no end")
		}
		if len(due) == 0 {
			break
		}
	}
	answer("due work", err, have, matching(func(h held) bool { return h.due > 0 }))
	have, err = nil, nil
	audit, _ := h.(store.AuditLog)
	for after := uint64(0); err == nil; {
		var entries []store.AuditEntry
		entries, err = audit.Audit(t.Context(), after, 47)
		for _, e := range entries {
			have, after = append(have, fmt.Sprint(e.N)), e.N
		}
		if len(have) > 10*len(l.tasks) {
			t.Fatal("the audit has no end")
		}
		if len(entries) == 0 {
			break
		}
	}
	answer("audit", err, have, len(l.tasks))
}

// write ends some tasks, takes some over and makes one.
func (l *large) write(t *testing.T, h store.Handle, tasks map[store.TaskID]held) {
	t.Helper()
	ended := map[store.TaskID]*store.Commit{}
	for n, id := range l.ids[len(l.ids)/4 : len(l.ids)*3/4] { // whole pages of lists go
		task := tasks[id]
		if task.phase != store.Parked {
			continue
		}
		b := &store.Batch{
			Scope: store.System(), Task: id, Rev: new(task.rev),
			Change: store.Change{Status: &store.Status{State: 3, Time: store.Millis(5000 + n)}, Phase: store.Final},
			Rows:   []store.RowChange{{Kind: "approval", Key: []byte(task.name), IfRev: 1, Value: []byte("decided"), Index: []store.IndexKey{{Index: "pending", Key: []byte(task.name)}}}},
			Due:    []store.DueChange{{Time: task.due, Kind: "expiry", Key: []byte(task.name), Delete: true}},
		}
		ended[id] = h.Append(t.Context(), b)
	}
	for id, commit := range ended {
		must(commit.Wait())
		task := tasks[id]
		task.state, task.phase, task.rev, task.due = 3, store.Final, task.rev+1, 0
		tasks[id] = task
	}
	for {
		claimed := must(h.Claim(t.Context(), 20))
		for i := range claimed {
			task := tasks[claimed[i].Task]
			task.rev++
			tasks[claimed[i].Task] = task
		}
		if len(claimed) == 0 {
			break
		}
	}
	id := store.NewTaskID()
	b := &store.Batch{
		Scope: alice, Task: id, Rev: new(uint64(0)),
		Change: store.Change{Context: "context 1", Status: &store.Status{State: 2, Time: 6000}, Phase: store.Live},
		Events: []store.Event{{Public: true, Kind: "task", Time: 6000, Data: id[:]}},
	}
	commit(h, b)
	tasks[id] = held{alice, "", 0, "context 1", 2, store.Live, 1}
}

// A damaged page ends the store when it is read, and the next process refuses the file, or makes the
// index anew.
func TestDamagedPageEndsTheStore(t *testing.T) {
	t.Parallel()
	l := must(newLarge())
	for bucket, leaves := range l.leaves {
		t.Run(bucket, func(t *testing.T) {
			t.Parallel()
			path := l.copy(t)
			db, h := handled(l.open(t, path), nil)
			backup := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
			need(db.BackedUp(t.Context(), backup))
			put(t, path, make([]byte, os.Getpagesize()), leaves[len(leaves)/2])
			err := readAll(t, h)
			if !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("a read = %v, want ErrDamaged", err)
			}
			hasFailed(t, db, h, path, "2026-11-30T01:02:03Z")
			path = afterEnd(t, path)
			if isDerived(bucket) {
				mended(t, path, bucket)
				l.intact(t, path)
				return
			}
			for range 2 {
				refused(t, path, bucket, "2026-11-30T01:02:03Z", "a2a-server store restore BACKUP --data "+filepath.Dir(path))
				if err := boltstore.Check(path, nil); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("Check() = %v, want ErrDamaged", err)
				}
			}
		})
	}
}

// readAll reads until an error, and makes a task.
func readAll(t *testing.T, h store.Handle) error {
	t.Helper()
	_, err := h.States(t.Context())
	if err != nil {
		return err
	}
	var q store.Query
	for more := true; more; more = q.Cursor != "" {
		page, err := h.Tasks(t.Context(), store.System(), q)
		for i := range page.Tasks {
			if _, err := h.Read(t.Context(), store.System(), page.Tasks[i].Task, store.After(0), store.Limit{}); err != nil {
				return err
			}
		}
		if q.Cursor = page.Next; err != nil {
			return err
		}
	}
	for _, context := range []string{"context 0", "context 1", "context 2", "context 3", "context 4"} {
		if _, err := h.Tasks(t.Context(), alice, store.Query{Context: context, Limit: 1000}); err != nil {
			return err
		}
	}
	for _, index := range []string{"", "pending"} {
		if _, err := h.Rows(t.Context(), store.System(), store.RowQuery{Kind: "approval", Index: index, Limit: 1000}); err != nil {
			return err
		}
	}
	if _, _, err := h.Due(t.Context(), math.MaxInt64, "", 1000); err != nil {
		return err
	}
	if audit, ok := h.(store.AuditLog); ok {
		if _, err := audit.Audit(t.Context(), 0, 1000); err != nil {
			return err
		}
	}
	_, err = h.Rows(t.Context(), alice, store.RowQuery{Kind: "note", Context: "context 1", Limit: 1000})
	return err
}

// Indexes that do not fit the tasks, though their pages are sound, are made again after a mark, also one
// that the operator has made.
func TestMarkRemakesIndexes(t *testing.T) {
	t.Parallel()
	l := must(newLarge())
	for _, damage := range []struct {
		name string
		do   func(tx *bolt.Tx, name []byte) error
	}{
		{"half of the entries", func(tx *bolt.Tx, name []byte) error {
			b := tx.Bucket(name)
			for k, _ := b.Cursor().First(); k != nil; k, _ = b.Cursor().Seek(append(k, 1)) {
				if err := b.Delete(k); err != nil {
					return err
				}
			}
			return nil
		}},
		{"the bucket", func(tx *bolt.Tx, name []byte) error { return tx.DeleteBucket(name) }},
	} {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			path := l.copy(t)
			need(l.open(t, path).Close())
			file := must(bolt.Open(path, 0o600, nil))
			need(file.Update(func(tx *bolt.Tx) error { return damage.do(tx, []byte("rowidx")) }))
			need(file.Close())
			need(os.WriteFile(markOf(path), nil, 0o600))
			need(boltstore.Check(path, nil))
			l.intact(t, path)
		})
	}
}

// A mark of another store, which this store replaces, says nothing of it.
func TestMarkOfAnotherStore(t *testing.T) {
	t.Parallel()
	path := sample(t)
	need(os.WriteFile(markOf(path), []byte(`{"incarnation":1,"panic":"of another"}`), 0o600))
	db := must(boltstore.Open(path))
	if text, _ := db.Failed(); text != "" || isMarked(path) {
		t.Errorf("Failed() = %q, and the mark is there: %t", text, isMarked(path))
	}
	need(db.Close())
}

// Beside the mark of another store, too, damaged indexes are made again.
func TestMarkOfAnotherStoreBesideDamage(t *testing.T) {
	t.Parallel()
	l := must(newLarge())
	path := l.copy(t)
	put(t, path, make([]byte, os.Getpagesize()), l.roots["rowidx"])
	need(os.WriteFile(markOf(path), []byte(`{"incarnation":1,"panic":"of another"}`), 0o600))
	need(boltstore.Check(path, nil))
	l.intact(t, path)
}

// A reader that meets two damaged meta pages while the writer commits keeps no lock of bbolt: the store ends.
func TestMetaPagesDamagedDuringACommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	applied, goOn := make(chan bool), make(chan bool)
	var stops atomic.Bool
	db := must(boltstore.Options{Hook: func(point string) {
		if point == boltstore.PointApplied && stops.Swap(false) {
			applied <- true
			<-goOn
		}
	}}.Open(path))
	h := must(db.Handle())
	stops.Store(true)
	c := h.Append(t.Context(), &store.Batch{
		Scope: alice, Task: store.NewTaskID(), Rev: new(uint64(0)), Change: store.Change{Context: "context", Status: &store.Status{State: 2, Time: 1000}, Phase: store.Live},
		Events: []store.Event{{Kind: "task", Time: 1000, Data: []byte("begins")}},
	})
	<-applied
	put(t, path, make([]byte, 2*os.Getpagesize()), 0)
	if _, err := h.Audit(t.Context(), 0, 1); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a read = %v, want ErrDamaged", err)
	}
	close(goOn)
	_, _ = c.Wait()
	need(db.Close())
}

// A failure whose mark cannot be left says so.
func TestMarkCannotBeLeft(t *testing.T) {
	t.Parallel()
	l := must(newLarge())
	path := l.copy(t)
	db, h := handled(l.open(t, path), nil)
	need(os.Symlink(filepath.Join(t.TempDir(), "none", "mark"), markOf(path)))
	put(t, path, make([]byte, os.Getpagesize()), l.roots["task"])
	if err := readAll(t, h); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "could not be left") || !strings.Contains(err.Error(), "create the file "+markOf(path)) {
		t.Errorf("a read = %v, want that no mark could be left", err)
	}
	need(db.Close())
}
