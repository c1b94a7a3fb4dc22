package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"a2a-server/store"
)

func watchCases() []testCase {
	return []testCase{
		{"by any handle", testWatch},
		{"before the task exists", testWatchEarly},
		{"foreign and other tasks", testWatchForeign},
		{"stop", testWatchStop},
		{"a coalesced wake-up is not lost", testWatchConsumer},
		{"a hundred watchers", testWatchMany},
		{"claim and delete", testWatchClaimDelete},
		{"rows", testWatchRows},
		{"rows of others, of other kinds, and none", testWatchRowsSilent},
	}
}

func testWatch(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
		for _, watcher := range f.h {
			for _, writer := range f.h {
				wake, stop := watcher.Watch(s, b.Task)
				for _, batch := range []*store.Batch{
					chunks(b.Task, 1, public("chunk")),
					change(b.Task, f.header(t, b.Task).Rev),
				} {
					mustAppend(t, writer, batch)
					receive(t, fmt.Sprintf("wake-up of %+v", s), wake)
				}
				stop()
			}
		}
	}
}

func testWatchEarly(t *testing.T, f *fixture) {
	for _, s := range []store.Scope{alice(), store.System()} {
		for i, watcher := range f.h {
			b := create(alice())
			wake, stop := watcher.Watch(s, b.Task)
			mustAppend(t, f.h[1-i], b)
			receive(t, "wake-up of a new task", wake)
			stop()
		}
	}
}

// Wake-ups that must not come are looked for after a hundred that must.
func testWatchForeign(t *testing.T, f *fixture) {
	b, other := create(alice()), create(alice())
	type watched struct {
		what string
		wake <-chan struct{}
	}
	var silent []watched
	for _, h := range f.h {
		for _, s := range []store.Scope{bob(), otherAlice(), shifted(), store.Tenant("beta"), {}} {
			wake, stop := h.Watch(s, b.Task)
			t.Cleanup(stop)
			silent = append(silent, watched{fmt.Sprintf("%+v", s), wake})
		}
		for _, id := range []store.TaskID{other.Task, {}, store.NewTaskID()} {
			wake, stop := h.Watch(alice(), id)
			t.Cleanup(stop)
			silent = append(silent, watched{"another task", wake})
		}
	}
	own, stop := f.h[1].Watch(alice(), b.Task)
	defer stop()
	f.append(t, b)
	receive(t, "wake-up", own)
	for i := range 100 {
		f.append(t, chunks(b.Task, 1, public("%d", i)))
		receive(t, "wake-up", own)
		f.append(t, scopeRows(alice(), put("kind", "key", store.Any, "")))
	}
	for _, w := range silent {
		select {
		case <-w.wake:
			t.Errorf("%s was woken", w.what)
		default:
		}
	}
}

