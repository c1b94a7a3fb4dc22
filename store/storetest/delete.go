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

// longTask is a final task with hundreds of commits, rows and snapshots, and a due row.
func longTask(t *testing.T, f *fixture, commits int) (id store.TaskID, rev uint64) {
	t.Helper()
	b := rich(alice(), store.Live)
	f.append(t, b)
	rev = 1
	for i := range commits {
		c := chunks(b.Task, 1, public("chunk %d", i))
		switch {
		case i%50 == 7:
			c.Snapshot = &store.Snapshot{After: uint64(len(b.Events) + i), Rev: rev, Bytes: fmt.Append(nil, "fold of ", i)}
		case i%10 == 3:
			c = with(change(b.Task, rev, c.Events...), put("kind", fmt.Sprint(i), 0, "", indexed("index", fmt.Sprint(i))), fmt.Sprint(i))
			rev++
		}
		f.append(t, c)
	}
	f.append(t, with(change(b.Task, rev), store.Change{Phase: store.Final, Status: status(4, 5000)}))
	return b.Task, rev + 1
}

func testDeleteAll(t *testing.T, f *fixture) {
	other := rich(alice(), store.Final)
	other.Due = nil
	f.append(t, other)
	f.append(t, scopeRows(alice(), put("kind", "own", 0, "", indexed("index", "own"))))
	live := rich(bob(), store.Live)
	f.append(t, live)
	before := dump(t, f.h[0])
	id, rev := longTask(t, f, 400)
	whole := dump(t, f.h[0])
	for _, h := range f.h {
		for _, s := range strangers() {
			refuseDelete(t, h, s, id, store.ErrNotFound)
		}
		refuseDelete(t, h, alice(), id, store.ErrBusy) // it has due work
		refuseDelete(t, h, store.System(), live.Task, store.ErrBusy)
		refuseDelete(t, h, store.System(), store.TaskID{}, store.ErrNotFound)
	}
	same(t, whole, dump(t, f.h[1]), "contents after refused deletions")
	f.append(t, with(change(id, rev), dueGone(50, "key")))
	if err := f.h[1].Delete(t.Context(), store.Tenant("acme"), id, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
	before.Audit = whole.Audit
	for range 2 {
		f.checkGone(t, id)
		f.refuse(t, change(id, 1), store.ErrNotFound)
		f.refuse(t, chunks(id, 1, public("never")), store.ErrNotFound)
		f.refuse(t, aside(id, put("kind", "key", store.Any, "never")), store.ErrNotFound)
		for _, h := range f.h {
			refuseDelete(t, h, alice(), id, store.ErrNotFound)
			refuseDelete(t, h, store.System(), id, store.ErrNotFound)
			same(t, before, dump(t, h), "contents after Delete()")
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
	id, rev := longTask(t, f, 600)
	f.append(t, with(change(id, rev), dueGone(50, "key")))
	kept := rich(bob(), store.Live)
	f.append(t, kept)
	started := false
	f.interrupt(t, alice(), id, []byte("deleted"), func(err error) {
		audited := 0
		for _, e := range mustAudit(t, f.h[1], 0, 1000) {
			if e.Task == id && string(e.Data) == "deleted" {
				audited++
			}
		}
		view, read := f.h[0].Read(t.Context(), alice(), id, store.After(0), store.Limit{})
		switch {
		case errors.Is(read, store.ErrNotFound) != (audited == 1) || audited > 1:
			t.Fatalf("Delete() = %v: Read() = %v, with %d audit entries", err, read, audited)
		case err != nil && errors.Is(err, store.ErrUnfinished) != (audited == 1) && !started:
			t.Fatalf("Delete() = %v, with %d audit entries", err, audited)
		case read == nil && (started || view.Header.Phase != store.Final || len(view.Events) == 0):
			t.Fatalf("Read() between steps = %+v", view.Header)
		case err == nil || read == nil:
			return
		}
		if !started {
			started = true
			f.reopen(t)
		}
		f.checkGone(t, id)
		f.refuse(t, change(id, 1), store.ErrNotFound)
		f.refuse(t, with(create(alice()), id), store.ErrNotFound)
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind"})
		for _, s := range []store.Scope{alice(), store.System()} {
			if list, _ := mustList(t, f.h[1], s, store.Query{State: 4}); len(list) > 0 {
				t.Fatalf("Tasks() between steps = %v, want nothing", list)
			}
		}
		refuseDelete(t, f.next(), alice(), id, store.ErrNotFound)
		left := 0
		for _, d := range allDue(t, f.h[1]) {
			if d.Kind == store.DueDelete && d.Task == id {
				left++
			}
		}
		if left != 1 {
			t.Fatalf("Due() has %d rows of kind %s between steps, want 1", left, store.DueDelete)
		}
	})
	f.checkGone(t, id)
	for _, h := range f.h {
		same(t, []store.Due{{Time: 50, Task: kept.Task, Kind: "due", Key: []byte("key"), Payload: []byte("payload")}}, allDue(t, h), "Due() after Delete()")
		refuseDelete(t, h, store.System(), id, store.ErrNotFound)
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
		id, rev := longTask(t, f, 10*i)
		f.append(t, with(change(id, rev), dueGone(50, "key")))
		ids[i] = id
	}
	halt := background(t, func(stop <-chan struct{}) error {
		for !stopped(stop) {
			if _, err := do(t.Context(), f.h[0], create(bob(), store.Event{Data: bytes.Repeat([]byte("x"), 1000)})); err != nil {
				return err
			}
		}
		return nil
	})
	parallel(t, 2*len(ids), func(i int) error {
		if err := f.h[i%2].Delete(t.Context(), store.System(), ids[i/2], nil); !errors.Is(err, store.ErrNotFound) {
			return err
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
