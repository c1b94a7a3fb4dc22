package boltstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// damaged is an open store whose file can be damaged under it: bbolt maps it, so that
// what is written to it is what is read next.
type damaged struct {
	db    *boltstore.DB
	h     store.Handle
	path  string
	file  *os.File
	bytes []byte // of the file when it was whole
	reads map[string]store.LogPage
}

var alice = store.Owner("t", "alice")

// newDamaged makes a store with two tasks that rest, one that is live under an older
// epoch, rows, due work and audit.
func newDamaged(t *testing.T) (d *damaged, rests, other, live store.TaskID) {
	t.Helper()
	d = &damaged{path: filepath.Join(t.TempDir(), "store.db")}
	d.db = must((boltstore.Options{Ahead: 1 << 20}).Open(d.path))
	t.Cleanup(func() { _ = d.db.Close() })
	older := must(d.db.Handle())
	do := func(b *store.Batch) { commit(older, b) }
	park := func(name string) store.TaskID {
		id := store.NewTaskID()
		do(&store.Batch{
			Scope: alice, Task: id, Rev: new(uint64(0)),
			Change: store.Change{Context: "context", Status: &store.Status{State: 2, Time: 1000}, Phase: store.Live},
			Events: []store.Event{{Public: true, Kind: "task", Time: 1000, Data: []byte(name + " begins")}},
		})
		do(&store.Batch{
			Scope: store.System(), Task: id, Rev: new(uint64(1)), Fence: new(uint64(1)),
			Events:   []store.Event{{Kind: "plan", Time: 1001, Data: []byte(name + " plans")}, {Public: true, Bulk: true, Kind: "artifact", Time: 1002, Data: []byte(name + " says")}},
			Snapshot: &store.Snapshot{After: 1, Rev: 1, Bytes: []byte(name + " snapshot"), Bulk: []byte(name + " bulk")},
		})
		do(&store.Batch{
			Scope: store.System(), Task: id, Fence: new(uint64(1)),
			Events: []store.Event{{Public: true, Bulk: true, Kind: "artifact", Time: 1003, Data: []byte(name + " shows")}},
		})
		do(&store.Batch{
			Scope: store.System(), Task: id, Rev: new(uint64(2)), Fence: new(uint64(1)),
			Change: store.Change{Status: &store.Status{State: 4, Time: 2000}, Phase: store.Parked},
			Events: []store.Event{{Public: true, Kind: "status", Time: 2000, Data: []byte(name + " waits")}},
			Rows:   []store.RowChange{{Kind: "approval", Key: []byte(name), IfRev: store.Any, Value: []byte(name + " asks"), Index: []store.IndexKey{{Index: "pending", Key: []byte(name)}}}},
			Due:    []store.DueChange{{Time: 3000, Kind: "expiry", Key: []byte(name), Payload: []byte(name + " expires")}},
			Audit:  [][]byte{[]byte(name + " was asked")},
		})
		return id
	}
	rests, other, live = park("rests"), park("other"), park("live")
	do(&store.Batch{Scope: store.System(), Task: live, Rev: new(uint64(3)), Change: store.Change{Phase: store.Live, TakeFence: true}})
	d.h = must(d.db.Handle())
	d.open(t)
	return d, rests, other, live
}

// open takes the file as it is now for whole.
func (d *damaged) open(t *testing.T) {
	t.Helper()
	d.file = must(os.OpenFile(d.path, os.O_RDWR, 0))
	t.Cleanup(func() { _ = d.file.Close() })
	// The file is longer: what was taken ahead is zeros.
	d.bytes = must(io.ReadAll(io.NewSectionReader(d.file, 0, 1<<20)))
	used := len(bytes.TrimRight(d.bytes, "\x00"))
	d.bytes = d.bytes[:min(len(d.bytes), (used/4096+1)*4096)]
}

