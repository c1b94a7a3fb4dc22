package storetest

import (
	"fmt"
	"testing"

	"a2a-server/store"
)

func auditCases() []testCase {
	return []testCase{
		{"numbers without gaps", testAuditNumbers},
		{"pages", testAuditPages},
		{"page size", testAuditPageSize},
		{"under concurrency", testAuditConcurrency},
	}
}

func entry(n uint64, id store.TaskID, text string) store.AuditEntry {
	return store.AuditEntry{N: n, Task: id, Data: []byte(text)}
}

func testAuditNumbers(t *testing.T, f *fixture) {
	for _, h := range f.h {
		if got := mustAudit(t, h, 0, 10); len(got) > 0 {
			t.Errorf("Audit() = %v, want nothing", got)
		}
	}
	b := create(alice())
	b.Audit = [][]byte{[]byte("one"), []byte("two")}
	f.append(t, b)
	s := scopeRows(bob())
	s.Audit = [][]byte{[]byte("three")}
	f.append(t, s)
	bad := change(b.Task, 9)
	bad.Audit = [][]byte{[]byte("never")}
	f.refuse(t, bad, store.ErrConflict)
	f.reopen(t)
	c := change(b.Task, 1)
	c.Audit = [][]byte{{}, []byte("five")}
	f.append(t, c)
	want := []store.AuditEntry{
		entry(1, b.Task, "one"), entry(2, b.Task, "two"), entry(3, store.TaskID{}, "three"), entry(4, b.Task, ""), entry(5, b.Task, "five"),
	}
	for range 2 {
		for _, h := range f.h {
			if d := diff(want, mustAudit(t, h, 0, 10)); d != "" {
				t.Errorf("Audit() (-want +got)\n%s", d)
			}
		}
		f.reopen(t)
	}
}

func testAuditPages(t *testing.T, f *fixture) {
	var want []store.AuditEntry
	for i := range 60 {
		b := create(alice())
		for n := range i % 4 {
			text := fmt.Sprint(i, n)
			b.Audit = append(b.Audit, []byte(text))
			want = append(want, entry(uint64(len(want))+1, b.Task, text))
		}
		f.append(t, b)
	}
	for _, h := range f.h {
		for _, limit := range []int{1, 2, 7, 90, 1000} {
			for after := range len(want) + 3 {
				from := min(after, len(want))
				to := min(from+limit, len(want))
				if d := diff(want[from:to], mustAudit(t, h, uint64(after), limit)); d != "" {
					t.Fatalf("Audit(%d, %d) (-want +got)\n%s", after, limit, d)
				}
			}
		}
	}
}

func testAuditPageSize(t *testing.T, f *fixture) {
	b := create(alice())
	for range 1020 {
		b.Audit = append(b.Audit, []byte("entry"))
	}
	f.append(t, b)
	for limit, want := range map[int]int{0: 50, -1: 50, 10: 10, 1000: 1000, 5000: 1000} {
		for _, h := range f.h {
			if got, err := h.Audit(t.Context(), 5, limit); err != nil || len(got) != want || got[0].N != 6 {
				t.Errorf("Audit(5, %d) = %d entries, %v, want %d from 6 on", limit, len(got), err, want)
			}
		}
	}
}

// Entries of one task are in the order of its revs.
func testAuditConcurrency(t *testing.T, f *fixture) {
	const writers, batches = 12, 30
	ids := make([]store.TaskID, writers)
	parallel(t, writers, func(i int) error {
		b := create(alice())
		ids[i] = b.Task
		if _, err := do(t.Context(), f.h[i%2], b); err != nil {
			return err
		}
		for n := range batches {
			c := change(b.Task, uint64(n)+1)
			c.Audit = [][]byte{fmt.Append(nil, 2*n), fmt.Append(nil, 2*n+1)}
			if _, err := do(t.Context(), f.h[i%2], c); err != nil {
				return err
			}
		}
		return nil
	})
	for _, h := range f.h {
		entries := mustAudit(t, h, 0, 10_000)
		if len(entries) != writers*batches*2 {
			t.Fatalf("Audit() = %d entries, want %d", len(entries), writers*batches*2)
		}
		next := map[store.TaskID]int{}
		for i, e := range entries {
			if want := fmt.Sprint(next[e.Task]); e.N != uint64(i)+1 || string(e.Data) != want {
				t.Fatalf("entry %d = %+v, want number %d, %q", i, e, i+1, want)
			}
			next[e.Task]++
		}
		for _, id := range ids {
			if next[id] != 2*batches {
				t.Errorf("task %s has %d entries, want %d", id, next[id], 2*batches)
			}
		}
	}
}
