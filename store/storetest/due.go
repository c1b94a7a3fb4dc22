package storetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"a2a-server/store"
)

func dueCases() []testCase {
	return []testCase{
		{"order, limit and next time", testDueOrder},
		{"page size", testDuePageSize},
		{"past rows that wait", testDuePastWaiting},
		{"put and remove", testDueLife},
		{"of whom it is", testDueApart},
		{"rows stay until removed", testDueStays},
		{"pending and due in the header", testPending},
	}
}

func testDueOrder(t *testing.T, f *fixture) {
	for _, h := range f.h {
		if rows, next, err := h.Due(t.Context(), endless, "", 10); err != nil || len(rows) > 0 || next != 0 {
			t.Errorf("Due() = %v, %d, %v, want nothing", rows, next, err)
		}
	}
	random := rand.New(rand.NewPCG(7, 8))
	var all []store.Due
	for i := range 20 {
		b := create(owners()[i%4])
		if i%5 == 0 {
			b = scopeRows(owners()[i%4])
		}
		for n := range 5 {
			d := store.DueChange{Time: store.Millis(1 + random.IntN(300)), Kind: fmt.Sprint("kind", n%2), Key: fmt.Append(nil, i, n), Payload: fmt.Append(nil, "payload", i, n)}
			b.Due = append(b.Due, d)
			all = append(all, store.Due{Time: d.Time, Task: b.Task, Kind: d.Kind, Key: d.Key, Payload: d.Payload})
		}
		f.append(t, b)
	}
	all = sortDue(all)
	for _, now := range []store.Millis{0, 1, 9, 100, 255, 256, 299, 300, 1000, endless} {
		for _, limit := range []int{1, 2, 7, 50, 100, 101, 1000} {
			end := slices.IndexFunc(all, func(d store.Due) bool { return d.Time > now })
			if end < 0 {
				end = len(all)
			}
			n := min(limit, end)
			wantNext := store.Millis(0)
			if n < len(all) {
				wantNext = all[n].Time
			}
			for _, h := range f.h {
				got, next, err := h.Due(t.Context(), now, "", limit)
				if err != nil || next != wantNext || len(got) != n {
					t.Fatalf("Due(%d, %d) = %d rows, next %d, %v, want %d, next %d", now, limit, len(got), next, err, n, wantNext)
				}
				for i, d := range got {
					if d.Time != all[i].Time {
						t.Fatalf("Due(%d, %d) is not in the order of time: %v", now, limit, got)
					}
				}
				// Rows of one time are in any order, so the last time may be cut anywhere.
				for _, d := range got {
					if !slices.ContainsFunc(all, func(a store.Due) bool { return sameDue(a, d) }) {
						t.Fatalf("Due(%d, %d) has %+v, which nobody put", now, limit, d)
					}
				}
			}
		}
	}
	for _, h := range f.h {
		if d := diff(all, allDue(t, h)); d != "" {
			t.Errorf("Due() (-want +got)\n%s", d)
		}
	}
	// Page by page it is the same order, whatever the size of a page, and from
	// every row on it is the rest.
	order, _ := dueFrom(t, f.h[0], endless, "", 1000)
	for _, limit := range []int{1, 2, 7, 50, 99, 100, 101} {
		for _, h := range f.h {
			if got, next := dueFrom(t, h, endless, "", limit); diff(order, got) != "" || next != 0 {
				t.Fatalf("Due() in pages of %d has another order than in one page, or next %d (-one +pages)\n%s", limit, next, diff(order, got))
			}
		}
	}
	for i, d := range order {
		now := store.Millis(1 + random.IntN(300))
		want, wantNext := order[i+1:], store.Millis(0)
		if end := slices.IndexFunc(want, func(d store.Due) bool { return d.Time > now }); end >= 0 {
			want, wantNext = want[:end], want[end].Time
		}
		if got, next := dueFrom(t, f.next(), now, d.Position, 7); next != wantNext || len(got) != len(want) || len(want) > 0 && diff(want, got) != "" {
			t.Fatalf("Due(%d) after row %d: next %d, want %d (-want +got)\n%s", now, i, next, wantNext, diff(want, got))
		}
	}
}

// manyDue puts n due rows at ten times from 11 on, of some tasks and scopes.
func manyDue(t *testing.T, f *fixture, n int) {
	t.Helper()
	var batches []*store.Batch
	for i := range 6 {
		b := create(owners()[i%4])
		if i%3 == 0 {
			b = scopeRows(owners()[i%4])
		}
		batches = append(batches, b)
	}
	for i := range n {
		b := batches[i%len(batches)]
		b.Due = append(b.Due, dueAt(store.Millis(11+i*10/n), fmt.Sprintf("%05d", i*7919%n), "payload"))
	}
	for _, b := range batches {
		f.append(t, b)
	}
}