// values returns what a bucket holds, by key.
func (d *damaged) values(t *testing.T, bucket string) (keys, values [][]byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	need(os.WriteFile(path, d.bytes, 0o600))
	file := must(bolt.Open(path, 0, &bolt.Options{ReadOnly: true}))
	defer file.Close()
	need(file.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
			keys, values = append(keys, bytes.Clone(k)), append(values, bytes.Clone(v))
			return nil
		})
	}))
	return keys, values
}

// put writes bytes over others wherever those are in the whole file: pages that are not in
// use any more may have them, too.
func (d *damaged) put(t *testing.T, value, over []byte) {
	t.Helper()
	for at := 0; ; at++ {
		n := bytes.Index(d.bytes[at:], over)
		if n < 0 {
			return
		}
		at += n
		must(d.file.WriteAt(value, int64(at)))
	}
}

// changeByte damages a value of a bucket.
func (d *damaged) changeByte(t *testing.T, bucket string, contains []byte) {
	t.Helper()
	keys, values := d.values(t, bucket)
	value := find(t, keys, values, contains)
	bad := bytes.Clone(value)
	bad[len(bad)-1]++
	d.put(t, bad, value)
}

// eachBit damages bits of a value in turn: every 13th one, so that each of a byte is among them.
func (d *damaged) eachBit(t *testing.T, value []byte, check func(t *testing.T)) {
	t.Helper()
	for n := 0; n < 8*len(value); n += 13 {
		bad := bytes.Clone(value)
		bad[n/8] ^= 1 << (n % 8)
		d.put(t, bad, value)
		if check(t); t.Failed() {
			t.Fatalf("with bit %d of byte %d of %d changed: %q", n%8, n/8, len(value), bad)
		}
	}
	d.put(t, value, value)
}

func find(t *testing.T, keys, values [][]byte, contains []byte) []byte {
	t.Helper()
	for i := range values {
		if bytes.Contains(keys[i], contains) || bytes.Contains(values[i], contains) {
			return values[i]
		}
	}
	t.Fatalf("no value has %q", contains)
	return nil
}

// read reads a task in all ways, each of which must give what was written or
// store.ErrDataLoss.
func (d *damaged) read(t *testing.T, id store.TaskID) error {
	t.Helper()
	var errs []error
	for _, from := range []store.From{store.AtSnapshot(), store.After(0)} {
		for _, limit := range []store.Limit{{}, {NoBulk: true}} {
			v, err := d.h.Read(t.Context(), alice, id, from, limit)
			errs = append(errs, err)
			if err != nil {
				if !errors.Is(err, store.ErrDataLoss) {
					t.Errorf("Read() = %v, want nil or ErrDataLoss", err)
				}
				continue
			}
			if d.reads == nil {
				d.reads = map[string]store.LogPage{}
			}
			way := fmt.Sprint(id, from, limit)
			if want, known := d.reads[way]; !known {
				d.reads[way] = v // the file was whole
			} else if diff := cmp.Diff(want, v, cmpopts.EquateComparable(store.Scope{}, store.From{})); diff != "" {
				t.Errorf("Read() is not what was written (-want +got):\n%s", diff)
			}
		}
	}
	return errors.Join(errs...)
}

// list returns the tasks of alice.
func (d *damaged) list(t *testing.T, q store.Query) []store.Header {
	t.Helper()
	page := must(d.h.Tasks(t.Context(), alice, q))
	if page.Total != int64(len(page.Tasks)) {
		t.Errorf("Tasks() has %d tasks in all and lists %d", page.Total, len(page.Tasks))
	}
	return page.Tasks
}

