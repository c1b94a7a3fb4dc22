package boltstore_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// unpack writes a golden file of an earlier program to a folder of the test.
func unpack(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = packed.Close() })
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A copy of a file that an earlier program began is taken, as it was and once it is written on.
func TestCopiesOfFormats(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 3; n++ {
		path := unpack(t, fmt.Sprintf("format%d.db", n))
		for range 2 {
			if err := boltstore.CheckWhole(path); err != nil {
				t.Errorf("format %d: %v", n, err)
			}
			h, closeStore := openOnce(t, path)
			fill(t, h, store.Owner("t", "alice"), 10)
			closeStore()
		}
		if err := boltstore.CheckWhole(path); err != nil {
			t.Errorf("format %d, written on: %v", n, err)
		}
	}
}

// A file of format 1 is read as it was written, and written on: its snapshots hold all
// events, and none of its events is bulk.
func TestFormat1(t *testing.T) {
	t.Parallel()
	h := open(t, unpack(t, "format1.db"))
	alice := store.Owner("t", "alice")
	page, err := h.Tasks(t.Context(), alice, store.Query{})
	if err != nil || len(page.Tasks) != 1 {
		t.Fatalf("Tasks() = %d tasks, %v; want 1", len(page.Tasks), err)
	}
	id := page.Tasks[0].Task
	if h := page.Tasks[0]; h.Snapshot != 4 || h.BulkSnapshot != 4 || h.Bulk != 0 {
		t.Errorf("snapshots are up to %d and %d, with %d bytes of bulk; want 4, 4 and 0", h.Snapshot, h.BulkSnapshot, h.Bulk)
	}
	check := func(limit store.Limit, snapshot, bulk string, events ...uint64) {
		t.Helper()
		v, err := h.Read(t.Context(), alice, id, store.AtSnapshot(), limit)
		if err != nil {
			t.Fatal(err)
		}
		var seqs []uint64
		for _, e := range v.Events {
			seqs = append(seqs, e.Seq)
		}
		if string(v.Snapshot) != snapshot || string(v.Bulk) != bulk || len(seqs) != len(events) || v.More {
			t.Fatalf("Read(%+v) = %q, %q, events %v, more %t; want %q, %q, %v", limit, v.Snapshot, v.Bulk, seqs, v.More, snapshot, bulk, events)
		}
		for i := range events {
			if seqs[i] != events[i] {
				t.Fatalf("Read(%+v) has events %v, want %v", limit, seqs, events)
			}
		}
	}
	check(store.Limit{}, "all up to 4", "", 5, 6, 7)
	check(store.Limit{NoBulk: true}, "all up to 4", "", 5, 6, 7)
	if v, err := h.Read(t.Context(), alice, id, store.After(0), store.Limit{}); err != nil || len(v.Events) != 7 || string(v.Events[5].Data) != "event 6" {
		t.Fatalf("Read(After(0)) = %d events, %v; want 7, nil", len(v.Events), err)
	}
	do := func(b *store.Batch) {
		t.Helper()
		b.Scope, b.Task = store.System(), id
		if _, err := h.Append(t.Context(), b).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	bulk := store.Event{Public: true, Bulk: true, Kind: "artifact", Time: 2000, Data: []byte("bulk")}
	do(&store.Batch{Rev: ptr(uint64(2)), Change: store.Change{Phase: store.Live, TakeFence: true}})
	do(&store.Batch{Fence: ptr(uint64(2)), Events: []store.Event{bulk, bulk}}) // 8, 9
	check(store.Limit{}, "all up to 4", "", 5, 6, 7, 8, 9)
	check(store.Limit{NoBulk: true}, "all up to 4", "", 5, 6, 7)
	do(&store.Batch{Fence: ptr(uint64(2)), Events: []store.Event{bulk, {Kind: "private", Time: 2000}}, Snapshot: &store.Snapshot{After: 9, Rev: 3, Bytes: []byte("plain"), Bulk: []byte("bulk")}}) // 10, 11
	check(store.Limit{}, "plain", "bulk", 10, 11)
	check(store.Limit{NoBulk: true}, "plain", "", 11)
	do(&store.Batch{Fence: ptr(uint64(2)), Events: []store.Event{bulk}, Snapshot: &store.Snapshot{After: 11, Rev: 3, Bytes: []byte("newer")}}) // 12
	check(store.Limit{}, "newer", "bulk", 10, 12)
	check(store.Limit{NoBulk: true}, "newer", "")
}

// A file of format 2, whose values have no checksums, is read as it was written, and
// written on: what is written now has them.
func TestFormat2(t *testing.T) {
	t.Parallel()
	h := open(t, unpack(t, "format2.db"))
	alice := store.Owner("t", "alice")
	page, err := h.Tasks(t.Context(), alice, store.Query{})
	if err != nil || len(page.Tasks) != 2 || page.Total != 2 {
		t.Fatalf("Tasks() = %d tasks, %v; want 2", len(page.Tasks), err)
	}
	check := func(want string) { // everything but the logs, as one text
		t.Helper()
		got := ""
		for _, kind := range []string{"approval", "own"} {
			rows, err := h.Rows(t.Context(), alice, store.RowQuery{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows.Rows {
				got += fmt.Sprintf("%s %s %d %s %t\n", kind, row.Key, row.Rev, row.Value, row.Damaged)
			}
		}
		due, _, err := h.Due(t.Context(), 4000, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range due {
			got += fmt.Sprintf("due %s %s %s %t\n", row.Kind, row.Key, row.Payload, row.Damaged)
		}
		audit, err := h.Audit(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range audit {
			got += fmt.Sprintf("audit %d %t %s %t\n", e.N, e.Task.IsZero(), e.Data, e.Damaged)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the file differs (-want +got):\n%s", diff)
		}
	}
	check(`approval first 1 {"of":"first"} false
approval second 1 {"of":"second"} false
own key 1 of alice false
due expiry first  false
due expiry second  false
due child first {"of":"first"} false
due child second {"of":"second"} false
audit 1 false {"of":"first"} false
audit 2 false {"of":"second"} false
audit 3 true {"of":"alice"} false
`)
	second, first := page.Tasks[0].Task, page.Tasks[1].Task
	for name, id := range map[string]store.TaskID{"first": first, "second": second} {
		v, err := h.Read(t.Context(), alice, id, store.AtSnapshot(), store.Limit{})
		if err != nil || string(v.Snapshot) != name+" plain" || string(v.Bulk) != name+" bulk" || len(v.Events) != 1 || string(v.Events[0].Data) != name+" 4" {
			t.Fatalf("Read(%s) = %q, %q, %d events, %v", name, v.Snapshot, v.Bulk, len(v.Events), err)
		}
	}
	b := &store.Batch{
		Scope: alice, Task: first, Rev: ptr(uint64(3)),
		Change: store.Change{Status: &store.Status{State: 5, Time: 5000}, Phase: store.Final},
		Events: []store.Event{{Public: true, Kind: "status", Time: 5000, Data: []byte("first 5")}},
		Rows:   []store.RowChange{{Kind: "approval", Key: []byte("first"), IfRev: 1, Value: []byte("again"), Index: []store.IndexKey{{Index: "pending", Key: []byte("later")}}}},
		Due:    []store.DueChange{{Time: 3000, Kind: "expiry", Key: []byte("first"), Delete: true}, {Time: 3002, Kind: "expiry", Key: []byte("first")}},
		Audit:  [][]byte{[]byte("again")},
	}
	if _, err := h.Append(t.Context(), b).Wait(); err != nil {
		t.Fatal(err)
	}
	check(`approval first 2 again false
approval second 1 {"of":"second"} false
own key 1 of alice false
due expiry second  false
due child first {"of":"first"} false
due child second {"of":"second"} false
due expiry first  false
audit 1 false {"of":"first"} false
audit 2 false {"of":"second"} false
audit 3 true {"of":"alice"} false
audit 4 false again false
`)
	if v, err := h.Read(t.Context(), alice, first, store.After(0), store.Limit{}); err != nil || len(v.Events) != 5 || string(v.Events[4].Data) != "first 5" {
		t.Errorf("Read() = %d events, %v, want 5", len(v.Events), err)
	}
	if rows, err := h.Rows(t.Context(), alice, store.RowQuery{Kind: "approval", Index: "pending"}); err != nil || len(rows.Rows) != 2 || string(rows.Rows[0].Value) != "again" {
		t.Errorf("Rows() by index = %v, %v: the old entry of a row that was replaced is left, or the new one missing", rows.Rows, err)
	}
}

// A file of format 3, which has no rows of contexts, is read as it was written, and written
// on: its tasks share rows of their context from then on, until the last one is deleted.
func TestFormat3(t *testing.T) {
	t.Parallel()
	path := unpack(t, "format3.db")
	alice := store.Owner("t", "alice")
	check := func(h store.Handle, want string) { // everything but the logs, as one text
		t.Helper()
		got := ""
		for _, q := range []store.RowQuery{{Kind: "approval"}, {Kind: "approval", Index: "pending"}, {Kind: "own"}, {Kind: "state"}, {Kind: "state", Context: "context"}} {
			rows, err := h.Rows(t.Context(), alice, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows.Rows {
				got += fmt.Sprintf("%s %s%s %s %d %s %t\n", q.Kind, q.Index, q.Context, row.Key, row.Rev, row.Value, row.Damaged)
			}
		}
		due, _, err := h.Due(t.Context(), 4000, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range due {
			got += fmt.Sprintf("due %s %s %s %t\n", row.Kind, row.Key, row.Payload, row.Damaged)
		}
		audit, err := h.Audit(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range audit {
			got += fmt.Sprintf("audit %d %t %s %t\n", e.N, e.Task.IsZero(), e.Data, e.Damaged)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("the file differs (-want +got):\n%s", diff)
		}
	}
	const before = `approval  first 1 {"of":"first"} false
approval  second 1 {"of":"second"} false
approval  third 1 {"of":"third"} false
approval pending first 1 {"of":"first"} false
approval pending second 1 {"of":"second"} false
approval pending third 1 {"of":"third"} false
own  key 1 of alice false
`
	const audit = `due expiry third  false
audit 1 false {"of":"first"} false
audit 2 false {"of":"second"} false
audit 3 false {"of":"third"} false
audit 4 true {"of":"alice"} false
`
	h, closeStore := openOnce(t, path)
	check(h, before+"state  k 1 of alice, too false\n"+audit)
	page, err := h.Tasks(t.Context(), alice, store.Query{Context: "context"})
	if err != nil || len(page.Tasks) != 3 || page.Total != 3 {
		t.Fatalf("Tasks() = %d tasks, %v; want 3", len(page.Tasks), err)
	}
	ids := map[string]store.TaskID{}
	for i, name := range []string{"third", "second", "first"} {
		id := page.Tasks[i].Task
		ids[name] = id
		v, err := h.Read(t.Context(), alice, id, store.AtSnapshot(), store.Limit{})
		if err != nil || string(v.Snapshot) != name+" plain" || string(v.Bulk) != name+" bulk" || len(v.Events) != 1 || string(v.Events[0].Data) != name+" 4" {
			t.Fatalf("Read(%s) = %q, %q, %d events, %v", name, v.Snapshot, v.Bulk, len(v.Events), err)
		}
	}
	write := func(h store.Handle, name string, rev uint64, value string) error {
		_, err := h.Append(t.Context(), &store.Batch{
			Scope: alice, Task: ids[name], Rev: ptr(rev), ContextRows: store.RowBound{Rows: 1, Bytes: 20},
			Rows: []store.RowChange{{Kind: "state", Key: []byte("k"), IfRev: store.Any, Value: []byte(value), OfContext: true}},
		}).Wait()
		return err
	}
	if err := write(h, "first", 2, "shared"); err != nil {
		t.Fatal(err)
	}
	if err := write(h, "third", 2, "much more than is allowed"); err == nil {
		t.Error("rows of a context exceed their limit in a file that an earlier program wrote")
	}
	closeStore()
	h, closeStore = openOnce(t, path)
	defer closeStore()
	const both = "state  k 1 of alice, too false\n"
	check(h, before+both+"state  k 1 shared false\nstate context k 1 shared false\n"+audit)
	remove := func(name string) {
		t.Helper()
		if err := h.Delete(t.Context(), store.System(), ids[name]); err != nil {
			t.Fatal(err)
		}
	}
	remove("second")
	remove("first")
	rows, err := h.Rows(t.Context(), alice, store.RowQuery{Kind: "state", Context: "context"})
	if err != nil || len(rows.Rows) != 1 || string(rows.Rows[0].Value) != "shared" {
		t.Fatalf("Rows() = %v, %v; want the row that the task which is left shares", rows.Rows, err)
	}
	if _, err := h.Append(t.Context(), &store.Batch{
		Scope: alice, Task: ids["third"], Rev: ptr(uint64(2)), Change: store.Change{Phase: store.Final},
		Due: []store.DueChange{{Time: 3000, Kind: "expiry", Key: []byte("third"), Delete: true}},
	}).Wait(); err != nil {
		t.Fatal(err)
	}
	remove("third")
	rows, err = h.Rows(t.Context(), alice, store.RowQuery{Kind: "state"})
	if err != nil || len(rows.Rows) != 1 || rows.Rows[0].Context != "" {
		t.Errorf("Rows() = %v, %v; want the row of alice, and none of a context without tasks", rows.Rows, err)
	}
}

// openOnce opens a store that is closed within the test.
func openOnce(t *testing.T, path string) (h store.Handle, closeStore func()) {
	t.Helper()
	db, err := boltstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if h, err = db.Handle(); err != nil {
		t.Fatal(err)
	}
	return h, func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
