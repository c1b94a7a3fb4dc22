package boltstore_test

import (
	"bytes"
	"path/filepath"
	"syscall"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// The zeros that are written ahead of pages go where no page is, also after commits that have
// taken more than there was.
func TestZerosAhead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	var h store.Handle
	open := func() *boltstore.DB {
		t.Helper()
		db, err := boltstore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if h, err = db.Handle(); err != nil {
			t.Fatal(err)
		}
		return db
	}
	said := map[store.TaskID][]byte{}
	create := func(size int) {
		t.Helper()
		id, text := store.NewTaskID(), bytes.Repeat([]byte{byte(1 + len(said))}, size)
		b := &store.Batch{
			Scope: alice, Task: id, Rev: ptr(uint64(0)),
			Change: store.Change{Context: "context", Status: &store.Status{State: 2, Time: 1000}, Phase: store.Parked},
			Events: []store.Event{{Public: true, Kind: "task", Time: 1000, Data: text}},
		}
		if _, err := h.Append(t.Context(), b).Wait(); err != nil {
			t.Fatal(err)
		}
		said[id] = text
	}
	check := func(when string) {
		t.Helper()
		for id, text := range said {
			page, err := h.Read(t.Context(), alice, id, store.After(0), store.Limit{})
			if err != nil || len(page.Events) != 1 || !bytes.Equal(page.Events[0].Data, text) {
				t.Fatalf("Read() %s: %d events, %v, want the one of %d bytes", when, len(page.Events), err, len(text))
			}
		}
	}
	db := open()
	for _, size := range []int{100, 3 << 20, 100, 600 << 10, 600 << 10, 1 << 20, 5 << 20, 100, 100} {
		create(size)
		check("after a commit")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open()
	check("after opening again")
	create(100)
	check("after another commit")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// Zeros are written only to space that was allocated. A file for which none is takes what its
// pages take.
func TestNoZerosWithoutSpace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := boltstore.Options{Ahead: -1}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	create, end := turn(alice)
	for _, b := range []*store.Batch{create, end} {
		if _, err := h.Append(t.Context(), b).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	var file syscall.Stat_t
	if err := syscall.Stat(path, &file); err != nil {
		t.Fatal(err)
	}
	if taken := file.Blocks * 512; taken > 512<<10 {
		t.Errorf("two commits take %d KiB of the disk", taken>>10)
	}
}