// Whatever bit of a log value is changed, its task cannot be read any more, all others
// can, and all are listed.
func TestDamagedLogValue(t *testing.T) {
	t.Parallel()
	d, rests, other, _ := newDamaged(t)
	for _, id := range []store.TaskID{rests, other} {
		need(d.read(t, id))
	}
	keys, values := d.values(t, "log")
	for _, data := range []string{"rests begins", "rests snapshot", "rests waits", "rests shows"} {
		value := find(t, keys, values, []byte(data))
		d.eachBit(t, value, func(t *testing.T) {
			_, err := d.h.Read(t.Context(), alice, rests, store.After(0), store.Limit{})
			if !errors.Is(err, store.ErrDataLoss) {
				t.Errorf("Read() of the damaged task = %v, want ErrDataLoss", err)
			}
			_ = d.read(t, rests) // whatever it does not need is not looked at
			if err := d.read(t, other); err != nil {
				t.Errorf("Read() of another task = %v", err)
			}
			if n := len(d.list(t, store.Query{})); n != 3 {
				t.Errorf("%d tasks are listed, want 3", n)
			}
		})
	}
	if err := d.read(t, rests); err != nil {
		t.Errorf("Read() of the mended file = %v", err)
	}
}

// A whole value in the place of another one is damage, too.
func TestDisplacedValue(t *testing.T) {
	t.Parallel()
	d, rests, other, _ := newDamaged(t)
	for _, tc := range []struct {
		bucket      string
		mine, other []byte
	}{
		{"log", []byte("rests begins"), []byte("other begins")},
		{"log", []byte("rests waits"), []byte("other waits")},
		{"task", rests[:], other[:]},
	} {
		keys, values := d.values(t, tc.bucket)
		mine, theirs := find(t, keys, values, tc.mine), find(t, keys, values, tc.other)
		if len(mine) != len(theirs) {
			t.Fatalf("values of %s have %d and %d bytes", tc.bucket, len(mine), len(theirs))
		}
		d.put(t, theirs, mine)
		if tc.bucket == "task" && !slices.ContainsFunc(d.list(t, store.Query{}), func(h store.Header) bool { return h.Task == rests && h.Damaged }) {
			t.Error("Tasks() has the header of another task")
		}
		unreadable(t, d.h, alice, rests, store.ErrDataLoss)
		d.put(t, mine, mine)
	}
	if err := d.read(t, rests); err != nil {
		t.Errorf("Read() of the mended file = %v", err)
	}
}

// Whatever bit of a header is changed, its task is listed with what the indexes know of
// it, and hides no other.
func TestDamagedHeader(t *testing.T) {
	t.Parallel()
	d, rests, other, _ := newDamaged(t)
	keys, values := d.values(t, "task")
	d.eachBit(t, find(t, keys, values, rests[:]), func(t *testing.T) {
		if err := d.read(t, rests); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Read() = %v, want ErrDataLoss", err)
		}
		for _, q := range []store.Query{{}, {State: 4}, {Context: "context"}, {Context: "context", State: 4}, {Since: 1500}} {
			tasks := d.list(t, q)
			i := slices.IndexFunc(tasks, func(h store.Header) bool { return h.Task == rests })
			if i < 0 || !slices.ContainsFunc(tasks, func(h store.Header) bool { return h.Task == other && !h.Damaged }) {
				t.Fatalf("Tasks(%+v) = %v: a task is missing", q, tasks)
			}
			want := store.Header{Task: rests, Owner: alice, Context: q.Context, State: 4, StatusTime: 2000, Damaged: true}
			if tasks[i] != want {
				t.Errorf("Tasks(%+v) has %+v, want %+v", q, tasks[i], want)
			}
		}
		all, err := d.h.Tasks(t.Context(), store.System(), store.Query{})
		if err != nil || len(all.Tasks) != 3 {
			t.Errorf("Tasks() of System = %d tasks, %v, want 3", len(all.Tasks), err)
		}
		if rows, err := d.h.Rows(t.Context(), alice, store.RowQuery{Kind: "approval", Index: "pending"}); err != nil || len(rows.Rows) != 2 {
			t.Errorf("Rows() = %d rows, %v, want those of the two other tasks", len(rows.Rows), err)
		}
		if rows, err := d.h.Rows(t.Context(), store.System(), store.RowQuery{Kind: "approval"}); err != nil || len(rows.Rows) != 3 {
			t.Errorf("Rows() of System = %d rows, %v, want 3", len(rows.Rows), err)
		}
	})
	// The writer refuses the task's batches, and nobody else's.
	d.changeByte(t, "task", rests[:])
	var commits []*store.Commit
	for _, id := range []store.TaskID{rests, other} {
		commits = append(commits, d.h.Append(t.Context(), &store.Batch{Scope: alice, Task: id, Rev: new(uint64(3)), Change: store.Change{Phase: store.Final}}))
	}
	if _, err := commits[0].Wait(); !errors.Is(err, store.ErrDataLoss) {
		t.Errorf("Append() to the damaged task = %v, want ErrDataLoss", err)
	}
	if _, err := commits[1].Wait(); err != nil {
		t.Errorf("Append() to another task = %v", err)
	}
}

