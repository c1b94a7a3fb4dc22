package boltstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

func open(tb testing.TB, path string) store.Handle {
	tb.Helper()
	db := must(boltstore.Open(path))
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	h := must(db.Handle())
	return h
}

// turn is what one SendMessage of one chunk writes: {message, task, plan,
// started} and {chunk, finished, state}.
func turn(owner store.Scope) (create, end *store.Batch) {
	id := store.NewTaskID()
	now := store.MillisOf(time.Now())
	private := func(kind string, n int) store.Event {
		return store.Event{Kind: kind, Time: now, Data: make([]byte, n)}
	}
	public := func(kind string, n int) store.Event {
		return store.Event{Kind: kind, Public: true, Time: now, Data: make([]byte, n)}
	}
	create = &store.Batch{
		Scope: owner, Task: id, Rev: new(uint64(0)),
		Change: store.Change{Context: store.NewTaskID().String(), Status: &store.Status{State: 2, Time: now}, Phase: store.Live},
		Events: []store.Event{private("message.received.v1", 160), public("task", 300), public("status", 220), private("step.planned.v1", 150), private("call.started.v1", 90)},
	}
	end = &store.Batch{
		Scope: store.System(), Task: id, Rev: new(uint64(1)), Fence: new(uint64(1)),
		Change: store.Change{Status: &store.Status{State: 3, Time: now}, Phase: store.Final},
		Events: []store.Event{public("artifact", 330), private("call.finished.v1", 120), public("status", 210)},
	}
	return create, end
}

// fill puts n finished tasks into the file.
func fill(tb testing.TB, h store.Handle, owner store.Scope, n int) {
	tb.Helper()
	appendAll := func(batches []*store.Batch) {
		commits := make([]*store.Commit, len(batches))
		for i, b := range batches {
			commits[i] = h.Append(context.Background(), b)
		}
		waitAll(commits)
	}
	for n > 0 {
		creates, ends := make([]*store.Batch, min(n, 2000)), make([]*store.Batch, min(n, 2000))
		for i := range creates {
			creates[i], ends[i] = turn(anonymous)
		}
		appendAll(creates)
		appendAll(ends)
		n -= len(creates)
	}
}

// BenchmarkReplay reads a whole task of many log values, page by page: the time
// of one value must not depend on how many there are.
func BenchmarkReplay(b *testing.B) {
	h := open(b, filepath.Join(b.TempDir(), "store.db"))
	for _, values := range []int{1000, 10_000} {
		id := chain(b, h, values)
		b.Run(fmt.Sprintf("values=%d", values), func(b *testing.B) {
			for range b.N {
				n := uint64(0)
				for {
					v := must(h.Read(context.Background(), store.System(), id, store.After(n), store.Limit{}))
					if len(v.Events) == 0 {
						break
					}
					n = v.Events[len(v.Events)-1].Seq
				}
				if n != uint64(values) {
					b.Fatalf("read up to %d, want %d", n, values)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
		})
	}
}

// chain makes a live task whose log has the given number of values of one event.
func chain(tb testing.TB, h store.Handle, values int) store.TaskID {
	tb.Helper()
	create, _ := turn(anonymous)
	create.Events = nil
	commit(h, create)
	data := make([]byte, 100)
	for range values {
		if _, err := h.Append(context.Background(), &store.Batch{
			Scope: store.System(), Task: create.Task, Fence: new(uint64(1)),
			Events: []store.Event{{Public: true, Kind: "artifact", Data: data}},
		}).Wait(); err != nil {
			tb.Fatal(err)
		}
	}
	return create.Task
}

// BenchmarkCommit makes commits of one batch each: what a single caller waits for.
func BenchmarkCommit(b *testing.B) {
	h := open(b, filepath.Join(b.TempDir(), "store.db"))
	for b.Loop() {
		create, _ := turn(anonymous)
		commit(h, create)
	}
}
