package storetest

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"

	"a2a-server/store"
)

func mustClaim(t *testing.T, h store.Handle, limit int) []store.Header {
	t.Helper()
	headers, err := h.Claim(t.Context(), limit)
	if err != nil || len(headers) > limit {
		t.Fatalf("Claim(%d) = %d headers, %v, want at most %d, nil", limit, len(headers), err, limit)
	}
	slices.SortFunc(headers, func(a, b store.Header) int { return bytes.Compare(a.Task[:], b.Task[:]) })
	return headers
}

func testClaim(t *testing.T, f *fixture) {
	older, younger := f.h[0], f.h[1]
	own := create(bob())
	mustAppend(t, younger, own)
	var want []store.Header
	for i := range 5 {
		b := rich(owners()[i%4], store.Live)
		mustAppend(t, older, b)
		mustAppend(t, older, createIn(store.Parked, alice()))
		mustAppend(t, older, createIn(store.Final, alice()))
		h := f.header(t, b.Task)
		h.Fence, h.Rev, h.Epoch = h.Fence+1, h.Rev+1, younger.Epoch()
		want = append(want, h)
	}
	same(t, []store.Header{}, mustClaim(t, older, 100), "Claim() by their own handle")
	same(t, want, mustClaim(t, younger, 100), "Claim()")
	for _, w := range want {
		same(t, w, f.header(t, w.Task), "header of a claimed task")
		// The turn that had it is cut off, by fence and by rev.
		f.refuse(t, with(change(w.Task, 1, public("never")), fence(1)), store.ErrFenced)
		f.refuse(t, chunks(w.Task, 1, public("never")), store.ErrFenced)
		f.refuse(t, change(w.Task, 1), store.ErrConflict)
	}
	for _, h := range f.h { // the older handle takes nothing back
		same(t, []store.Header{}, mustClaim(t, h, 100), "Claim() again")
	}
	for _, w := range want {
		mustAppend(t, younger, with(change(w.Task, 2, public("continues")), fence(2)))
	}
	if got := f.header(t, own.Task); got.Fence != 1 || got.Rev != 1 {
		t.Errorf("the younger handle's own task = %+v, want it untouched", got)
	}
}

// All tasks were left behind by a dead process. Handles claim at the same time; the younger
// handle may take over tasks that the older has just taken, never the other way round, and no
// handle takes a task twice.
func testClaimAfterReopen(t *testing.T, f *fixture) {
	const live = 40
	ids := map[store.TaskID]bool{}
	for i := range live * 2 {
		b := createIn(store.Phase(1+i%2), alice())
		f.append(t, b)
		if i%2 == 0 {
			ids[b.Task] = true
		}
	}
	f.reopen(t)
	var mu sync.Mutex
	taken := map[store.TaskID][2]int{}
	parallel(t, 8, func(i int) error {
		for {
			headers, err := f.h[i%2].Claim(t.Context(), 3)
			if err != nil || len(headers) == 0 {
				return err
			}
			mu.Lock()
			for _, h := range headers {
				n := taken[h.Task]
				n[i%2]++
				taken[h.Task] = n
				if !ids[h.Task] || n[i%2] > 1 || h.Fence != 2 && h.Fence != 3 || h.Rev != h.Fence {
					t.Errorf("handle %d claimed %+v, %d times", i%2, h, n[i%2])
				}
			}
			mu.Unlock()
		}
	})
	for id := range ids {
		n := taken[id]
		if n[1] != 1 {
			t.Errorf("the younger handle claimed %s %d times, want once", id, n[1])
		}
		if h := f.header(t, id); h.Fence != uint64(1+n[0]+n[1]) || h.Rev != h.Fence {
			t.Errorf("header = %+v after %v claims", h, n)
		}
	}
	f.reopen(t)
	if got := mustClaim(t, f.h[1], 1000); len(got) != live {
		t.Errorf("Claim() after another reopen = %d headers, want %d", len(got), live)
	}
}

// A claim lands in the middle of a stream: the log has all events acknowledged to the older
// turn, and none of its events after the claim.
func testClaimRunning(t *testing.T, f *fixture) {
	b := create(alice())
	mustAppend(t, f.h[0], b)
	acked := f.cutOff(t, f.h[0], b.Task, func() {
		got := mustClaim(t, f.h[1], 1)
		if len(got) != 1 || got[0].Fence != 2 {
			t.Fatalf("Claim() = %+v, want the task with fence 2", got)
		}
		mustAppend(t, f.h[1], chunks(b.Task, 2, private("taken over")))
	})
	acked.add(private("taken over"))
	f.checkLog(t, b.Task, acked.events)
}

// The youngest instance holds its epoch, and nobody an older epoch or an epoch before a reopen.
func testLeases(t *testing.T, f *fixture) {
	check := func(epoch uint64, held bool) {
		t.Helper()
		for _, h := range f.h {
			if lease, err := h.Lease(t.Context(), epoch); err != nil || lease.Held != held {
				t.Errorf("Lease(%d) = %+v, %v, want Held = %v", epoch, lease, err, held)
			}
		}
	}
	older, younger := f.h[0].Epoch(), f.h[1].Epoch()
	check(older, false)
	check(younger, true)
	f.reopen(t)
	check(younger, false)
	check(f.h[1].Epoch(), true)
	mustClose(t, f.h[0])
	if _, err := f.h[0].Lease(t.Context(), younger); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Lease() of a closed handle = %v, want %v", err, store.ErrClosed)
	}
}