func testDuePageSize(t *testing.T, f *fixture) {
	manyDue(t, f, 1020)
	for limit, want := range map[int]int{0: 50, -1: 50, 10: 10, 1000: 1000, 5000: 1000} {
		for _, h := range f.h {
			rows, next, err := h.Due(t.Context(), endless, "", limit)
			if err != nil || len(rows) != want || next == 0 {
				t.Errorf("Due(limit %d) = %d rows, next %d, %v, want %d and a next time", limit, len(rows), next, err, want)
			}
		}
	}
}

// A caller that is busy with the first rows, or has put them off, reads past them.
func testDuePastWaiting(t *testing.T, f *fixture) {
	const total, page, waiting = 3000, 500, 2500
	manyDue(t, f, total)
	order, _ := dueFrom(t, f.h[0], endless, "", 1000)
	if len(order) != total {
		t.Fatalf("Due() = %d rows, want %d", len(order), total)
	}
	put := func(at store.Millis, key string) {
		t.Helper()
		b := scopeRows(alice())
		b.Due = []store.DueChange{dueAt(at, key, "new")}
		f.append(t, b)
	}
	const now = 100
	put(now+1, "not due")
	var at store.DuePosition
	for n := 0; n < waiting; n += page {
		rows, next, err := f.next().Due(t.Context(), now, at, page)
		if err != nil || next != order[n+page].Time || diff(order[n:n+page], rows) != "" {
			t.Fatalf("Due() after %d rows: next %d, %v, want %d (-want +got)\n%s", n, next, err, order[n+page].Time, diff(order[n:n+page], rows))
		}
		at = rows[page-1].Position
		put(store.Millis(1+n/page), "before all that was read")
	}
	rest := func(what string) {
		t.Helper()
		for _, h := range f.h {
			rows, next, err := h.Due(t.Context(), now, at, 5000)
			if err != nil || next != now+1 || diff(order[waiting:], rows) != "" {
				t.Fatalf("Due() after %d rows, %s: next %d, %v, want %d (-want +got)\n%s", waiting, what, next, err, now+1, diff(order[waiting:], rows))
			}
		}
	}
	rest("with new ones before them")
	// The row of the position goes, and others around it.
	gone := 0
	for _, d := range order[waiting-100 : waiting] {
		if d.Task.IsZero() {
			continue
		}
		b := change(d.Task, f.header(t, d.Task).Rev)
		b.Due = []store.DueChange{{Time: d.Time, Kind: d.Kind, Key: d.Key, Delete: true}}
		f.append(t, b)
		gone++
	}
	rest("with rows removed before them")
	f.reopen(t)
	rest("in a backend that was opened again")
	// From the beginning everything is seen.
	rows, next := dueFrom(t, f.h[0], now, "", page)
	if want := waiting/page + total - gone; len(rows) != want || next != now+1 {
		t.Fatalf("Due() = %d rows, next %d, want %d, next %d", len(rows), next, want, now+1)
	}
	for i := range waiting / page {
		if string(rows[i].Payload) != "new" || rows[i].Time != store.Millis(i+1) {
			t.Errorf("row %d = %+v, want one that was put meanwhile", i, rows[i])
		}
	}
}

func testDueLife(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	type changes = []store.DueChange
	for i, step := range []struct {
		changes changes
		want    []string // time, key and payload
	}{
		{changes{dueGone(5, "a")}, nil},
		{changes{dueAt(5, "a", "one")}, []string{"5 a one"}},
		{changes{dueAt(5, "a", "one")}, []string{"5 a one"}},
		{changes{dueAt(6, "a", "two")}, []string{"5 a one", "6 a two"}},
		{changes{dueAt(5, "b", "")}, []string{"5 a one", "5 b ", "6 a two"}},
		{changes{dueGone(6, "b"), dueGone(7, "a")}, []string{"5 a one", "5 b ", "6 a two"}},
		{changes{dueGone(5, "a")}, []string{"5 b ", "6 a two"}},
		// A deadline moves.
		{changes{dueGone(6, "a"), dueAt(8, "a", "two")}, []string{"5 b ", "8 a two"}},
		// Changes of one batch come one after the other.
		{changes{dueAt(9, "c", ""), dueGone(9, "c")}, []string{"5 b ", "8 a two"}},
		{changes{dueGone(9, "d"), dueAt(9, "d", "")}, []string{"5 b ", "8 a two", "9 d "}},
		{changes{dueGone(9, "d"), dueAt(9, "d", "new")}, []string{"5 b ", "8 a two", "9 d new"}},
		{changes{dueGone(5, "b"), dueGone(5, "b"), dueGone(8, "a"), dueGone(9, "d")}, nil},
	} {
		c := change(b.Task, uint64(i)+1)
		c.Due = step.changes
		f.append(t, c)
		s := scopeRows(bob())
		s.Due = step.changes
		f.append(t, s)
		for _, h := range f.h {
			var ofTask, ofScope []string
			for _, d := range allDue(t, h) {
				text := fmt.Sprintf("%d %s %s", d.Time, d.Key, d.Payload)
				if d.Task.IsZero() {
					ofScope = append(ofScope, text)
				} else {
					ofTask = append(ofTask, text)
				}
			}
			if d := cmp.Or(diff(step.want, ofTask), diff(step.want, ofScope)); d != "" {
				t.Fatalf("step %d: Due() (-want +got)\n%s", i, d)
			}
		}
		if got := f.header(t, b.Task).Due; got != uint32(len(step.want)) {
			t.Fatalf("step %d: Header.Due = %d, want %d", i, got, len(step.want))
		}
	}
}

