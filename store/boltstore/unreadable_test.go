package boltstore_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// leaves calls fn with where each page is that has a key, or had one when it was in use.
func (d *damaged) leaves(key []byte, fn func(at int64, page []byte)) {
	order, size := binary.NativeEndian, os.Getpagesize()
	for at := 2 * size; at+size <= len(d.bytes); at += size {
		page := d.bytes[at:][:size]
		if order.Uint16(page[8:]) != 0x02 || order.Uint64(page) != uint64(at/size) {
			continue
		}
		for i := range int(order.Uint16(page[10:])) {
			e := 16 + 16*i
			start, n := e+int(order.Uint32(page[e+4:])), int(order.Uint32(page[e+8:]))
			if start+n <= size && bytes.Equal(page[start:][:n], key) {
				fn(int64(at), page)
				break
			}
		}
	}
}

// filled makes a store with many tasks of anonymous, takes the file as it is, and opens it
// again after change.
func filled(t *testing.T, change func(d *damaged)) *damaged {
	t.Helper()
	d := &damaged{path: sample(t)}
	d.open(t)
	change(d)
	d.db, d.h = handled(boltstore.Open(d.path))
	t.Cleanup(func() { _ = d.db.Close() })
	return d
}

// spoil zeroes the pages that have a key, from now on.
func (d *damaged) spoil(t *testing.T, key []byte) {
	t.Helper()
	n := 0
	d.leaves(key, func(at int64, page []byte) {
		n++
		must(d.file.WriteAt(make([]byte, len(page)), at))
	})
	if n == 0 {
		t.Fatalf("no page has the key %x", key)
	}
}

// A new task is refused if it cannot be known any more what its owner uses.
func TestCreateNeedsWhatIsDamaged(t *testing.T) {
	t.Parallel()
	d := &damaged{path: sample(t)}
	d.open(t)
	keys, _ := d.values(t, "task")
	d.spoil(t, keys[len(keys)/2])
	db, h := handled(boltstore.Open(d.path))
	b, _ := turn(anonymous)
	b.Disk.Owner = 1 << 40
	refuses(t, h, b, store.ErrDamaged)
	need(db.Close())
}

// One damaged header costs not the count of what owners use.
func TestCreateBesideDamage(t *testing.T) {
	t.Parallel()
	d := filled(t, func(d *damaged) {
		_, values := d.values(t, "task")
		bad := bytes.Clone(values[len(values)-1])
		bad[len(bad)-1]++
		d.put(t, bad, values[len(values)-1])
	})
	bounded, _ := turn(anonymous)
	bounded.Disk.Owner = 1 << 40
	commit(d.h, bounded)
}

// A damaged header hides no other task at work, and is in the lists of its owner as damaged:
// the index knows whose it is. Nobody else has it in a list.
func TestDamagedAtWork(t *testing.T) {
	t.Parallel()
	d, rests, _, live := newDamaged(t)
	b := &store.Batch{Scope: alice, Task: rests, Rev: new(uint64(3)), Change: store.Change{Phase: store.Live, TakeFence: true}}
	commit(d.h, b)
	d.open(t)
	d.changeByte(t, "task", rests[:])
	tasks := d.list(t, store.Query{})
	for _, h := range tasks {
		if want := h.Task == rests; h.Damaged != want || want && h.State == 0 {
			t.Errorf("task %s in a list: damaged %v, state %v; want %v, and a state", h.Task, h.Damaged, h.State, want)
		}
	}
	if len(tasks) != 3 || !slices.ContainsFunc(tasks, func(h store.Header) bool { return h.Task == live }) {
		t.Errorf("Tasks() = %v, want the other one at work, the one that rests, and the damaged one", tasks)
	}
	if page, err := d.h.Tasks(t.Context(), store.Tenant("another"), store.Query{}); err != nil || len(page.Tasks) != 0 {
		t.Errorf("Tasks() of another tenant = %v, %v, want none", page.Tasks, err)
	}
}
