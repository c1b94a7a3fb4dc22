package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"a2a-server/store"
)

func createWith(key store.Hash) *store.Batch { return with(create(alice(), public("once")), key) }

// duplicateOf returns a check that an error names the first task; it is for any goroutine.
func duplicateOf(first store.TaskID) func(error) error {
	return func(err error) error {
		if dup, ok := errors.AsType[*store.DuplicateError](err); !ok || dup.Task != first {
			return fmt.Errorf("Append() = %s, want the duplicate of %s", said(err), first)
		}
		return nil
	}
}

func (f *fixture) checkDuplicates(t *testing.T, first *store.Batch) {
	t.Helper()
	for _, h := range f.h {
		again := with(createWith(first.Dedup), put("kind", "key", 0, "never"), "never")
		_, err := do(t.Context(), h, again)
		if err := duplicateOf(first.Task)(err); err != nil {
			t.Error(err)
		}
		f.checkGone(t, again.Task)
	}
}

// The state of the task does not matter; without a key nothing is a duplicate.
func testDuplicate(t *testing.T, f *fixture) {
	first, second := createWith(newHash()), createWith(newHash())
	mustAppend(t, f.h[0], first)
	mustAppend(t, f.h[1], second)
	f.append(t, with(moveTo(first.Task, 1, store.Final)))
	for range 2 {
		f.checkDuplicates(t, first)
		f.checkDuplicates(t, second)
		f.append(t, create(alice()))
		f.reopen(t)
	}
	// The very same create twice deserves both errors, and must get one of them.
	if _, err := do(t.Context(), f.h[0], second); !errors.Is(err, store.ErrConflict) {
		if err := duplicateOf(second.Task)(err); err != nil {
			t.Error(err)
		}
	}
	if _, total := mustList(t, f.h[0], alice(), store.Query{}); total != 4 {
		t.Errorf("total = %d, want 4", total)
	}
	f.checkNothing(t)
}

func testConcurrentDuplicates(t *testing.T, f *fixture) {
	for round := range 10 {
		key := newHash()
		commits, ids := make([]*store.Commit, 40), make([]store.TaskID, 40)
		queue := func(i int) error {
			b := createWith(key)
			ids[i], commits[i] = b.Task, f.h[i%2].Append(t.Context(), b)
			return nil
		}
		if round%2 == 0 {
			parallel(t, len(commits), queue)
		} else {
			for i := range commits {
				_ = queue(i)
			}
		}
		var won, named []store.TaskID
		for i, c := range commits {
			_, err := await(c)
			if err == nil {
				won = append(won, ids[i])
			} else if dup, ok := errors.AsType[*store.DuplicateError](err); ok {
				named = append(named, dup.Task)
			}
		}
		if len(won) != 1 || len(named) != len(ids)-1 {
			t.Fatalf("%d creates won, and %d are duplicates, of %d", len(won), len(named), len(ids))
		}
		for _, id := range named {
			if id != won[0] {
				t.Errorf("a duplicate names %s, want %s", id, won[0])
			}
		}
	}
}

func testFailedDedup(t *testing.T, f *fixture) {
	taken := create(alice())
	f.append(t, taken)
	for i, c := range []struct {
		part any
		want error
	}{
		{put("kind", "key", 3, ""), store.ErrConflict},
		{taken.Task, store.ErrConflict},
		{store.Scope{}, store.ErrNotFound},
		{put(string(make([]byte, store.MaxKind+1)), "key", 0, ""), store.ErrTooLarge},
		{(*store.Status)(nil), store.ErrInvalid},
	} {
		// Once with the answer waited for, once in the same queue.
		for _, waits := range []bool{true, false} {
			bad, h := with(createWith(newHash()), c.part), f.next()
			failed := h.Append(t.Context(), bad)
			if waits {
				_, _ = await(failed)
			}
			good := createWith(bad.Dedup)
			durable(t, h.Append(t.Context(), good))
			if _, err := await(failed); !errors.Is(err, c.want) {
				t.Errorf("case %d: Append() = %v, want %v", i, err, c.want)
			}
			f.checkDuplicates(t, good)
		}
	}
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
	// Creations found by a reopen have at least their hour.
	f.reopen(t)
	f.checkDuplicates(t, again)
	f.backend.Elapse(store.WindowAge - 1)
	f.checkDuplicates(t, again)
}

// A clock that is set forth and back moves nothing into the window or out of it: the times in
// ids are not the ages of their tasks.
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
	for range 3 {
		for _, b := range all {
			f.checkDuplicates(t, b)
		}
		f.reopen(t)
	}
}

// An owner with more messages than the window remembers loses their own oldest messages.
func testDedupFlood(t *testing.T, f *fixture) {
	first := createWith(newHash())
	f.append(t, first)
	flood, commits := make([]*store.Batch, Window+100), make([]*store.Commit, Window+100)
	for i := range flood {
		flood[i] = with(createWith(newHash()), bob())
		commits[i] = f.next().Append(t.Context(), flood[i])
	}
	durable(t, commits...)
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

// A row that a create puts with its message in an index finds the task after the window has forgotten the
// message, whoever asks among the owner's readers, until an aside removes it from the final task.
func testMessageRow(t *testing.T, f *fixture) {
	key := newHash()
	b := with(createWith(key), put("message", "first", 0, "", indexed("hash", string(key[:]))))
	f.append(t, b)
	f.append(t, moveTo(b.Task, 1, store.Final))
	f.backend.Elapse(2 * store.WindowAge)
	q := store.RowQuery{Kind: "message", Index: "hash", Prefix: key[:], Keys: true}
	found := func(want int) {
		t.Helper()
		for _, h := range f.h {
			for _, s := range seers() {
				page, err := h.Rows(t.Context(), s, q)
				if err != nil || len(page.Rows) != want || want > 0 && page.Rows[0].Task != b.Task {
					t.Errorf("Rows() = %v, %v, want %d row of %s", page.Rows, err, want, b.Task)
				}
			}
			if page, err := h.Rows(t.Context(), bob(), q); err != nil || len(page.Rows) > 0 {
				t.Errorf("Rows() of a stranger = %v, %v", page.Rows, err)
			}
		}
	}
	found(1)
	f.reopen(t)
	found(1)
	f.rebuild(t)
	found(1)
	rev := f.header(t, b.Task).Rev
	f.append(t, aside(b.Task, remove("message", "first", 1)))
	if now := f.header(t, b.Task).Rev; now != rev {
		t.Errorf("the removal moved the task from rev %d to %d", rev, now)
	}
	found(0)
}