// The same time, kind and key are a row for each task and each scope.
func testDueApart(t *testing.T, f *fixture) {
	var batches []*store.Batch
	for i := range 6 {
		b := create(alice())
		if i >= 3 {
			b = scopeRows(owners()[i-3])
		}
		b.Due = []store.DueChange{dueAt(5, "key", fmt.Sprint(i))}
		f.append(t, b)
		batches = append(batches, b)
	}
	for i, b := range batches {
		if got := allDue(t, f.h[i%2]); len(got) != len(batches)-i {
			t.Fatalf("Due() = %v, want %d rows", got, len(batches)-i)
		}
		gone := change(b.Task, 1)
		if b.Task.IsZero() {
			gone = scopeRows(b.Scope)
		}
		gone.Due = []store.DueChange{dueGone(5, "key")}
		f.append(t, gone)
		for _, d := range allDue(t, f.h[i%2]) {
			if string(d.Payload) == fmt.Sprint(i) {
				t.Errorf("Due() still has %+v", d)
			}
		}
	}
}

func testDueStays(t *testing.T, f *fixture) {
	b := createIn(store.Parked, alice())
	b.Due = []store.DueChange{dueAt(5, "key", "payload")}
	f.append(t, b)
	want := []store.Due{{Time: 5, Task: b.Task, Kind: "due", Key: []byte("key"), Payload: []byte("payload")}}
	for range 2 {
		for range 3 {
			for _, h := range f.h {
				if d := diff(want, allDue(t, h)); d != "" {
					t.Fatalf("Due() (-want +got)\n%s", d)
				}
			}
		}
		f.reopen(t)
	}
	bad := change(b.Task, 7)
	bad.Due = []store.DueChange{dueGone(5, "key")}
	f.refuse(t, bad, store.ErrConflict)
	if d := diff(want, allDue(t, f.h[0])); d != "" {
		t.Errorf("Due() after a refused batch (-want +got)\n%s", d)
	}
	end := change(b.Task, 1)
	end.Change = store.Change{Phase: store.Final, Status: status(4, 2000)}
	f.append(t, end)
	if err := f.h[0].Delete(t.Context(), alice(), b.Task, nil); !errors.Is(err, store.ErrBusy) {
		t.Errorf("Delete() = %v, want %v", err, store.ErrBusy)
	}
	if d := diff(want, allDue(t, f.h[1])); d != "" {
		t.Errorf("Due() of a final task (-want +got)\n%s", d)
	}
}

func testPending(t *testing.T, f *fixture) {
	b := create(alice())
	b.Change.Pending = new(uint32(7))
	b.Due = []store.DueChange{dueAt(1, "a", ""), dueAt(2, "b", "")}
	f.append(t, b)
	for i, step := range []struct {
		pending *uint32
		due     store.DueChange
		want    [2]uint32
	}{
		{nil, dueAt(3, "c", ""), [2]uint32{7, 3}},
		{new(uint32(0)), dueGone(1, "a"), [2]uint32{0, 2}},
		{new(uint32(1 << 31)), dueGone(1, "a"), [2]uint32{1 << 31, 2}},
		{nil, dueGone(2, "b"), [2]uint32{1 << 31, 1}},
	} {
		c := change(b.Task, uint64(i)+1)
		c.Change.Pending = step.pending
		c.Due = []store.DueChange{step.due}
		f.append(t, c)
		if h := f.header(t, b.Task); h.Pending != step.want[0] || h.Due != step.want[1] {
			t.Errorf("step %d: header = %+v, want pending and due %v", i, h, step.want)
		}
		list, _ := mustList(t, f.h[i%2], alice(), store.Query{})
		if len(list) != 1 || list[0].Pending != step.want[0] || list[0].Due != step.want[1] {
			t.Errorf("step %d: list = %+v, want pending and due %v", i, list, step.want)
		}
	}
}

func sameDue(a, b store.Due) bool {
	return a.Time == b.Time && a.Task == b.Task && a.Kind == b.Kind && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Payload, b.Payload)
}
