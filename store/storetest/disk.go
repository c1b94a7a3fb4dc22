package storetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"

	"a2a-server/store"
)

// noBound is above all that a test writes.
const noBound = 1 << 40

// createDisk is a create of n bytes that is bounded.
func createDisk(n int, bound store.Disk) *store.Batch {
	b := createIn(store.Live, alice(), store.Event{Kind: "wire", Public: true, Data: noise(n)})
	b.Disk = bound
	return b
}

// usedBy returns an owner's usage from a create that is refused: its bound is 1.
func (f *fixture) usedBy(t *testing.T, owner store.Scope) uint64 {
	t.Helper()
	b := createDisk(0, store.Disk{Owner: 1})
	b.Scope = owner
	_, err := do(t.Context(), f.next(), b)
	full, ok := errors.AsType[*store.DiskError](err)
	if !ok || full.All || full.Limit != 1 {
		t.Fatalf("Append() beyond a bound = %v, want a DiskError of the owner", err)
	}
	f.checkGone(t, b.Task)
	return full.Used
}

func testDiskOfOwner(t *testing.T, f *fixture) {
	const n = 500
	cost := uint64(n + store.TaskBytes)
	want := uint64(0)
	check := func(when string) {
		t.Helper()
		for range 2 {
			if got := f.usedBy(t, alice()); got != want {
				t.Errorf("%s: alice uses %d bytes, want %d", when, got, want)
			}
		}
		if got := f.usedBy(t, bob()); got != 0 {
			t.Errorf("%s: bob uses %d bytes, want 0", when, got)
		}
	}
	first := createDisk(n, store.Disk{}) // without a bound the store does not count yet
	if r := f.append(t, first); r.Disk != (store.Disk{}) {
		t.Errorf("Receipt.Disk = %+v, want nothing without a bound", r.Disk)
	}
	want = cost
	check("after a create without a bound")
	second := createDisk(n, store.Disk{Owner: 2 * cost})
	if r := f.append(t, second); r.Disk != (store.Disk{Owner: 2 * cost}) {
		t.Errorf("Receipt.Disk = %+v, want %d of the owner", r.Disk, 2*cost)
	}
	want = 2 * cost
	check("after a create that just fits")
	_, err := do(t.Context(), f.next(), createDisk(n, store.Disk{Owner: 3*cost - 1}))
	if full, ok := errors.AsType[*store.DiskError](err); !ok || *full != (store.DiskError{Used: want, Limit: 3*cost - 1}) {
		t.Errorf("Append() = %v, want a DiskError", err)
	}
	// A task that has begun is refused nothing.
	f.append(t, chunks(first.Task, 1, public("chunk"), public("chunk")))
	f.append(t, change(second.Task, 1, private("decided")))
	want += 3*5 + 2
	check("after what belongs to tasks that have begun")
	f.reopen(t)
	check("after a reopen")
	f.rebuild(t)
	check("after a rebuild")
	f.append(t, moveTo(first.Task, 1, store.Final))
	f.delete(t, first.Task)
	want = cost + 7
	check("after a deletion")
	if r := f.append(t, createDisk(n, store.Disk{Owner: want + cost})); r.Disk.Owner != want+cost {
		t.Errorf("Receipt.Disk = %+v, want %d of the owner", r.Disk, want+cost)
	}
}

// Tasks that are created, grow and are deleted while the store counts are counted once, and so
// are the rows of contexts.
func testDiskOfManyTasks(t *testing.T, f *fixture) {
	const tasks, cost = 3000, 10 + store.TaskBytes
	old, commits := make([]*store.Batch, tasks), make([]*store.Commit, tasks)
	for i := range old {
		old[i] = createDisk(10, store.Disk{})
		old[i].Change.Context = fmt.Sprint("context ", i)
		commits[i] = f.h[i%2].Append(t.Context(), old[i])
	}
	durable(t, commits...)
	for i, b := range old {
		c := with(change(b.Task, 1), ofContext(put("kind", "key", 0, "1234567")))
		if i%3 == 0 {
			c.Change.Phase = store.Final
		}
		commits[i] = f.h[i%2].Append(t.Context(), c)
	}
	durable(t, commits...)
	f.reopen(t)
	want := uint64(tasks * (cost + 10))
	counted := []*store.Commit{f.h[0].Append(t.Context(), createDisk(10, store.Disk{Owner: noBound}))}
	want += cost
	for i, b := range old {
		next := chunks(b.Task, 1, public("chunk"))
		switch {
		case i%300 == 0:
			f.delete(t, b.Task)
			want -= cost + 10
			continue
		case i%30 == 0:
			next = createDisk(20, store.Disk{})
			want += 20 + store.TaskBytes
		case i%30 == 10:
			next = with(change(b.Task, 2), ofContext(put("kind", "key", store.Any, ""), put("kind", "b", 0, "123456789")))
			want += 10 - 7
		case i%30 == 20:
			next = with(change(b.Task, 2), ofContext(remove("kind", "key", store.Any)))
			want -= 10
		case i%3 == 0:
			continue
		default:
			want += 5
		}
		counted = append(counted, f.next().Append(t.Context(), next))
	}
	durable(t, counted...)
	if got := f.usedBy(t, alice()); got != want {
		t.Errorf("alice uses %d bytes, want %d", got, want)
	}
}

func testDiskOfAll(t *testing.T, f *fixture) {
	const n = 64 << 10
	used := f.append(t, createDisk(n, store.Disk{All: noBound})).Disk.All
	if used < n {
		t.Fatalf("Receipt.Disk.All = %d, want at least the %d bytes of the task", used, n)
	}
	// Creates at once fill the room, and no more.
	const room = 10
	bound := store.Disk{All: used + room*(n+8<<10)}
	var all [40]store.TaskID
	parallel(t, len(all), func(i int) error {
		b := with(createDisk(n, bound), owners()[i%2]) // for any owner
		_, err := do(t.Context(), f.h[i%2], b)
		if full, ok := errors.AsType[*store.DiskError](err); ok && full.All && full.Limit == bound.All {
			return nil
		}
		all[i] = b.Task
		return err
	})
	made := slices.DeleteFunc(all[:], store.TaskID.IsZero)
	if got := len(made); got < room/2 || got > room+2 {
		t.Errorf("%d creates of %d bytes passed, want about %d", got, n, room)
	}
	_, err := do(t.Context(), f.h[1], createDisk(2*n, bound))
	full, ok := errors.AsType[*store.DiskError](err)
	if !ok || full.Used > bound.All {
		t.Fatalf("Append() = %v, want a DiskError, with no more used than the bound", err)
	}
	// A task that has begun is refused nothing, and a deleted task frees its space.
	for _, id := range made {
		f.append(t, chunks(id, 1, store.Event{Kind: "wire", Data: noise(n)}))
		f.append(t, moveTo(id, 1, store.Final))
	}
	if _, err := do(t.Context(), f.h[0], createDisk(n, bound)); err == nil {
		t.Error("Append() to a store that is full = nil, want a DiskError")
	}
	for _, id := range made {
		f.delete(t, id)
	}
	for range 2 {
		f.append(t, createDisk(n, bound))
		f.reopen(t)
	}
}

// noise returns bytes that cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says crypto/rand
	return b
}