// A live task whose header is damaged keeps no other from being recovered.
func TestClaimPassesDamaged(t *testing.T) {
	t.Parallel()
	d, rests, _, live := newDamaged(t)
	must(d.h.Append(t.Context(), &store.Batch{Scope: alice, Task: rests, Rev: new(uint64(3)), Change: store.Change{Phase: store.Live, TakeFence: true}}).Wait())
	next := must(d.db.Handle()) // both are of older epochs for it
	d.open(t)
	d.changeByte(t, "task", rests[:])
	for _, limit := range []int{1, 10} {
		claimed, err := next.Claim(t.Context(), limit)
		if want := 2 - len(claimed); err != nil || limit == 1 && (want != 1 || claimed[0].Task != live) || limit == 10 && len(claimed) != 0 {
			t.Fatalf("Claim(%d) = %v, %v, want the sound task first, and then none", limit, claimed, err)
		}
	}
}

// A damaged row, due row or audit entry is listed as one, beside all others.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	d, rests, _, _ := newDamaged(t)
	keys, values := d.values(t, "row")
	d.eachBit(t, find(t, keys, values, []byte("rests asks")), func(t *testing.T) {
		for _, q := range []store.RowQuery{{Kind: "approval"}, {Kind: "approval", Task: rests}, {Kind: "approval", Index: "pending"}} {
			page := must(d.h.Rows(t.Context(), alice, q))
			n := 0
			for _, row := range page.Rows {
				if row.Damaged {
					n++
				}
				if row.Damaged != (row.Task == rests) || row.Damaged && (string(row.Key) != "rests" || row.Value != nil) {
					t.Errorf("Rows(%+v) has %+v", q, row)
				}
			}
			if n != 1 {
				t.Errorf("Rows(%+v) has %d damaged rows, want 1", q, n)
			}
		}
		if _, err := d.h.Rows(t.Context(), alice, store.RowQuery{Kind: "approval", Task: rests, Key: []byte("rests")}); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Rows() by its key = %v, want ErrDataLoss", err)
		}
	})
	keys, values = d.values(t, "due")
	d.eachBit(t, find(t, keys, values, []byte("rests expires")), func(t *testing.T) {
		due, _, err := d.h.Due(t.Context(), 4000, "", 0)
		if err != nil || len(due) != 3 {
			t.Fatalf("Due() = %d rows, %v, want 3", len(due), err)
		}
		for _, row := range due {
			if row.Damaged != (row.Task == rests) || row.Kind != "expiry" || row.Damaged && row.Payload != nil {
				t.Errorf("Due() has %+v", row)
			}
		}
	})
	keys, values = d.values(t, "audit")
	d.eachBit(t, find(t, keys, values, []byte("rests was asked")), func(t *testing.T) {
		entries, err := d.h.Audit(t.Context(), 0, 0)
		if err != nil || len(entries) != 3 {
			t.Fatalf("Audit() = %d entries, %v, want 3", len(entries), err)
		}
		for _, e := range entries {
			if e.Damaged != (e.N == 1) || e.Damaged && e.Data != nil {
				t.Errorf("Audit() has %+v", e)
			}
		}
	})
	// What a damaged row says is needed to replace it.
	d.changeByte(t, "row", []byte("rests asks"))
	b := &store.Batch{Scope: alice, Task: rests, Rev: new(uint64(3)), Rows: []store.RowChange{{Kind: "approval", Key: []byte("rests"), IfRev: store.Any, Value: []byte("again")}}}
	refuses(t, d.h, b, store.ErrDataLoss)
}

