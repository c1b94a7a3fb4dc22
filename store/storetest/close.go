package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"a2a-server/store"
)

func closeCases() []testCase {
	return []testCase{
		{"a handle", testCloseHandle},
		{"queued batches are answered", testCloseQueued},
		{"against appends", testCloseRace},
		{"the backend", testCloseBackend},
		{"reopen keeps what was acknowledged", testReopenKeeps},
		{"rebuild changes nothing", testRebuild},
	}
}

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
	deleteErr := h.Delete(ctx, store.System(), id, nil)
	for what, err := range map[string]error{
		"Append() of a create": appendErr, "Append()": chunkErr, "Read()": readErr, "Tasks()": tasksErr, "Rows()": rowsErr, "Due()": dueErr,
		"Claim()": claimErr, "Audit()": auditErr, "Delete()": deleteErr,
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s = %v, want %v", what, err, store.ErrClosed)
		}
	}
	wake, stop := h.Watch(alice(), id)
	stop()
	stop()
	select {
	case _, ok := <-wake:
		t.Errorf("the channel of a closed handle gave a value: %t, want silence", ok)
	default:
	}
	if err := h.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
		t.Errorf("Close() again = %v, want nil or %v", err, store.ErrClosed)
	}
}

func testCloseHandle(t *testing.T, f *fixture) {
	for i := range f.h {
		b := rich(alice(), store.Live)
		f.append(t, b)
		wake, stop := f.h[i].Watch(alice(), b.Task)
		other, stopOther := f.h[1-i].Watch(alice(), b.Task)
		if err := f.h[i].Close(); err != nil {
			t.Fatalf("Close() = %v, want nil", err)
		}
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
		view, err := readLog(t.Context(), f.h[1-i], alice(), b.Task, store.After(5), store.Limit{})
		if err != nil || len(view.Events) != 1 {
			t.Errorf("Read() = %+v, %v, want one event", view, err)
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
		if err := f.h[i].Close(); err != nil {
			t.Fatalf("Close() = %v, want nil", err)
		}
		for n, c := range commits {
			if _, err := await(c); err != nil {
				t.Fatalf("batch %d, queued before Close: Append() = %v, want nil", n, err)
			}
		}
		f.reopen(t)
		f.checkLog(t, b.Task, log.events)
	}
}

// Every append is answered, and what was acknowledged is there.
func testCloseRace(t *testing.T, f *fixture) {
	for _, whole := range []bool{false, true} {
		const writers = 8
		ids, acked := make([]store.TaskID, writers), make([]int, writers)
		for i := range ids {
			b := create(alice())
			f.append(t, b)
			ids[i] = b.Task
		}
		var running, wg sync.WaitGroup
		running.Add(writers)
		handles := f.h
		for i := range writers {
			wg.Go(func() {
				isRunning := sync.OnceFunc(running.Done)
				defer isRunning()
				var window []*store.Commit
				for n := 0; ; n++ {
					if n == 20 {
						isRunning()
					}
					window = append(window, handles[i%2].Append(t.Context(), chunks(ids[i], 1, public("%d", n))))
					if len(window) < 5 {
						continue
					}
					if _, err := await(window[0]); err != nil {
						break
					}
					acked[i]++
					window = window[1:]
				}
				for _, c := range window {
					_, err := await(c)
					if err == nil {
						acked[i]++
					} else if !errors.Is(err, store.ErrClosed) {
						t.Errorf("Append() = %v, want nil or %v", err, store.ErrClosed)
					}
				}
			})
		}
		running.Wait()
		if !whole {
			for _, h := range f.h {
				if err := h.Close(); err != nil {
					t.Errorf("Close() = %v, want nil", err)
				}
			}
			wg.Wait()
		}
		f.reopen(t)
		wg.Wait()
		for i, id := range ids {
			var log history
			for n := range acked[i] {
				log.add(public("%d", n))
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
	f.closed = true
	if err := f.backend.Close(); err != nil {
		t.Fatalf("Backend.Close() = %v, want nil", err)
	}
	for _, h := range f.h {
		checkClosed(t, h, b.Task)
	}
}

// A workload from many goroutines, then a reopen: the store is compared with what
// was acknowledged.
func testReopenKeeps(t *testing.T, f *fixture) {
	const writers, batches = 12, 25
	ids, logs, rows := make([]store.TaskID, writers), make([]history, writers), make([]map[string]string, writers)
	for round := range 2 {
		parallel(t, writers, func(i int) error {
			h := f.h[i%2]
			if round == 0 {
				b := create(owners()[i%4])
				ids[i], rows[i] = b.Task, map[string]string{}
				if _, err := do(t.Context(), h, b); err != nil {
					return err
				}
			}
			header, err := readHeader(t.Context(), h, ids[i])
			if err != nil {
				return err
			}
			for n := range batches {
				c := chunks(ids[i], 1, mixed(n%4, fmt.Sprint(round, i, n))...)
				if n%3 == 0 {
					c = change(ids[i], header.Rev, c.Events...)
					key, value := fmt.Sprint(n%5), fmt.Sprint(round, n)
					c.Rows = []store.RowChange{put("kind", key, store.Any, value)}
					rows[i][key] = value
					header.Rev++
				}
				logs[i].add(c.Events...)
				if _, err := do(t.Context(), h, c); err != nil {
					return err
				}
			}
			return nil
		})
		f.reopen(t)
		for i, id := range ids {
			f.checkLog(t, id, logs[i].events)
			got := map[string]string{}
			for _, r := range mustRows(t, f.h[0], owners()[i%4], store.RowQuery{Kind: "kind", Task: id}) {
				got[string(r.Key)] = string(r.Value)
			}
			if d := diff(rows[i], got); d != "" {
				t.Errorf("rows after a reopen (-want +got)\n%s", d)
			}
		}
	}
}

func testRebuild(t *testing.T, f *fixture) {
	m := newModel(t, f, 99)
	for range 3 {
		m.run(t, 120)
		before := dump(t, f.h[0], modelKinds(), modelIndexes())
		f.rebuild(t)
		for _, h := range f.h {
			if d := diff(before, dump(t, h, modelKinds(), modelIndexes())); d != "" {
				t.Fatalf("contents after Rebuild() (-want +got)\n%s", d)
			}
		}
		m.check(t)
		f.reopen(t)
		if d := diff(before, dump(t, f.h[1], modelKinds(), modelIndexes())); d != "" {
			t.Fatalf("contents after Rebuild() and a reopen (-want +got)\n%s", d)
		}
		m.reopened(t)
	}
}
