package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"a2a-server/store"
)

func claimCases() []testCase {
	return []testCase{
		{"live tasks of an older epoch", testClaim},
		{"limit", testClaimLimit},
		{"page size", testClaimPageSize},
		{"never at rest", testClaimAtRest},
		{"a task that came back", testClaimCameBack},
		{"after a reopen by both at once", testClaimAfterReopen},
		{"against a running turn", testClaimRunning},
	}
}

func testClaimPageSize(t *testing.T, f *fixture) {
	var commits []*store.Commit
	for range 1120 {
		commits = append(commits, f.h[0].Append(t.Context(), create(alice())))
	}
	for _, c := range commits {
		if _, err := await(c); err != nil {
			t.Fatalf("Append() = %v, want nil", err)
		}
	}
	for _, c := range []struct{ limit, want int }{{0, 50}, {-1, 50}, {5000, 1000}, {5000, 20}, {5000, 0}} {
		if got, err := f.h[1].Claim(t.Context(), c.limit); err != nil || len(got) != c.want {
			t.Fatalf("Claim(%d) = %d headers, %v, want %d", c.limit, len(got), err, c.want)
		}
	}
}

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
	mark := create(bob())
	mustAppend(t, younger, mark)
	epoch := f.header(t, mark.Task).Epoch
	var want []store.Header
	for i := range 5 {
		b := rich(owners()[i%4], store.Live)
		mustAppend(t, older, b)
		mustAppend(t, older, createIn(store.Parked, alice()))
		mustAppend(t, older, createIn(store.Final, alice()))
		h := f.header(t, b.Task)
		h.Fence, h.Rev, h.Epoch = h.Fence+1, h.Rev+1, epoch
		want = append(want, h)
	}
	if got := mustClaim(t, older, 100); len(got) > 0 {
		t.Fatalf("Claim() by their own handle = %v, want nothing", got)
	}
	if d := diff(want, mustClaim(t, younger, 100)); d != "" {
		t.Fatalf("Claim() (-want +got)\n%s", d)
	}
	for _, w := range want {
		if d := diff(w, f.header(t, w.Task)); d != "" {
			t.Errorf("header of a claimed task (-want +got)\n%s", d)
		}
		// The turn that had it is cut off, by fence and by rev.
		turn := change(w.Task, 1, public("never"))
		turn.Fence = new(uint64(1))
		f.refuse(t, turn, store.ErrFenced)
		f.refuse(t, chunks(w.Task, 1, public("never")), store.ErrFenced)
		f.refuse(t, change(w.Task, 1), store.ErrConflict)
	}
	// What the younger one has, the older one does not take back.
	for _, h := range f.h {
		if got := mustClaim(t, h, 100); len(got) > 0 {
			t.Errorf("Claim() again = %v, want nothing", got)
		}
	}
	for _, w := range want {
		turn := change(w.Task, 2, public("continues"))
		turn.Fence = new(uint64(2))
		mustAppend(t, younger, turn)
	}
	if got := f.header(t, mark.Task); got.Fence != 1 || got.Rev != 1 {
		t.Errorf("the younger handle's own task = %+v, want it untouched", got)
	}
}

func testClaimLimit(t *testing.T, f *fixture) {
	for range 7 {
		mustAppend(t, f.h[0], create(alice()))
	}
	seen := map[store.TaskID]bool{}
	for _, want := range []int{3, 3, 1, 0} {
		got := mustClaim(t, f.h[1], 3)
		if len(got) != want {
			t.Fatalf("Claim(3) = %d headers, want %d", len(got), want)
		}
		for _, h := range got {
			if seen[h.Task] {
				t.Errorf("task %s was claimed twice", h.Task)
			}
			seen[h.Task] = true
		}
	}
}

func testClaimAtRest(t *testing.T, f *fixture) {
	var want []store.TaskID
	for i, phase := range []store.Phase{store.Live, store.Parked, store.Final} {
		for from, first := range []store.Phase{store.Live, store.Parked, store.Final} {
			b := createIn(first, alice())
			mustAppend(t, f.h[0], b)
			if first != store.Final {
				c := change(b.Task, 1)
				c.Change = store.Change{Phase: phase, Status: status(2, store.Millis(2000+i*3+from))}
				mustAppend(t, f.h[0], c)
				if phase == store.Live {
					want = append(want, b.Task)
				}
			}
		}
	}
	var got []store.TaskID
	for _, h := range mustClaim(t, f.h[1], 100) {
		got = append(got, h.Task)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("claimed tasks (-want +got)\n%s", d)
	}
}

