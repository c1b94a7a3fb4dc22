package storetest

import (
	"errors"
	"sync"
	"testing"

	"a2a-server/store"
)

// checkClosed checks that h answers nothing any more.
func checkClosed(t *testing.T, h store.Handle, id store.TaskID) {
	t.Helper()
	ctx := t.Context()
	_, appendErr := do(ctx, h, create(alice()))
	_, chunkErr := do(ctx, h, chunks(id, 1, public("never")))
	_, readErr := h.Read(ctx, alice(), id, store.After(0), store.Limit{})
	_, tasksErr := h.Tasks(ctx, alice(), store.Query{})
	_, rowsErr := h.Rows(ctx, alice(), store.RowQuery{Kind: "kind"})
	_, _, dueErr := h.Due(ctx, endless, "", 10)
	_, claimErr := h.Claim(ctx, 10)
	_, auditErr := h.Audit(ctx, 0, 10)
	for what, err := range map[string]error{
		"Append() of a create": appendErr, "Append()": chunkErr, "Read()": readErr, "Tasks()": tasksErr, "Rows()": rowsErr, "Due()": dueErr,
		"Claim()": claimErr, "Audit()": auditErr, "Delete()": h.Delete(ctx, store.System(), id, nil),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s = %v, want %v", what, err, store.ErrClosed)
		}
	}
	wake, stop := h.Watch(alice(), id)
	stop()
	stop()
	silent(t, "watching by a closed handle", wake)
	if err := h.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
		t.Errorf("Close() again = %v, want nil or %v", err, store.ErrClosed)
	}
}

func mustClose(t *testing.T, h store.Handle) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Fatalf("Close() = %v, want nil", err)
	}
}

func testCloseHandle(t *testing.T, f *fixture) {
	for i := range f.h {
		b := rich(alice(), store.Live)
		f.append(t, b)
		wake, stop := f.h[i].Watch(alice(), b.Task)
		other, stopOther := f.h[1-i].Watch(alice(), b.Task)
		mustClose(t, f.h[i])
		checkClosed(t, f.h[i], b.Task)
		// The other handle continues.
		mustAppend(t, f.h[1-i], chunks(b.Task, 1, public("on")))
		receive(t, "wake-up of the other handle", other)
		stopOther()
		select {
		case _, ok := <-wake:
			if !ok {
				t.Error("the channel of a watcher was closed")
			}
		default:
		}
		stop()
		if view := mustLog(t, f.h[1-i], alice(), b.Task, store.After(5), store.Limit{}); len(view.Events) != 1 {
			t.Errorf("Read() = %+v, want one event", view)
		}
		f.reopen(t)
	}
}

func testCloseQueued(t *testing.T, f *fixture) {
	for i := range f.h {
		b := create(alice())
		f.append(t, b)
		var log history
		var commits []*store.Commit
		for n := range 200 {
			e := public("%d", n)
			log.add(e)
			commits = append(commits, f.h[i].Append(t.Context(), chunks(b.Task, 1, e)))
		}
		mustClose(t, f.h[i])
		durable(t, commits...)
		f.reopen(t)
		f.checkLog(t, b.Task, log.events)
	}
}

// Every append is answered, and every acknowledged batch is stored.
func testCloseRace(t *testing.T, f *fixture) {
	for _, whole := range []bool{false, true} {
		const writers = 8
		ids, acked := make([]store.TaskID, writers), make([]int, writers)
		for i := range ids {
			b := create(alice())
			f.append(t, b)
			ids[i] = b.Task
		}
		handles := f.h
		var running, wg sync.WaitGroup
		running.Add(writers)
		for i := range writers {
			wg.Go(func() {
				var err error
				if acked[i], err = stream(t.Context(), handles[i%2], ids[i], running.Done, nil); !errors.Is(err, store.ErrClosed) {
					t.Errorf("stream ended with %v, want %v", err, store.ErrClosed)
				}
			})
		}
		running.Wait()
		if !whole {
			for _, h := range f.h {
				mustClose(t, h)
			}
			wg.Wait()
		}
		f.reopen(t)
		wg.Wait()
		for i, id := range ids {
			var log history
			for n := range acked[i] {
				log.add(public("chunk %d", n))
			}
			f.checkLog(t, id, log.events)
		}
	}
}

func testCloseBackend(t *testing.T, f *fixture) {
	b := rich(alice(), store.Live)
	f.append(t, b)
	old := f.h
	f.reopen(t)
	for _, h := range old {
		checkClosed(t, h, b.Task)
	}
	f.checkLog(t, b.Task, numbered(b.Events...))
	f.close(t)
	for _, h := range f.h {
		checkClosed(t, h, b.Task)
	}
}

// A backend works until it is closed, and its data keeps its incarnation.
func testHealth(t *testing.T, f *fixture) {
	incarnation := f.h[0].Incarnation()
	check := func() {
		t.Helper()
		for _, h := range f.h {
			if err, trouble := h.Err(), h.Trouble(); err != nil || trouble != nil {
				t.Errorf("Err() = %v, Trouble() = %v, want a backend that works", err, trouble)
			}
			if got := h.Incarnation(); got != incarnation {
				t.Errorf("Incarnation() = %x, want %x", got, incarnation)
			}
		}
	}
	check()
	old := f.h
	f.reopen(t)
	check()
	for _, h := range old {
		if err := h.Err(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Err() of a closed backend = %v, want %v", err, store.ErrClosed)
		}
	}
}

func testRebuild(t *testing.T, f *fixture) {
	m := newModel(t, f, 99)
	for range 2 {
		m.run(t, 150)
		before := dump(t, f.h[0])
		for what, again := range map[string]func(*testing.T){"Rebuild()": f.rebuild, "a reopen": f.reopen} {
			again(t)
			same(t, before, dump(t, f.next()), "contents after %s", what)
			m.check(t)
		}
		m.reopened(t)
	}
}
