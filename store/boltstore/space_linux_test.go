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
		db := must(boltstore.Open(path))
		h = must(db.Handle())
		return db
	}
	said := map[store.TaskID][]byte{}
	create := func(size int) {
		t.Helper()
		id, text := store.NewTaskID(), bytes.Repeat([]byte{byte(1 + len(said))}, size)
		b := &store.Batch{
			Scope: alice, Task: id, Rev: new(uint64(0)),
			Change: store.Change{Context: "context", Status: &store.Status{State: 2, Time: 1000}, Phase: store.Parked},
			Events: []store.Event{{Public: true, Kind: "task", Time: 1000, Data: text}},
		}
		commit(h, b)
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
	need(db.Close())
	db = open()
	check("after opening again")
	create(100)
	check("after another commit")
	need(db.Close())
}

// Zeros are written only to space that was allocated. A file for which none is takes what its
// pages take.
func TestNoZerosWithoutSpace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	defer db.Close()
	create, end := turn(alice)
	commit(h, create, end)
	var file syscall.Stat_t
	need(syscall.Stat(path, &file))
	if taken := file.Blocks * 512; taken > 512<<10 {
		t.Errorf("two commits take %d KiB of the disk", taken>>10)
	}
}

// A first start takes at most 4 MiB of the disk, and a store that has tasks has more than the reserve
// ahead.
func TestNewStoreIsSmall(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, h := handled(boltstore.Open(path))
	defer db.Close()
	taken := func() int64 {
		var file syscall.Stat_t
		need(syscall.Stat(path, &file))
		return max(file.Blocks*512, file.Size)
	}
	create, end := turn(alice)
	commit(h, create, end)
	if n := taken(); n > 4<<20 {
		t.Errorf("the first task makes a file of %d KiB, want at most 4 MiB", n>>10)
	}
	for range 2 {
		create, end := turn(alice)
		create.Events = append(create.Events, store.Event{Kind: "k", Data: noise(1 << 20)})
		commit(h, create, end)
	}
	if n := taken(); n < 2<<20+8<<20 || n > 32<<20 {
		t.Errorf("a store of 2 MiB takes %d KiB, want 8 MiB ahead", n>>10)
	}
}