// A task that cannot be found any more, because the key of its header was changed, is
// listed as damaged, and hides none of those after it.
func TestDamagedKey(t *testing.T) {
	t.Parallel()
	d, rests, other, _ := newDamaged(t)
	keys, values := d.values(t, "task")
	value := find(t, keys, values, rests[:])
	for n := 0; n < 8*4; n += 3 { // of the end of the key: pages stay in order
		bad := append(bytes.Clone(rests[:]), value...)
		bad[15-n/8] ^= 1 << (n % 8)
		d.put(t, bad, append(bytes.Clone(rests[:]), value...))
		for _, q := range []store.Query{{}, {State: 4}, {Context: "context"}, {Since: 1500}} {
			all := d.list(t, q)
			if i := slices.IndexFunc(all, func(h store.Header) bool { return h.Task == rests }); i < 0 || !all[i].Damaged {
				t.Errorf("Tasks(%+v) = %v, want the damaged task", q, all)
			}
			var paged []store.Header
			q.Limit = 1
			for page := (store.TaskPage{Next: "-"}); page.Next != "" && len(paged) <= len(all); q.Cursor = page.Next {
				page = must(d.h.Tasks(t.Context(), alice, q))
				paged = append(paged, page.Tasks...)
			}
			if diff := cmp.Diff(all, paged, cmpopts.EquateComparable(store.Scope{})); diff != "" {
				t.Errorf("Tasks(%+v), page by page, is not what it is at once (-want +got):\n%s", q, diff)
			}
		}
		if err := d.read(t, other); err != nil {
			t.Errorf("Read() of another task = %v", err)
		}
		if d.put(t, append(bytes.Clone(rests[:]), value...), bad); t.Failed() {
			t.Fatalf("with bit %d of the key changed", n)
		}
	}
}

// A mark does not make the indexes anew where that would take what cannot be read out of the lists.
func TestMarkKeepsDamagedValuesListed(t *testing.T) {
	t.Parallel()
	d, rests, other, _ := newDamaged(t)
	d.changeByte(t, "task", rests[:])
	d.changeByte(t, "row", []byte("other asks"))
	need(d.db.Close())
	need(os.WriteFile(markOf(d.path), nil, 0o600))
	d.db = must(boltstore.Open(d.path))
	d.h = must(d.db.Handle())
	if text, _ := d.db.Failed(); !strings.Contains(text, ": 2; each is an error or missing") {
		t.Errorf("Failed() = %q, want that two values are damaged", text)
	}
	if tasks := d.list(t, store.Query{}); !slices.ContainsFunc(tasks, func(h store.Header) bool { return h.Task == rests && h.Damaged }) {
		t.Errorf("Tasks() = %v, want the damaged task, too", tasks)
	}
	page := must(d.h.Rows(t.Context(), alice, store.RowQuery{Kind: "approval", Index: "pending"}))
	if !slices.ContainsFunc(page.Rows, func(r store.Row) bool { return r.Task == other && r.Damaged }) {
		t.Errorf("Rows() = %+v, want the damaged row, too", page.Rows)
	}
	need(d.db.Close())
}

var damagesOfSmall = map[string]func(page []byte){
	"kind":  func(page []byte) { page[8] ^= 0x03 },
	"count": func(page []byte) { page[11] |= 0x10 },
	"place": func(page []byte) { page[16+7] |= 0x10 },
	"key":   func(page []byte) { page[16+11] |= 0x10 },
	"value": func(page []byte) { page[16+15] |= 0x10 },
	"order": func(page []byte) { page[16+order.Uint32(page[20:])] = 0xff },
}
