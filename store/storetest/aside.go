package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

func asideCases() []testCase {
	return []testCase{
		{"in every phase, and no new rev", testAsidePhases},
		{"only its own revs guard its rows", testAsideGuard},
		{"next to a turn that runs", testAsideTurn},
		{"of somebody else's task", testAsideForeign},
		{"of a task that is deleted", testAsideDeleted},
		{"while the task is being deleted", testAsideDeleting},
		{"is not chunks", testAsideChunks},
		{"wakes those who watch its rows", testAsideWatch},
	}
}

func testAsidePhases(t *testing.T, f *fixture) {
	for _, phase := range []store.Phase{store.Live, store.Parked, store.Final} {
		b := createIn(phase, alice(), mixed(3, "first")...)
		f.append(t, b)
		before := f.header(t, b.Task)
		n := uint64(len(mustAudit(t, f.h[0], 0, 1000)))
		a := aside(b.Task, put("kind", "key", 0, "one", indexed("a", "1")))
		a.Due = []store.DueChange{dueAt(50, "key", "payload")}
		a.Audit = [][]byte{[]byte("entry")}
		want := store.Receipt{Task: b.Task, First: 4, Last: 3, Pub: before.Pub, Fence: 1}
		if r := f.append(t, a); r != want {
			t.Errorf("Append() = %+v, want %+v", r, want)
		}
		before.Due = 1
		if d := diff(before, f.header(t, b.Task)); d != "" {
			t.Errorf("header after an aside (-want +got)\n%s", d)
		}
		f.checkLog(t, b.Task, numbered(b.Events...))
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "key", 1, "one"))
		f.checkEntries(t, "aside", b.Task, "key", "a=1")
		if d := diff([]store.AuditEntry{{N: n + 1, Task: b.Task, Data: []byte("entry")}}, mustAudit(t, f.h[1], n, 10)); d != "" {
			t.Errorf("Audit() (-want +got)\n%s", d)
		}
		undo := aside(b.Task, remove("kind", "key", 1))
		undo.Due = []store.DueChange{dueGone(50, "key")}
		f.append(t, undo)
		before.Due = 0
		if d := diff(before, f.header(t, b.Task)); d != "" {
			t.Errorf("header after the second aside (-want +got)\n%s", d)
		}
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task})
		f.reopen(t)
		if d := diff(before, f.header(t, b.Task)); d != "" {
			t.Errorf("header after a reopen (-want +got)\n%s", d)
		}
	}
	if got := allDue(t, f.h[0]); len(got) > 0 {
		t.Errorf("Due() = %v, want nothing", got)
	}
}

func testAsideGuard(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	f.append(t, aside(b.Task, put("kind", "key", 0, "one"), put("kind", "other", 0, "")))
	for _, wrong := range []store.RowChange{put("kind", "key", 0, "never"), put("kind", "key", 2, "never"), remove("kind", "key", 2), put("kind", "missing", 1, "never")} {
		f.refuse(t, aside(b.Task, put("kind", "other", store.Any, "never"), wrong), store.ErrConflict)
	}
	// A change of the task does not make it conflict, unless it changes the row.
	f.append(t, change(b.Task, 1, private("changed")))
	f.append(t, aside(b.Task, put("kind", "key", 1, "two")))
	c := change(b.Task, 2)
	c.Rows = []store.RowChange{put("kind", "key", store.Any, "three")}
	f.append(t, c)
	f.refuse(t, aside(b.Task, put("kind", "key", 2, "never")), store.ErrConflict)
	f.append(t, aside(b.Task, remove("kind", "key", 3)))
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "other", 1, ""))
	if h := f.header(t, b.Task); h.Rev != 3 {
		t.Errorf("rev = %d, want 3", h.Rev)
	}
}

// A turn streams and changes while the other handle puts asides: neither ever conflicts,
// and nothing of either is lost.
func testAsideTurn(t *testing.T, f *fixture) {
	for i, h := range f.h {
		other := f.h[1-i]
		b := create(alice())
		mustAppend(t, h, b)
		running := make(chan struct{})
		var turn history
		halt := background(t, func(stop <-chan struct{}) error {
			rev := uint64(1)
			for n := 0; n < 20 || !stopped(stop); n++ {
				events := mixed(2, fmt.Sprint("chunk ", n))
				if _, err := do(context.Background(), h, chunks(b.Task, 1, events...)); err != nil {
					return fmt.Errorf("chunks next to asides: %w", err)
				}
				turn.add(events...)
				c := change(b.Task, rev, private("step %d", n))
				c.Fence = new(uint64(1))
				c.Rows = []store.RowChange{put("approval", "key", store.Any, fmt.Sprint(n))}
				if _, err := do(context.Background(), h, c); err != nil {
					return fmt.Errorf("a change next to asides: %w", err)
				}
				rev++
				if turn.add(c.Events...); n == 0 {
					close(running)
				}
			}
			return nil
		})
		receive(t, "the turn", running)
		const asides = 50
		for n := range uint64(asides) {
			if _, err := do(t.Context(), other, aside(b.Task, put("cursor", "key", n, fmt.Sprint(n)))); err != nil {
				t.Fatalf("aside %d next to a turn: %v", n, err)
			}
		}
		halt()
		f.checkLog(t, b.Task, turn.events)
		f.checkRows(t, alice(), store.RowQuery{Kind: "cursor", Task: b.Task}, row(b.Task, "cursor", "key", asides, fmt.Sprint(asides-1)))
	}
}

