package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"a2a-server/store"
)

func dedupCases() []testCase {
	return []testCase{
		{"a duplicate names the first task", testDuplicate},
		{"a thousand keys", testManyKeys},
		{"concurrent creates", testConcurrentDuplicates},
		{"one queue", testQueuedDuplicates},
		{"no key never duplicates", testZeroDedup},
		{"a failed create leaves no key", testFailedDedup},
		{"a retried create", testRetriedCreate},
		{"an hour", testDedupHour},
		{"whatever the clock says", testDedupClock},
		{"one owner flushes nobody else", testDedupFlood},
	}
}

func createWith(key store.Hash) *store.Batch {
	b := create(alice(), public("once"))
	b.Dedup = key
	return b
}

// checkDuplicate is for any goroutine.
func checkDuplicate(err error, first store.TaskID) error {
	if dup, ok := errors.AsType[*store.DuplicateError](err); !ok || dup.Task != first {
		return fmt.Errorf("Append() = %s, want the duplicate of %s", said(err), first)
	}
	return nil
}

func (f *fixture) checkDuplicates(t *testing.T, first *store.Batch) {
	t.Helper()
	for _, h := range f.h {
		again := createWith(first.Dedup)
		again.Rows = []store.RowChange{put("kind", "key", 0, "never")}
		again.Audit = [][]byte{[]byte("never")}
		_, err := do(t.Context(), h, again)
		if err := checkDuplicate(err, first.Task); err != nil {
			t.Error(err)
		}
		f.checkGone(t, again.Task)
	}
}

func testDuplicate(t *testing.T, f *fixture) {
	var firsts []*store.Batch
	for _, h := range f.h {
		b := createWith(newHash())
		mustAppend(t, h, b)
		firsts = append(firsts, b)
		f.checkDuplicates(t, b)
		if got := f.header(t, b.Task).Message; got != b.Dedup {
			t.Errorf("Header.Message = %s, want %s", got, b.Dedup)
		}
	}
	// What has become of the task does not matter.
	final := change(firsts[0].Task, 1)
	final.Change = store.Change{Status: status(4, 2000), Phase: store.Final}
	f.append(t, final)
	for range 2 {
		for _, b := range firsts {
			f.checkDuplicates(t, b)
		}
		f.reopen(t)
	}
	if _, total := mustList(t, f.h[0], alice(), store.Query{}); total != 2 {
		t.Errorf("total = %d, want 2", total)
	}
	if got := mustAudit(t, f.h[0], 0, 10); len(got) > 0 {
		t.Errorf("Audit() = %v, want nothing", got)
	}
}

func testManyKeys(t *testing.T, f *fixture) {
	var firsts []*store.Batch
	var commits []*store.Commit
	for range 1000 {
		b := createWith(newHash())
		firsts = append(firsts, b)
		commits = append(commits, f.next().Append(t.Context(), b))
	}
	for _, c := range commits {
		if _, err := await(c); err != nil {
			t.Fatalf("Append() = %v, want nil", err)
		}
	}
	f.reopen(t)
	for i, b := range firsts {
		commits[i] = f.next().Append(t.Context(), createWith(b.Dedup))
	}
	for i, c := range commits {
		_, err := await(c)
		if err := checkDuplicate(err, firsts[i].Task); err != nil {
			t.Error(err)
		}
	}
}

func testConcurrentDuplicates(t *testing.T, f *fixture) {
	for range 10 {
		key := newHash()
		var mu sync.Mutex
		var won, named []store.TaskID
		parallel(t, 40, func(i int) error {
			b := createWith(key)
			_, err := do(t.Context(), f.h[i%2], b)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, b.Task)
				return nil
			}
			dup, ok := errors.AsType[*store.DuplicateError](err)
			if !ok {
				return fmt.Errorf("Append() = %w, want nil or a duplicate", err)
			}
			named = append(named, dup.Task)
			return nil
		})
		if len(won) != 1 {
			t.Fatalf("%d creates won, want 1", len(won))
		}
		for _, id := range named {
			if id != won[0] {
				t.Errorf("a duplicate names %s, want %s", id, won[0])
			}
		}
	}
}

func testQueuedDuplicates(t *testing.T, f *fixture) {
	key := newHash()
	first := createWith(key)
	commits := []*store.Commit{f.h[0].Append(t.Context(), first)}
	for range 30 {
		commits = append(commits, f.h[0].Append(t.Context(), createWith(key)))
	}
	won := 0
	for _, c := range commits {
		_, err := await(c)
		if err == nil {
			won++
		} else if dup, ok := errors.AsType[*store.DuplicateError](err); !ok {
			t.Errorf("Append() = %v, want nil or a duplicate", err)
		} else {
			f.header(t, dup.Task)
		}
	}
	if _, total := mustList(t, f.h[1], alice(), store.Query{}); won != 1 || total != 1 {
		t.Errorf("%d creates won, total %d, want 1 and 1", won, total)
	}
}

