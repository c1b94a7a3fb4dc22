package engine_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// BenchmarkListLarge lists 12 tasks of 60 MB of chunks each, without their artifacts,
// and encodes the page. It must take less than 50 ms and 16 MiB.
func BenchmarkListLarge(b *testing.B) {
	const tasks, chunk, chunks = 12, 16 << 10, 60_000_000 / (16 << 10)
	for _, state := range []a2a.TaskState{a2a.TaskStateCompleted, a2a.TaskStateWorking} {
		b.Run(string(state), func(b *testing.B) {
			w := &world{t: b, disk: newBolt(b), tools: newToolbox()}
			w.tools.extra = []tool.Tool{pours(state == a2a.TaskStateWorking)}
			w.start()
			b.Cleanup(func() { w.stop() })
			for range tasks {
				w.flood(chunks, chunk, state == a2a.TaskStateWorking)
			}
			runtime.GC()
			b.ReportAllocs()
			for b.Loop() {
				answer := w.engine.Answer(alice)
				list, err := answer.List(context.Background(), engine.Query{})
				if err != nil || len(list.Tasks) != tasks {
					b.Fatalf("List() = %v, want %d tasks", err, tasks)
				}
				for _, v := range list.Tasks {
					if v.State() != state {
						b.Fatalf("state = %s, want %s", v.State(), state)
					}
					v.AppendTask(nil, task.ViewOptions{HistoryLength: -1, NoArtifacts: true})
				}
				answer.Release()
			}
		})
	}
}

// flood makes a task of so many chunks, and waits until the disk has them, or until the
// task has ended.
func (w *world) flood(chunks, size int, atWork bool) {
	w.t.Helper()
	sent, err := w.engine.Send(context.Background(), engine.Send{By: alice, Message: w.calls("pour", args{"n": chunks, "size": size})})
	if err != nil {
		w.t.Fatal(err)
	}
	wakes, stop := w.store.Watch(engine.ScopeFor(alice, auth.Read), sent.Task)
	defer stop()
	for {
		h, err := w.engine.Header(context.Background(), alice, sent.Task)
		if err != nil {
			w.t.Fatal(err)
		}
		if h.Phase == store.Final || atWork && int(h.Pub) >= chunks+2 {
			return
		}
		<-wakes
	}
}