func testAsideForeign(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	for _, s := range []store.Scope{bob(), otherAlice(), shifted(), store.Tenant("beta"), {}} {
		a := aside(b.Task, put("kind", "key", store.Any, "never"))
		a.Scope = s
		f.refuse(t, a, store.ErrNotFound)
	}
	f.refuse(t, aside(store.NewTaskID(), put("kind", "key", store.Any, "never")), store.ErrNotFound)
	f.checkRows(t, store.System(), store.RowQuery{Kind: "kind"})
	for n, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
		a := aside(b.Task, put("kind", "key", uint64(n), "by owner, tenant and system"))
		a.Scope = s
		f.append(t, a)
	}
	f.checkRows(t, bob(), store.RowQuery{Kind: "kind"})
}

func testAsideDeleted(t *testing.T, f *fixture) {
	b := createIn(store.Final, alice(), mixed(3, "event")...)
	f.append(t, b)
	f.append(t, aside(b.Task, put("kind", "key", 0, "one", indexed("a", "1"))))
	if err := f.next().Delete(t.Context(), alice(), b.Task, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	for range 2 {
		for _, c := range []store.RowChange{put("kind", "key", store.Any, "never"), put("kind", "key", 1, "never"), put("kind", "new", 0, "never"), remove("kind", "key", store.Any)} {
			f.refuse(t, aside(b.Task, c), store.ErrNotFound)
		}
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind"})
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind", Index: "a"})
		f.reopen(t)
	}
}

// Asides race with the deletion of their task, which is also interrupted: whatever wins,
// no row of theirs is left, and the one that comes late is told that the task is gone.
func testAsideDeleting(t *testing.T, f *fixture) {
	for n := range 20 {
		b := createIn(store.Final, alice(), mixed(3, "event")...)
		f.append(t, b)
		running := make(chan struct{})
		ended := background(t, func(<-chan struct{}) error {
			for i := 0; ; i++ {
				a := aside(b.Task, put("kind", fmt.Sprint(i%3), store.Any, "", indexed("a", "1")))
				_, err := do(context.Background(), f.h[i%2], a)
				if i == 0 {
					close(running)
				}
				if errors.Is(err, store.ErrNotFound) {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
		receive(t, "the first aside", running)
		err := f.h[n%2].Delete(newCountdown(t.Context(), n), alice(), b.Task, nil)
		for errors.Is(err, context.Canceled) {
			if err = f.h[n%2].Delete(t.Context(), store.System(), b.Task, nil); errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		}
		if err != nil {
			t.Fatalf("Delete() = %v, want nil", err)
		}
		ended()
		f.checkGone(t, b.Task)
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind"})
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind", Index: "a"})
	}
	if got := allDue(t, f.h[0]); len(got) > 0 {
		t.Errorf("Due() = %v, want nothing", got)
	}
}

// Without a fence nothing gets into the log; with one, no rows.
func testAsideChunks(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	a := aside(b.Task, put("kind", "key", 0, "never"))
	a.Events = mixed(2, "never")
	f.refuse(t, a, store.ErrInvalid)
	c := chunks(b.Task, 1)
	c.Rows = []store.RowChange{put("kind", "key", 0, "never")}
	f.refuse(t, c, store.ErrInvalid)
	// An aside is not of a turn: it passes although the turn was cut off.
	take := change(b.Task, 1)
	take.Change = store.Change{TakeFence: true, Phase: store.Parked}
	f.append(t, take)
	f.refuse(t, chunks(b.Task, 1, mixed(1, "never")...), store.ErrFenced)
	f.append(t, aside(b.Task, put("kind", "key", 0, "one")))
	f.checkLog(t, b.Task, nil)
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "key", 1, "one"))
}

func testAsideWatch(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	for i, watcher := range f.h {
		wake, stop := watcher.WatchRows(store.System(), "kind")
		mustAppend(t, f.h[1-i], aside(b.Task, put("kind", "key", store.Any, "")))
		receive(t, "wake-up of the rows", wake)
		stop()
	}
}
