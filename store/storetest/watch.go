package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"a2a-server/store"
)

func testWatch(t *testing.T, f *fixture) {
	for _, s := range seers() {
		for _, watcher := range f.h {
			for _, writer := range f.h {
				b := create(alice())
				wake, stop := watcher.Watch(s, b.Task) // before the task exists
				for _, batch := range []*store.Batch{b, chunks(b.Task, 1, public("chunk")), change(b.Task, 1)} {
					mustAppend(t, writer, batch)
					receive(t, fmt.Sprintf("wake-up of %+v", s), wake)
				}
				stop()
			}
		}
	}
}

// Wake-ups that must not come are looked for after some that must.
func testWatchSilent(t *testing.T, f *fixture) {
	b, other := create(alice()), create(alice())
	none := map[string]<-chan struct{}{}
	watch := func(what string, wake <-chan struct{}, stop func()) {
		t.Cleanup(stop)
		none[what] = wake
	}
	for i, h := range f.h {
		for _, s := range strangers() {
			wake, stop := h.Watch(s, b.Task)
			watch(fmt.Sprintf("%+v by handle %d", s, i), wake, stop)
			wake, stop = h.WatchRows(s, "kind")
			watch(fmt.Sprintf("%+v of rows by handle %d", s, i), wake, stop)
		}
		for _, id := range []store.TaskID{other.Task, {}, store.NewTaskID()} {
			wake, stop := h.Watch(alice(), id)
			watch(fmt.Sprintf("task %s by handle %d", id, i), wake, stop)
		}
		wake, stop := h.WatchRows(store.System(), "kin")
		watch(fmt.Sprint("another kind by handle ", i), wake, stop)
	}
	own, stop := f.h[1].Watch(alice(), b.Task)
	defer stop()
	rows, stopRows := f.h[0].WatchRows(alice(), "kind")
	defer stopRows()
	f.append(t, b)
	receive(t, "wake-up", own)
	for i := range 50 {
		f.append(t, chunks(b.Task, 1, public("%d", i)))
		receive(t, "wake-up", own)
		f.refuse(t, with(change(b.Task, 7), put("kind", "key", store.Any, "never")), store.ErrConflict)
		silent(t, "what changed no row", rows)
		f.append(t, scopeRows(alice(), put("kind", "key", store.Any, "value")))
		receive(t, "wake-up of the rows", rows)
	}
	for what, wake := range none {
		silent(t, what, wake)
	}
}

func testWatchStop(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	for i, h := range f.h {
		ended, stop := h.Watch(alice(), b.Task)
		write := func() {
			t.Helper()
			own, stopOwn := h.Watch(alice(), b.Task)
			mustAppend(t, f.h[1-i], chunks(b.Task, 1, public("chunk")))
			receive(t, "wake-up of another watcher", own)
			stopOwn()
		}
		write()
		receive(t, "wake-up before stop", ended)
		stop()
		stop()
		for range 20 {
			write()
		}
		silent(t, "after stop", ended)
		// A second call ends no watch that has begun since.
		own, stopOwn := h.Watch(alice(), b.Task)
		stop()
		mustAppend(t, f.h[1-i], chunks(b.Task, 1, public("chunk")))
		receive(t, "wake-up of a later watcher", own)
		stopOwn()
	}
}

// consume follows a task by the protocol: take the channel, read, then wait.
func consume(ctx context.Context, h store.Handle, id store.TaskID, until uint64) error {
	wake, stop := h.Watch(alice(), id)
	defer stop()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for seq := uint64(0); ; {
		for more := true; more; {
			view, err := readPage(ctx, h, alice(), id, store.After(seq), store.Limit{Events: 100})
			if err != nil {
				return err
			}
			for _, e := range view.Events {
				if seq++; string(e.Data) != fmt.Sprint("event ", seq) {
					return fmt.Errorf("event %d = %q", seq, e.Data)
				}
			}
			more = view.More
		}
		if seq == until {
			return nil
		}
		select {
		case <-wake:
		case <-timer.C:
			return fmt.Errorf("no wake-up after event %d: %w", seq, errHang)
		}
	}
}

// produce appends n events, some of them together.
func produce(ctx context.Context, h store.Handle, id store.TaskID, n int) error {
	for i := 1; i <= n; i++ {
		c := h.Append(ctx, chunks(id, 1, public("event %d", i)))
		if i%3 == 0 || i > n-10 {
			if _, err := await(c); err != nil {
				return fmt.Errorf("Append() = %w, want nil", err)
			}
		}
	}
	return nil
}

func testWatchConsumer(t *testing.T, f *fixture) {
	for i, events := range []int{2000, 200} {
		b := create(alice())
		f.append(t, b)
		parallel(t, []int{3, 101}[i], func(n int) error {
			if n == 0 {
				return produce(t.Context(), f.h[i], b.Task, events)
			}
			return consume(t.Context(), f.h[n%2], b.Task, uint64(events))
		})
	}
}

// Both change what a reader would see, so a reader that waits must learn of them.
func testWatchClaimDelete(t *testing.T, f *fixture) {
	b := create(alice())
	mustAppend(t, f.h[0], b)
	for i, step := range []func(){
		func() { mustClaim(t, f.h[1], 1) },
		func() { f.append(t, moveTo(b.Task, 2, store.Final)) },
		func() { f.delete(t, b.Task) },
	} {
		wake, stop := f.h[i%2].Watch(alice(), b.Task)
		step()
		receive(t, fmt.Sprint("wake-up of step ", i), wake)
		stop()
	}
}

// Whatever changes a row wakes the watchers of its kind, by any handle.
func testWatchRows(t *testing.T, f *fixture) {
	for _, s := range seers() {
		for i, watcher := range f.h {
			writer := f.h[1-i]
			wake, stop := watcher.WatchRows(s, "kind")
			b := with(create(alice()), put("kinds", "key", 0, "value"), put("kind", "key", 0, "value"))
			for k, batch := range []*store.Batch{
				b,
				with(change(b.Task, 1), put("kind", "key", 1, "again")),
				with(change(b.Task, 2), ofContext(put("kind", "key", store.Any, "of the context"))),
				aside(b.Task, put("kind", "more", store.Any, "")),
				with(moveTo(b.Task, 3, store.Final), remove("kind", "key", 2), remove("kind", "more", store.Any)),
				scopeRows(alice(), put("kind", "key", store.Any, "value")),
			} {
				mustAppend(t, writer, batch)
				receive(t, fmt.Sprint("wake-up of batch ", k), wake)
			}
			f.delete(t, b.Task) // the last of its context
			receive(t, "wake-up of a deletion", wake)
			stop()
			stop()
			mustAppend(t, writer, scopeRows(alice(), put("kind", "key", store.Any, "value")))
			silent(t, "after stop", wake)
		}
	}
}
