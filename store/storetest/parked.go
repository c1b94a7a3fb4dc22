package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"a2a-server/store"
)

func parkedCases() []testCase {
	return []testCase{
		{"what counts", testParked},
		{"creates at once", testParkedAtOnce},
		{"one queue", testParkedInOneQueue},
		{"a duplicate is none too many", testParkedDuplicate},
	}
}

// createParked is a create that is bounded.
func createParked(limit uint32, contextID string) *store.Batch {
	b := createIn(store.Live, alice(), public("bounded"))
	b.Change.Context, b.Parked = contextID, limit
	return b
}

// checkParked is for any goroutine.
func checkParked(err error, open int64, limit uint32) error {
	want := store.ParkedError{Open: open, Limit: limit}
	if full, ok := errors.AsType[*store.ParkedError](err); !ok || *full != want {
		return fmt.Errorf("Append() = %s, want %q", said(err), want.Error())
	}
	return nil
}

// moveTo is a change of nothing but the phase.
func moveTo(id store.TaskID, rev uint64, phase store.Phase) *store.Batch {
	b := change(id, rev)
	b.Change.Phase = phase
	return b
}

func testParked(t *testing.T, f *fixture) {
	const limit = 3
	full := func(open int64) {
		t.Helper()
		for _, h := range f.h {
			b := createParked(limit, "crowded")
			_, err := do(t.Context(), h, b)
			if err := checkParked(err, open, limit); err != nil {
				t.Error(err)
			}
			f.checkGone(t, b.Task)
		}
	}
	var tasks []store.TaskID
	for range limit {
		b := createParked(limit, "crowded")
		f.append(t, b)
		tasks = append(tasks, b.Task)
	}
	full(limit)
	// Creates in another context, by another owner, or without the limit are not refused.
	f.append(t, createParked(limit, "other"))
	b := createParked(limit, "crowded")
	b.Scope = bob()
	f.append(t, b)
	// A parked task still counts; one that has ended does not.
	f.append(t, moveTo(tasks[0], 1, store.Parked))
	full(limit)
	f.append(t, moveTo(tasks[0], 2, store.Live))
	full(limit)
	f.append(t, moveTo(tasks[0], 3, store.Final))
	again := createParked(limit, "crowded")
	again.Change.Phase = store.Parked
	f.append(t, again)
	full(limit)
	// This holds whatever a store caches in memory.
	f.reopen(t)
	full(limit)
	f.rebuild(t)
	full(limit)
	if err := f.next().Delete(t.Context(), alice(), tasks[0], nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	full(limit)
	unbounded := createParked(0, "crowded")
	f.append(t, unbounded)
	full(limit + 1)
	f.append(t, createParked(limit+2, "crowded"))
	f.append(t, moveTo(unbounded.Task, 1, store.Final))
	full(limit + 1)
	f.append(t, moveTo(tasks[1], 1, store.Final))
	full(limit)
	f.append(t, moveTo(again.Task, 1, store.Final))
	f.append(t, createParked(limit, "crowded"))
	full(limit)
}

func testParkedAtOnce(t *testing.T, f *fixture) {
	for round := range 5 {
		const limit = 7
		contextID := fmt.Sprint("round ", round)
		var passed atomic.Int64
		parallel(t, 40, func(i int) error {
			b := createParked(limit, contextID)
			_, err := do(t.Context(), f.h[i%2], b)
			if err != nil {
				return checkParked(err, limit, limit)
			}
			passed.Add(1)
			_, err = do(t.Context(), f.h[(i+1)%2], moveTo(b.Task, 1, store.Parked))
			return err
		})
		if n := passed.Load(); n != limit {
			t.Fatalf("%d creates passed, want %d", n, limit)
		}
	}
}

// What is queued before a create counts, whether it is in the same commit or not.
func testParkedInOneQueue(t *testing.T, f *fixture) {
	const limit = 2
	first := createParked(limit, "queued")
	f.append(t, first)
	h := f.h[0]
	second, third, fourth, fifth := createParked(limit, "queued"), createParked(limit, "queued"), createParked(limit, "queued"), createParked(limit, "queued")
	commits := []*store.Commit{
		h.Append(t.Context(), second),
		h.Append(t.Context(), third),
		h.Append(t.Context(), moveTo(first.Task, 1, store.Final)),
		h.Append(t.Context(), fourth),
		h.Append(t.Context(), fifth),
	}
	for i, passes := range []bool{true, false, true, true, false} {
		_, err := await(commits[i])
		if passes && err != nil {
			t.Errorf("batch %d: Append() = %v, want nil", i, err)
		}
		if !passes {
			if err := checkParked(err, limit, limit); err != nil {
				t.Errorf("batch %d: %v", i, err)
			}
		}
	}
}

// A message that was sent before has its answer, also when its context is full.
func testParkedDuplicate(t *testing.T, f *fixture) {
	b := createParked(1, "crowded")
	b.Dedup = newHash()
	f.append(t, b)
	for range 2 {
		for _, h := range f.h {
			again := createParked(1, "crowded")
			again.Dedup = b.Dedup
			_, err := do(t.Context(), h, again)
			if err := checkDuplicate(err, b.Task); err != nil {
				t.Error(err)
			}
			_, err = do(t.Context(), h, createParked(1, "crowded"))
			if err := checkParked(err, 1, 1); err != nil {
				t.Error(err)
			}
		}
		f.reopen(t)
	}
}
