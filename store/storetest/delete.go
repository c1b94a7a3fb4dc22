package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"a2a-server/store"
)

func deleteCases() []testCase {
	return []testCase{
		{"only at its end", testDeleteBusy},
		{"nothing is left but the audit", testDeleteAll},
		{"interrupted", testDeleteInterrupted},
		{"by both handles at once", testDeleteTwice},
		{"unknown", testDeleteUnknown},
	}
}

func testDeleteBusy(t *testing.T, f *fixture) {
	b := rich(alice(), store.Live)
	f.append(t, b)
	busy := func() {
		t.Helper()
		before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
		for _, h := range f.h {
			for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
				if err := h.Delete(t.Context(), s, b.Task, nil); !errors.Is(err, store.ErrBusy) {
					t.Errorf("Delete() = %v, want %v", err, store.ErrBusy)
				}
			}
		}
		if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"index"})); d != "" {
			t.Errorf("contents after a refused delete (-want +got)\n%s", d)
		}
	}
	busy()
	park := change(b.Task, 1)
	park.Change.Phase = store.Parked
	f.append(t, park)
	busy()
	undue := change(b.Task, 2)
	undue.Due = []store.DueChange{dueGone(50, "key"), dueAt(60, "cancel of a child", "")}
	f.append(t, undue)
	end := change(b.Task, 3)
	end.Change = store.Change{Phase: store.Final, Status: status(4, 2000)}
	f.append(t, end)
	busy()
	served := change(b.Task, 4)
	served.Due = []store.DueChange{dueGone(60, "cancel of a child")}
	f.append(t, served)
	if err := f.h[0].Delete(t.Context(), alice(), b.Task, nil); err != nil {
		t.Errorf("Delete() = %v, want nil", err)
	}
	f.checkGone(t, b.Task)
}

// longTask is a final task with hundreds of commits, rows and snapshots.
func longTask(t *testing.T, f *fixture, commits int) store.TaskID {
	t.Helper()
	b := rich(alice(), store.Live)
	b.Due = nil
	f.append(t, b)
	rev := uint64(1)
	for i := range commits {
		c := chunks(b.Task, 1, public("chunk %d", i))
		switch {
		case i%50 == 7:
			c.Snapshot = &store.Snapshot{After: uint64(len(b.Events) + i), Rev: rev, Bytes: fmt.Append(nil, "fold of ", i)}
		case i%10 == 3:
			c = change(b.Task, rev, c.Events...)
			c.Rows = []store.RowChange{put("kind", fmt.Sprint(i), 0, "", indexed("index", fmt.Sprint(i)))}
			c.Audit = [][]byte{fmt.Append(nil, i)}
			rev++
		}
		f.append(t, c)
	}
	end := change(b.Task, rev)
	end.Change = store.Change{Phase: store.Final, Status: status(4, 5000)}
	f.append(t, end)
	return b.Task
}

func testDeleteAll(t *testing.T, f *fixture) {
	other := rich(alice(), store.Final)
	other.Due = nil
	f.append(t, other)
	f.append(t, scopeRows(alice(), put("kind", "own", 0, "", indexed("index", "own"))))
	bystander := rich(bob(), store.Live)
	f.append(t, bystander)
	before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
	id := longTask(t, f, 400)
	audit := mustAudit(t, f.h[0], 0, 10_000)
	for _, h := range f.h {
		// Totals are asked for, so that a store that keeps them has them.
		if _, total := mustList(t, h, alice(), store.Query{}); total != 2 {
			t.Fatalf("total = %d, want 2", total)
		}
	}
	if err := f.h[1].Delete(t.Context(), alice(), id, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	before.Audit = audit
	for range 2 {
		f.checkGone(t, id)
		f.refuse(t, change(id, 1), store.ErrNotFound)
		f.refuse(t, chunks(id, 1, public("never")), store.ErrNotFound)
		for _, h := range f.h {
			for _, s := range []store.Scope{alice(), store.System()} {
				if err := h.Delete(t.Context(), s, id, nil); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("Delete() again = %v, want %v", err, store.ErrNotFound)
				}
			}
			f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: id})
			if d := diff(before, dump(t, h, []string{"kind"}, []string{"index"})); d != "" {
				t.Errorf("contents after Delete() (-want +got)\n%s", d)
			}
		}
		f.reopen(t)
	}
}

// countdown is a context that ends when it has been asked a number of times, so
// that a Delete is interrupted between two of its steps, wherever it looks.
type countdown struct {
	context.Context //nolint:containedctx // it is a context
	mu              sync.Mutex
	left            int
	done            chan struct{}
}

func newCountdown(ctx context.Context, left int) *countdown {
	return &countdown{Context: ctx, left: left, done: make(chan struct{})}
}

func (c *countdown) ask() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		close(c.done)
	}
	c.left--
	return c.left < 0
}

func (c *countdown) Done() <-chan struct{} {
	c.ask()
	return c.done
}

func (c *countdown) Err() error {
	if c.ask() {
		return context.Canceled
	}
	return nil
}

