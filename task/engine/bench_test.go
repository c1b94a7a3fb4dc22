package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// BenchmarkSend sends messages of one call to an engine and waits for the task to
// rest: without a wire, so that what the wire costs can be told; in memory, so that
// what the disk costs can be told, too.
func BenchmarkSend(b *testing.B) {
	note, err := functiontool.New(functiontool.Config{Name: "note"}, func(_ tool.Context, a payment) (string, error) { return a.To, nil })
	if err != nil {
		b.Fatal(err)
	}
	disks := map[string]func() disk{
		"memstore":  func() disk { return &memDisk{memstore.New()} },
		"boltstore": func() disk { return newBolt(b) },
	}
	// write is called as it is, note is a typed function, stream streams one chunk.
	calls := map[string]args{"write": {"amount": 1, "to": "bob"}, "note": {"amount": 1, "to": "bob"}, "stream": {"n": 1}}
	for _, on := range []string{"memstore", "boltstore"} {
		for _, name := range []string{"write", "note", "stream"} {
			for _, clients := range []int{16, 64} {
				b.Run(fmt.Sprintf("%s/%s/clients=%d", on, name, clients), func(b *testing.B) {
					w := &world{t: b, disk: disks[on](), tools: newToolbox()}
					w.tools.extra = []tool.Tool{note}
					w.start()
					b.Cleanup(func() { w.stop() })
					w.sends(b, clients, name, calls[name])
				})
			}
		}
	}
}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

// sends has clients each send one message after the other that calls a tool.
func (w *world) sends(b *testing.B, clients int, tool string, a args) {
	var left atomic.Int64
	left.Store(int64(b.N))
	began := cpu()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": tool, "args": map[string]any(a)}))
				m.ID = fmt.Sprintf("b%d-%d", c, left.Load())
				sent, err := w.engine.Send(context.Background(), engine.Send{By: alice, Message: m})
				if err == nil {
					_, err = w.engine.Await(context.Background(), sent)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpu()-began)/float64(b.N)/1e3, "cpu-µs/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

// BenchmarkChunks streams into one task: the cost of a chunk must not depend on how
// many came before it.
func BenchmarkChunks(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("chunks=%d", n), func(b *testing.B) {
			w := newWorld(b, newBolt(b))
			w.start()
			began := cpu()
			b.ResetTimer()
			for i := range b.N {
				m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": "stream", "args": map[string]any{"n": n}}))
				m.ID = fmt.Sprint(i)
				sent, err := w.engine.Send(context.Background(), engine.Send{By: alice, Message: m})
				if err == nil {
					_, err = w.engine.Await(context.Background(), sent)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpu()-began)/float64(b.N)/float64(n)/1e3, "cpu-µs/chunk")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/1e3, "µs/chunk")
		})
	}
}

// BenchmarkBesideSlowCalls measures how long a task of one quick call takes beside calls
// that do not end: of the same caller, when it may have every turn, and of another.
func BenchmarkBesideSlowCalls(b *testing.B) {
	for _, slow := range []int{0, 2048, 8192} {
		for _, by := range []auth.Principal{alice, carol} {
			b.Run(fmt.Sprintf("slow=%d/by=%s", slow, by.Subject), func(b *testing.B) {
				w := &world{t: b, disk: &memDisk{memstore.New()}, tools: newToolbox()}
				if by.Subject == alice.Subject {
					w.cfg.Limits = task.Limits{}.Unshared()
				}
				w.start()
				b.Cleanup(func() { w.stop() })
				before := held()
				for range slow {
					if _, err := w.sendAs(alice, w.calls("block", args{})); err != nil && !errors.Is(err, engine.ErrBusy) {
						b.Fatal(err)
					}
				}
				holds := held() - before
				var took []time.Duration
				for b.Loop() {
					start := time.Now()
					sent, err := w.sendAs(by, w.calls("echo", args{}))
					if err == nil {
						_, err = w.engine.Await(context.Background(), sent)
					}
					if err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "p99-ms")
				b.ReportMetric(float64(took[len(took)-1].Microseconds())/1e3, "max-ms")
				b.ReportMetric(float64(holds)/float64(max(slow, 1))/(1<<10), "held-KiB/task")
			})
		}
	}
}

// BenchmarkDecideBesideParked measures an approval in memory beside tasks of another caller that
// wait: the time must not depend on how many there are.
func BenchmarkDecideBesideParked(b *testing.B) {
	for _, parked := range []int{0, 20_000} {
		b.Run(fmt.Sprintf("parked=%d", parked), func(b *testing.B) {
			w := &world{t: b, disk: &memDisk{memstore.New()}, tools: newToolbox()}
			w.start()
			b.Cleanup(func() { w.stop() })
			for i := range parked {
				w.ask(carol, i)
			}
			for b.Loop() {
				b.StopTimer()
				id := w.ask(alice, 1)
				a := w.onlyOne(id)
				b.StartTimer()
				if err := w.decide(alice, id, approval.Answer{ID: a.ID, Digest: a.Digest, Verb: approval.Approve}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHeld measures the memory that a running turn holds whose tool has
// streamed 20 MiB and continues.
func BenchmarkHeld(b *testing.B) {
	const chunks, size = 20 << 10, 1 << 10
	w := &world{t: b, disk: newBolt(b), tools: newToolbox()}
	w.tools.extra = []tool.Tool{&streamer{fake: fake{name: "flood"}, stream: func(ctx tool.Context, _ map[string]any) iter.Seq2[*tool.Result, error] {
		return func(yield func(*tool.Result, error) bool) {
			text := strings.Repeat("x", size)
			for range chunks {
				if !yield(&tool.Result{Content: text, Streaming: true}, nil) {
					return
				}
			}
			<-ctx.Done()
		}
	}}}
	w.start()
	b.Cleanup(func() { w.stop() })
	before := held()
	for i := range b.N {
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": "flood", "args": map[string]any{}}))
		m.ID = fmt.Sprint(i)
		sent, err := w.engine.Send(context.Background(), engine.Send{By: alice, Message: m})
		if err != nil {
			b.Fatal(err)
		}
		n := -2 // the task, and that it is at work
		err = w.engine.Follow(context.Background(), alice, sent.Task, 0, engine.UntilEnd, func(page []engine.Event) error {
			if n += len(page); n == chunks {
				return io.EOF
			}
			return nil
		})
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(held()-before)/float64(b.N)/(1<<10), "held-KiB/turn")
}

// held returns the bytes of the heap that are in use.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

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
