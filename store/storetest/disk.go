package storetest

import (
	"crypto/rand"
	"errors"
	"sync/atomic"
	"testing"

	"a2a-server/store"
)

func diskCases() []testCase {
	return []testCase{
		{"what an owner uses", testDiskOfOwner},
		{"many tasks", testDiskOfManyTasks},
		{"creates at once", testDiskAtOnce},
		{"one queue", testDiskInOneQueue},
		{"the store as a whole", testDiskOfAll},
		{"a duplicate uses nothing", testDiskDuplicate},
	}
}

// noBound is above all that a test writes.
const noBound = 1 << 40

// createDisk is a create of n bytes that is bounded.
func createDisk(n int, bound store.Disk) *store.Batch {
	b := createIn(store.Live, alice(), store.Event{Kind: "wire", Public: true, Data: noise(n)})
	b.Disk = bound
	return b
}

// usedBy asks what an owner uses, by a create that is refused: its bound is 1.
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
	first := createDisk(n, store.Disk{}) // without a bound nobody counts yet
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
	// What has begun is refused nothing.
	f.append(t, chunks(first.Task, 1, public("chunk"), public("chunk")))
	f.append(t, change(second.Task, 1, private("decided")))
	want += 3*5 + 2
	check("after what belongs to tasks that have begun")
	f.reopen(t)
	check("after a reopen")
	f.rebuild(t)
	check("after a rebuild")
	f.append(t, moveTo(first.Task, 1, store.Final))
	if err := f.next().Delete(t.Context(), alice(), first.Task, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	want = cost + 7
	check("after a deletion")
	if r := f.append(t, createDisk(n, store.Disk{Owner: want + cost})); r.Disk.Owner != want+cost {
		t.Errorf("Receipt.Disk = %+v, want %d of the owner", r.Disk, want+cost)
	}
}

// What is created, grows and is deleted while the store counts is counted once.
func testDiskOfManyTasks(t *testing.T, f *fixture) {
	const tasks = 3000
	var old []*store.Batch
	var commits []*store.Commit
	for i := range tasks {
		b := createDisk(10, store.Disk{})
		if i%3 == 0 {
			b.Change.Phase = store.Final
		}
		old = append(old, b)
		commits = append(commits, f.next().Append(t.Context(), b))
	}
	wait := func() {
		t.Helper()
		for _, c := range commits {
			if _, err := await(c); err != nil {
				t.Fatalf("Append() = %v, want nil", err)
			}
		}
		commits = nil
	}
	wait()
	f.reopen(t)
	want := uint64(tasks * (10 + store.TaskBytes))
	first := f.h[0].Append(t.Context(), createDisk(10, store.Disk{Owner: noBound}))
	want += 10 + store.TaskBytes
	for i, b := range old {
		switch {
		case i%3 != 0:
			commits = append(commits, f.next().Append(t.Context(), chunks(b.Task, 1, public("chunk"))))
			want += 5
		case i%300 == 0:
			if err := f.next().Delete(t.Context(), alice(), b.Task, nil); err != nil {
				t.Fatalf("Delete() = %v, want nil", err)
			}
			want -= 10 + store.TaskBytes
		case i%30 == 0:
			commits = append(commits, f.next().Append(t.Context(), createDisk(20, store.Disk{})))
			want += 20 + store.TaskBytes
		}
	}
	wait()
	if _, err := await(first); err != nil {
		t.Fatalf("Append() = %v, want nil", err)
	}
	if got := f.usedBy(t, alice()); got != want {
		t.Errorf("alice uses %d bytes, want %d", got, want)
	}
}

