package boltstore_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

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

// A file of format 1 is read as it was written, and written on: its snapshots hold all
// events, and none of its events is bulk.
func TestFormat1(t *testing.T) {
	t.Parallel()
	path := unpack(t, "format1.db")
	db, err := boltstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
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
