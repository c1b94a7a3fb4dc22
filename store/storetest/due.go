package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"a2a-server/store"
)

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

func testDueOrder(t *testing.T, f *fixture) {
	manyDue(t, f, 100)
	random := rand.New(rand.NewPCG(7, 8))
	all := allDue(t, f.h[0])
	order, _ := dueFrom(t, f.h[0], endless, "", 1000)
	for _, now := range []store.Millis{0, 1, 10, 11, 15, 20, 255, endless} {
		for _, limit := range []int{1, 2, 7, 50, 99, 100, 101, 1000} {
			end := slices.IndexFunc(all, func(d store.Due) bool { return d.Time > now })
			if end < 0 {
				end = len(all)
			}
			n, wantNext := min(limit, end), store.Millis(0)
			if n < len(all) {
				wantNext = all[n].Time
			}
			for _, h := range f.h {
				got, next, err := h.Due(t.Context(), now, "", limit)
				if err != nil || next != wantNext {
					t.Fatalf("Due(%d, %d) = next %d, %v, want %d", now, limit, next, err, wantNext)
				}
				same(t, order[:n], got, "Due(%d, %d)", now, limit)
				// Page by page it is the same order, whatever the size of a page.
				got, _ = dueFrom(t, h, now, "", limit)
				same(t, order[:end], got, "Due(%d) in pages of %d", now, limit)
			}
		}
	}
	// From every row on it is the rest.
	for i, d := range order {
		now := store.Millis(1 + random.IntN(25))
		want, wantNext := order[i+1:], store.Millis(0)
		if end := slices.IndexFunc(want, func(d store.Due) bool { return d.Time > now }); end >= 0 {
			want, wantNext = want[:end], want[end].Time
		}
		got, next := dueFrom(t, f.next(), now, d.Position, 7)
		if next != wantNext {
			t.Fatalf("Due(%d) after row %d: next %d, want %d", now, i, next, wantNext)
		}
		same(t, want, got, "Due(%d) after row %d", now, i)
	}
}

// A caller that is busy with the first rows, or has put them off, reads past them.
func testDuePastWaiting(t *testing.T, f *fixture) {
	const total, page, waiting, now = 3000, 500, 2500, 100
	manyDue(t, f, total)
	order, _ := dueFrom(t, f.h[0], endless, "", 1000)
	f.append(t, with(scopeRows(alice()), dueAt(now+1, "not due", "")))
	var at store.DuePosition
	for n := 0; n < waiting; n += page {
		rows, next, err := f.next().Due(t.Context(), now, at, page)
		if err != nil || next != order[n+page].Time {
			t.Fatalf("Due() after %d rows: next %d, %v, want %d", n, next, err, order[n+page].Time)
		}
		same(t, order[n:n+page], rows, "Due() after %d rows", n)
		at = rows[page-1].Position
		f.append(t, with(scopeRows(alice()), dueAt(store.Millis(1+n/page), "before all that was read", "new")))
	}
	rest := func(what string) {
		t.Helper()
		for _, h := range f.h {
			rows, next, err := h.Due(t.Context(), now, at, 5000)
			if err != nil || next != now+1 {
				t.Fatalf("Due() after %d rows, %s: next %d, %v, want %d", waiting, what, next, err, now+1)
			}
			same(t, order[waiting:], rows, "Due() after %d rows, %s", waiting, what)
		}
	}
	rest("with new ones before them")
	// The row of the position goes, and rows around it.
	gone := 0
	for _, d := range order[waiting-100 : waiting] {
		if d.Task.IsZero() {
			continue
		}
		f.append(t, with(change(d.Task, f.header(t, d.Task).Rev), store.DueChange{Time: d.Time, Kind: d.Kind, Key: d.Key, Delete: true}))
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