// Live names the epoch of the handle that appended it, last.
func testClaimCameBack(t *testing.T, f *fixture) {
	b := createIn(store.Parked, alice())
	mustAppend(t, f.h[0], b)
	live := func(h store.Handle) {
		t.Helper()
		c := change(b.Task, mustHeader(t, h, b.Task).Rev)
		c.Change = store.Change{Phase: store.Live, TakeFence: true}
		mustAppend(t, h, c)
	}
	park := func(h store.Handle) {
		t.Helper()
		c := change(b.Task, mustHeader(t, h, b.Task).Rev)
		c.Change = store.Change{Phase: store.Parked}
		mustAppend(t, h, c)
	}
	live(f.h[1])
	if got := append(mustClaim(t, f.h[0], 9), mustClaim(t, f.h[1], 9)...); len(got) > 0 {
		t.Errorf("Claim() of the younger handle's task = %v, want nothing", got)
	}
	live(f.h[0])
	if got := mustClaim(t, f.h[1], 9); len(got) != 1 || got[0].Fence != 4 {
		t.Errorf("Claim() of the older handle's task = %v, want it with fence 4", got)
	}
	park(f.h[0])
	live(f.h[0])
	park(f.h[1])
	if got := mustClaim(t, f.h[1], 9); len(got) > 0 {
		t.Errorf("Claim() of a parked task = %v, want nothing", got)
	}
	// A change that does not say Live does not move the epoch.
	live(f.h[0])
	mustAppend(t, f.h[1], change(b.Task, mustHeader(t, f.h[1], b.Task).Rev))
	if got := mustClaim(t, f.h[1], 9); len(got) != 1 {
		t.Errorf("Claim() = %v, want the task", got)
	}
}

// Everything was left behind by a process that is gone. Handles claim at the same
// time; the younger one may take over what the older one has just taken, never
// the other way round, and nobody takes a task twice.
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
	var claimed [2][]store.Header
	parallel(t, 8, func(i int) error {
		for {
			headers, err := f.h[i%2].Claim(t.Context(), 3)
			if err != nil {
				return fmt.Errorf("Claim() = %w, want nil", err)
			}
			if len(headers) == 0 {
				return nil
			}
			mu.Lock()
			claimed[i%2] = append(claimed[i%2], headers...)
			mu.Unlock()
		}
	})
	taken := map[store.TaskID][2]int{}
	for i, headers := range claimed {
		for _, h := range headers {
			n := taken[h.Task]
			n[i]++
			taken[h.Task] = n
			if !ids[h.Task] || n[i] > 1 {
				t.Errorf("handle %d claimed %+v, %d times", i, h, n[i])
			}
			if want := uint64(2); h.Fence < want || h.Fence > want+1 || h.Rev != h.Fence {
				t.Errorf("claimed header = %+v, want fence and rev 2 or 3", h)
			}
		}
	}
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

// A claim lands in the middle of a stream: what was acknowledged to the older
// turn is in the log, and nothing of it after the claim.
func testClaimRunning(t *testing.T, f *fixture) {
	b := create(alice())
	mustAppend(t, f.h[0], b)
	running, ended := make(chan struct{}), make(chan struct{})
	acked := 0
	halt := background(t, func(stop <-chan struct{}) error {
		defer close(ended)
		n, err := stream(t.Context(), f.h[0], b.Task, running, stop)
		if acked = n; !errors.Is(err, store.ErrFenced) {
			return fmt.Errorf("stream ended with %s, want %w", said(err), store.ErrFenced)
		}
		return nil
	})
	receive(t, "stream", running)
	got := mustClaim(t, f.h[1], 1)
	if len(got) != 1 || got[0].Fence != 2 {
		t.Fatalf("Claim() = %+v, want the task with fence 2", got)
	}
	mustAppend(t, f.h[1], chunks(b.Task, 2, private("taken over")))
	receive(t, "end of the stream", ended)
	halt()
	var log history
	for n := range acked {
		log.add(public("chunk %d", n))
	}
	if got[0].Seq != uint64(acked) {
		t.Errorf("claimed header has seq %d, %d chunks were acknowledged", got[0].Seq, acked)
	}
	log.add(private("taken over"))
	f.checkLog(t, b.Task, log.events)
}