func testZeroDedup(t *testing.T, f *fixture) {
	for range 2 {
		for range 10 {
			f.append(t, create(alice()))
		}
		f.reopen(t)
	}
	if _, total := mustList(t, f.h[0], alice(), store.Query{}); total != 20 {
		t.Errorf("total = %d, want 20", total)
	}
}

func testFailedDedup(t *testing.T, f *fixture) {
	taken := create(alice())
	f.append(t, taken)
	for i, fail := range []func(b *store.Batch) error{
		func(b *store.Batch) error {
			b.Rows = []store.RowChange{put("kind", "key", 3, "")}
			return store.ErrConflict
		},
		func(b *store.Batch) error {
			b.Task = taken.Task
			return store.ErrConflict
		},
		func(b *store.Batch) error {
			b.Scope = store.Scope{}
			return store.ErrNotFound
		},
		func(b *store.Batch) error {
			b.Events = []store.Event{{Kind: string(make([]byte, store.MaxKind+1))}}
			return store.ErrTooLarge
		},
		func(b *store.Batch) error {
			b.Change.Status = nil
			return store.ErrInvalid
		},
	} {
		// Once with the answer waited for, once in the same queue.
		for _, waits := range []bool{true, false} {
			for _, h := range f.h {
				bad := createWith(newHash())
				want := fail(bad)
				failed := h.Append(t.Context(), bad)
				if waits {
					_, _ = await(failed)
				}
				good := createWith(bad.Dedup)
				committed := h.Append(t.Context(), good)
				if _, err := await(failed); !errors.Is(err, want) {
					t.Errorf("case %d: Append() = %v, want %v", i, err, want)
				}
				if _, err := await(committed); err != nil {
					t.Errorf("case %d: Append() = %v, want nil", i, err)
				}
				f.checkDuplicates(t, good)
			}
		}
	}
}

// The very same create twice deserves both errors; a client that repeats itself
// must get one of them, and no second task.
func testRetriedCreate(t *testing.T, f *fixture) {
	b := createWith(newHash())
	f.append(t, b)
	for _, h := range f.h {
		_, err := do(t.Context(), h, b)
		if !errors.Is(err, store.ErrConflict) {
			if err := checkDuplicate(err, b.Task); err != nil {
				t.Error(err)
			}
		}
	}
	f.checkLog(t, b.Task, numbered(b.Events...))
}

// The window's hour is that of the store's running time.
func testDedupHour(t *testing.T, f *fixture) {
	b := createWith(newHash())
	f.append(t, b)
	f.backend.Elapse(store.WindowAge - 1)
	f.checkDuplicates(t, b)
	f.backend.Elapse(1)
	again := createWith(b.Dedup)
	f.append(t, again)
	f.checkDuplicates(t, again)
	// What is found by a reopen has at least its hour.
	f.reopen(t)
	f.checkDuplicates(t, again)
	f.backend.Elapse(store.WindowAge - 1)
	f.checkDuplicates(t, again)
}

// A clock that is set forth and back moves nothing into the window or out of it: what
// ids say about time is not how long ago their tasks were made.
func testDedupClock(t *testing.T, f *fixture) {
	now := store.NewTaskID().Created()
	var all []*store.Batch
	for _, hours := range []int{0, -2, 0, 2, -2, 24 * 365, 0, -24 * 365, 48, 0} {
		b := createWith(newHash())
		ms := int64(now) + int64(hours)*time.Hour.Milliseconds()
		for i := range 6 {
			b.Task[i] = byte(ms >> (40 - 8*i))
		}
		f.append(t, b)
		all = append(all, b)
	}
	for range 2 {
		for _, b := range all {
			f.checkDuplicates(t, b)
		}
		f.reopen(t)
	}
	for _, b := range all {
		f.checkDuplicates(t, b)
	}
}

// An owner who sends more than the window remembers gives up his own oldest messages.
func testDedupFlood(t *testing.T, f *fixture) {
	first := createWith(newHash())
	f.append(t, first)
	flood := make([]*store.Batch, Window+100)
	commits := make([]*store.Commit, len(flood))
	for i := range flood {
		flood[i] = createWith(newHash())
		flood[i].Scope = bob()
		commits[i] = f.next().Append(t.Context(), flood[i])
	}
	for _, c := range commits {
		if _, err := await(c); err != nil {
			t.Fatalf("Append() = %v, want nil", err)
		}
	}
	for range 2 {
		f.checkDuplicates(t, first)
		f.checkDuplicates(t, flood[len(flood)-1])
		f.checkDuplicates(t, flood[len(flood)-Window+1])
		f.reopen(t)
	}
	forgotten := createWith(flood[len(flood)-Window].Dedup)
	f.append(t, forgotten)
	f.checkDuplicates(t, forgotten)
	f.checkDuplicates(t, first)
}