func testWatchStop(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	for i, h := range f.h {
		stoppedWake, stop := h.Watch(alice(), b.Task)
		own, stopOwn := h.Watch(alice(), b.Task)
		write := func() {
			t.Helper()
			mustAppend(t, f.h[1-i], chunks(b.Task, 1, public("chunk")))
			receive(t, "wake-up of the other watcher", own)
		}
		write()
		stop()
		stop()
		write()
		// What was on its way when stop was called may have come; nothing more.
		select {
		case <-stoppedWake:
		default:
		}
		for range 20 {
			write()
		}
		select {
		case _, ok := <-stoppedWake:
			t.Errorf("after stop the channel gave a value: %t, want silence", ok)
		default:
		}
		stopOwn()
		// A second call ends no watch that has begun since.
		own, stopOwn = h.Watch(alice(), b.Task)
		stop()
		write()
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
	for i := range f.h {
		b := create(alice())
		f.append(t, b)
		parallel(t, 3, func(n int) error {
			if n == 0 {
				return produce(t.Context(), f.h[i], b.Task, 2000)
			}
			return consume(t.Context(), f.h[n-1], b.Task, 2000)
		})
	}
}

func testWatchMany(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	parallel(t, 101, func(n int) error {
		if n == 0 {
			return produce(t.Context(), f.h[0], b.Task, 200)
		}
		return consume(t.Context(), f.h[n%2], b.Task, 200)
	})
}

// Both change what a reader would see, so a reader that waits must learn of them.
func testWatchClaimDelete(t *testing.T, f *fixture) {
	b := create(alice())
	mustAppend(t, f.h[0], b)
	for i, watcher := range f.h {
		wake, stop := watcher.Watch(alice(), b.Task)
		if i == 0 {
			mustClaim(t, f.h[1], 1)
		} else {
			end := change(b.Task, 2)
			end.Change = store.Change{Phase: store.Final, Status: status(4, 2000)}
			f.append(t, end)
			receive(t, "wake-up of the end", wake)
			if err := f.h[0].Delete(t.Context(), alice(), b.Task, nil); err != nil {
				t.Fatalf("Delete() = %v, want nil", err)
			}
		}
		receive(t, "wake-up", wake)
		stop()
	}
}

// Whatever changes a row wakes who watches its kind, by any handle: a row of a task, one
// of a scope, its removal, and the deletion of its task.
func testWatchRows(t *testing.T, f *fixture) {
	for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
		for i, watcher := range f.h {
			writer := f.h[1-i]
			wake, stop := watcher.WatchRows(s, "kind")
			b := create(alice())
			b.Rows = []store.RowChange{put("other", "key", 0, "value"), put("kind", "key", 0, "value")}
			mustAppend(t, writer, b)
			receive(t, "wake-up of a create", wake)
			with := func(rev uint64, change store.Change, rows ...store.RowChange) *store.Batch {
				return &store.Batch{Scope: alice(), Task: b.Task, Rev: &rev, Change: change, Rows: rows}
			}
			mustAppend(t, writer, with(1, store.Change{}, put("kind", "key", 1, "again")))
			receive(t, "wake-up of a change", wake)
			mustAppend(t, writer, with(2, store.Change{Phase: store.Final, Status: status(4, 2000)}, remove("kind", "key", 2), put("kind", "more", 0, "")))
			receive(t, "wake-up of a removal", wake)
			mustAppend(t, writer, scopeRows(alice(), put("kind", "key", store.Any, "value")))
			receive(t, "wake-up of a row of a scope", wake)
			if err := writer.Delete(t.Context(), alice(), b.Task, nil); err != nil {
				t.Fatalf("Delete() = %v, want nil", err)
			}
			receive(t, "wake-up of a deletion", wake)
			stop()
			stop()
			mustAppend(t, writer, scopeRows(alice(), put("kind", "key", store.Any, "value")))
			select {
			case <-wake:
				t.Error("woken after stop")
			default:
			}
		}
	}
}

// Wake-ups that must not come are looked for after some that must.
func testWatchRowsSilent(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	silent := map[string]<-chan struct{}{}
	for _, h := range f.h {
		for _, s := range []store.Scope{bob(), otherAlice(), shifted(), store.Tenant("beta"), {}} {
			wake, stop := h.WatchRows(s, "kind")
			t.Cleanup(stop)
			silent[fmt.Sprintf("%+v", s)] = wake
		}
		wake, stop := h.WatchRows(store.System(), "kin")
		t.Cleanup(stop)
		silent["another kind"] = wake
	}
	quiet, stopQuiet := f.h[0].WatchRows(alice(), "kind")
	defer stopQuiet()
	refused := change(b.Task, 7)
	refused.Rows = []store.RowChange{put("kind", "key", store.Any, "never")}
	f.refuse(t, refused, store.ErrConflict)
	f.append(t, chunks(b.Task, 1, public("chunk")))
	select {
	case <-quiet:
		t.Error("woken by what changed no row")
	default:
	}
	for range 20 {
		f.append(t, scopeRows(alice(), put("kind", "key", store.Any, "value")))
		receive(t, "wake-up", quiet)
	}
	for what, wake := range silent {
		select {
		case <-wake:
			t.Errorf("%s was woken", what)
		default:
		}
	}
}