// Delete is interrupted again and again, each time a little later. At every
// moment the task is either whole, or not found with a due row that says so.
func testDeleteInterrupted(t *testing.T, f *fixture) {
	id := longTask(t, f, 600)
	kept := rich(bob(), store.Live)
	f.append(t, kept)
	started, reopened := false, false
	for n := 0; ; n++ {
		if n > 10_000 {
			t.Fatal("Delete() does not end")
		}
		s := alice()
		if started {
			s = store.System()
		}
		err := f.next().Delete(newCountdown(t.Context(), n), s, id, []byte("deleted"))
		audited := 0
		entries, auditErr := f.h[1].Audit(t.Context(), 0, 1000)
		if auditErr != nil {
			t.Fatal(auditErr)
		}
		for _, e := range entries {
			if e.Task == id && string(e.Data) == "deleted" {
				audited++
			}
		}
		if _, read := f.h[0].Read(t.Context(), alice(), id, store.After(0), store.Limit{}); errors.Is(read, store.ErrNotFound) != (audited == 1) || audited > 1 {
			t.Fatalf("Delete() = %v: Read() = %v, with %d audit entries", err, read, audited)
		} else if err != nil && errors.Is(err, store.ErrUnfinished) != (audited == 1) && !started {
			t.Fatalf("Delete() = %v, with %d audit entries", err, audited)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("Delete() = %v, want nil or %v", err, context.Canceled)
		}
		view, err := f.h[0].Read(t.Context(), alice(), id, store.After(0), store.Limit{})
		if err == nil {
			if started || view.Header.Phase != store.Final || len(view.Events) == 0 {
				t.Fatalf("Read() between steps = %+v", view.Header)
			}
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Read() between steps = %v, want %v", err, store.ErrNotFound)
		}
		started = true
		f.checkGone(t, id)
		f.refuse(t, change(id, 1), store.ErrNotFound)
		again := create(alice())
		again.Task = id
		f.refuse(t, again, store.ErrNotFound)
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind"})
		for _, s := range []store.Scope{alice(), store.System()} {
			if list, _ := mustList(t, f.h[1], s, store.Query{State: 4}); len(list) > 0 {
				t.Fatalf("Tasks() between steps = %v, want nothing", list)
			}
		}
		if err := f.next().Delete(t.Context(), alice(), id, nil); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Delete() of a started one as its owner = %v, want %v", err, store.ErrNotFound)
		}
		left := 0
		for _, d := range allDue(t, f.h[1]) {
			if d.Kind == store.DueDelete && d.Task == id {
				left++
			}
		}
		if left != 1 {
			t.Fatalf("Due() has %d rows of kind %s between steps, want 1", left, store.DueDelete)
		}
		if !reopened {
			f.reopen(t)
			reopened = true
		}
	}
	f.checkGone(t, id)
	want := []store.Due{{Time: 50, Task: kept.Task, Kind: "due", Key: []byte("key"), Payload: []byte("payload")}}
	for _, h := range f.h {
		if d := diff(want, allDue(t, h)); d != "" {
			t.Errorf("Due() after Delete() (-want +got)\n%s", d)
		}
		if err := h.Delete(t.Context(), store.System(), id, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Delete() = %v, want %v", err, store.ErrNotFound)
		}
		for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Index: "index"}} {
			if got := mustRows(t, h, store.System(), q); len(got) != 1 {
				t.Errorf("Rows(%+v) = %v, want the other task's", q, got)
			}
		}
	}
	f.checkLog(t, kept.Task, numbered(kept.Events...))
}

func testDeleteTwice(t *testing.T, f *fixture) {
	ids := make([]store.TaskID, 10)
	for i := range ids {
		ids[i] = longTask(t, f, 10*i)
	}
	halt := background(t, func(stop <-chan struct{}) error {
		for n := 0; !stopped(stop); n++ {
			if _, err := do(t.Context(), f.h[0], create(bob(), store.Event{Data: bytes.Repeat([]byte("x"), 1000)})); err != nil {
				return err
			}
		}
		return nil
	})
	parallel(t, 2*len(ids), func(i int) error {
		err := f.h[i%2].Delete(t.Context(), store.System(), ids[i/2], nil)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("Delete() = %w, want nil or %w", err, store.ErrNotFound)
		}
		return nil
	})
	halt()
	for _, id := range ids {
		f.checkGone(t, id)
	}
	if got := allDue(t, f.h[1]); len(got) > 0 {
		t.Errorf("Due() = %v, want nothing", got)
	}
	if list, total := mustList(t, f.h[0], alice(), store.Query{}); len(list) > 0 || total != 0 {
		t.Errorf("Tasks() = %v, total %d, want nothing", list, total)
	}
}

func testDeleteUnknown(t *testing.T, f *fixture) {
	b := createIn(store.Final, alice())
	f.append(t, b)
	for _, h := range f.h {
		for _, s := range []store.Scope{store.System(), alice(), {}} {
			for _, id := range []store.TaskID{store.NewTaskID(), {}} {
				if err := h.Delete(t.Context(), s, id, nil); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("Delete() = %v, want %v", err, store.ErrNotFound)
				}
			}
		}
		if err := h.Delete(t.Context(), bob(), b.Task, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Delete() of a foreign task = %v, want %v", err, store.ErrNotFound)
		}
	}
	f.checkLog(t, b.Task, nil)
}
