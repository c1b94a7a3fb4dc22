package storetest

import (
	"errors"
	"slices"
	"testing"

	"a2a-server/store"
)

// The key of a message and the task that it created, as the engine writes them: a row of alice's that a create
// puts if it is not there.
func createFor(message string, parts ...any) *store.Batch {
	b := create(alice(), public("once"))
	return with(with(b, ofOwner(put("message", message, 0, b.Task.String()))), parts...)
}

// checkMessage looks a message up by each handle.
func (f *fixture) checkMessage(t *testing.T, message string, first *store.Batch) {
	t.Helper()
	want := []store.Row{row(store.TaskID{}, "message", message, 1, first.Task.String())}
	f.checkRows(t, alice(), store.RowQuery{Kind: "message", Key: []byte(message)}, want...)
	for _, h := range f.h {
		again := createFor(message, "never")
		if _, err := do(t.Context(), h, again); !errors.Is(err, store.ErrConflict) {
			t.Errorf("Append() = %s, want %v", said(err), store.ErrConflict)
		}
		f.checkGone(t, again.Task)
	}
}

// Of the creates that put a row of an owner only the first passes, for as long as the row is there.
func testMessage(t *testing.T, f *fixture) {
	first, second := createFor("first"), createFor("second")
	mustAppend(t, f.h[0], first)
	mustAppend(t, f.h[1], second)
	f.append(t, with(create(bob()), store.RowChange{Of: bob(), Kind: "message", Key: []byte("first")}))
	f.append(t, moveTo(first.Task, 1, store.Final))
	for range 2 {
		f.checkMessage(t, "first", first)
		f.checkMessage(t, "second", second)
		f.reopen(t)
	}
	f.rebuild(t)
	f.delete(t, first.Task)
	f.checkMessage(t, "first", first)
	f.append(t, scopeRows(alice(), remove("message", "first", 1)))
	again := createFor("first")
	f.append(t, again)
	f.checkMessage(t, "first", again)
}

// A create that conflicts with another is answered when the other one is durable.
func testMessageAtOnce(t *testing.T, f *fixture) {
	for round := range 10 {
		message := string(rune('a' + round))
		commits, ids := make([]*store.Commit, 40), make([]string, 40)
		queue := func(i int) error {
			b := createFor(message)
			ids[i], commits[i] = b.Task.String(), f.h[i%2].Append(t.Context(), b)
			return nil
		}
		if round%2 == 0 {
			parallel(t, len(commits), queue)
		} else {
			for i := range commits {
				_ = queue(i)
			}
		}
		found := make([]string, len(commits))
		parallel(t, len(commits), func(i int) error {
			_, err := await(commits[i])
			if err == nil {
				found[i] = "won"
				return nil
			}
			if err := conflict(err); err != nil {
				return err
			}
			page, err := f.h[(i+1)%2].Rows(t.Context(), alice(), store.RowQuery{Kind: "message", Key: []byte(message)})
			if err == nil && len(page.Rows) == 1 {
				found[i] = string(page.Rows[0].Value)
			}
			return err
		})
		won := slices.Index(found, "won")
		if won < 0 {
			t.Fatal("no create has passed")
		}
		for i, id := range found {
			if i != won && id != ids[won] {
				t.Errorf("create %d conflicts, and the row has %q, want the task %s", i, id, ids[won])
			}
		}
	}
}

func testMessageFailed(t *testing.T, f *fixture) {
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
			message := string(rune('a'+i)) + map[bool]string{true: " waits"}[waits]
			bad, h := createFor(message, c.part), f.next()
			failed := h.Append(t.Context(), bad)
			if waits {
				_, _ = await(failed)
			}
			good := createFor(message)
			durable(t, h.Append(t.Context(), good))
			if _, err := await(failed); !errors.Is(err, c.want) {
				t.Errorf("case %d: Append() = %v, want %v", i, err, c.want)
			}
			f.checkMessage(t, message, good)
		}
	}
}