func testDiskAtOnce(t *testing.T, f *fixture) {
	const room = 7
	cost := uint64(100 + store.TaskBytes)
	for round := range uint64(5) {
		var passed atomic.Int64
		bound := store.Disk{Owner: (round + 1) * room * cost}
		parallel(t, 40, func(i int) error {
			_, err := do(t.Context(), f.h[i%2], createDisk(100, bound))
			if full, ok := errors.AsType[*store.DiskError](err); ok && full.Used == bound.Owner {
				return nil
			}
			passed.Add(1)
			return err
		})
		if n := passed.Load(); n != room {
			t.Fatalf("%d creates passed, want %d", n, room)
		}
	}
}

// What is queued before a create counts, whether it is in the same commit or not.
func testDiskInOneQueue(t *testing.T, f *fixture) {
	cost := uint64(100 + store.TaskBytes)
	bound := store.Disk{Owner: 3 * cost}
	first := createDisk(100, bound)
	f.append(t, first)
	h := f.h[0]
	second, third, fourth := createDisk(100, bound), createDisk(100, bound), createDisk(100, store.Disk{Owner: 4 * cost})
	commits := []*store.Commit{
		h.Append(t.Context(), second),
		h.Append(t.Context(), chunks(first.Task, 1, public("a chunk"))),
		h.Append(t.Context(), third),
		h.Append(t.Context(), fourth),
	}
	for i, passes := range []bool{true, true, false, true} {
		_, err := await(commits[i])
		if _, full := errors.AsType[*store.DiskError](err); full == passes || passes && err != nil {
			t.Errorf("batch %d: Append() = %v, want that it passes: %t", i, err, passes)
		}
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
	var made [40]store.TaskID
	var passed atomic.Int64
	parallel(t, len(made), func(i int) error {
		b := createDisk(n, bound)
		if i%2 == 0 {
			b.Scope = bob() // whoever it is
		}
		_, err := do(t.Context(), f.h[i%2], b)
		if full, ok := errors.AsType[*store.DiskError](err); ok && full.All && full.Limit == bound.All {
			return nil
		}
		made[i] = b.Task
		passed.Add(1)
		return err
	})
	if got := passed.Load(); got < room/2 || got > room+2 {
		t.Errorf("%d creates of %d bytes passed, want about %d", got, n, room)
	}
	_, err := do(t.Context(), f.h[1], createDisk(2*n, bound))
	full, ok := errors.AsType[*store.DiskError](err)
	if !ok || full.Used > bound.All {
		t.Fatalf("Append() = %v, want a DiskError, with no more used than the bound", err)
	}
	// What has begun is refused nothing, and what is deleted is free again.
	for _, id := range made {
		if id.IsZero() {
			continue
		}
		f.append(t, chunks(id, 1, store.Event{Kind: "wire", Data: noise(n)}))
		f.append(t, moveTo(id, 1, store.Final))
	}
	if _, err := do(t.Context(), f.h[0], createDisk(n, bound)); err == nil {
		t.Error("Append() to a store that is full = nil, want a DiskError")
	}
	for _, id := range made {
		if id.IsZero() {
			continue
		}
		if err := f.next().Delete(t.Context(), store.System(), id, nil); err != nil {
			t.Fatalf("Delete() = %v, want nil", err)
		}
	}
	for range 2 {
		f.append(t, createDisk(n, bound))
		f.reopen(t)
	}
}

// A message that was sent before has its answer, also when the disk is full.
func testDiskDuplicate(t *testing.T, f *fixture) {
	b := createDisk(10, store.Disk{Owner: noBound, All: noBound})
	b.Dedup = newHash()
	f.append(t, b)
	for _, bound := range []store.Disk{{Owner: 1}, {All: 1}, {Owner: 1, All: 1}} {
		again := createDisk(10, bound)
		again.Dedup = b.Dedup
		_, err := do(t.Context(), f.next(), again)
		if err := checkDuplicate(err, b.Task); err != nil {
			t.Error(err)
		}
		again.Dedup = newHash()
		if _, err := do(t.Context(), f.next(), again); err == nil {
			t.Errorf("Append() of another message within %+v = nil, want a DiskError", bound)
		}
	}
}

// noise returns bytes that cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails, says crypto/rand
	return b
}
