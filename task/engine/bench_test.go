package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// BenchmarkBesideSlowCalls measures how long a task of one quick call takes beside calls
// that do not end: of the same caller, when it may have every turn, and of another.
func BenchmarkBesideSlowCalls(b *testing.B) {
	for _, slow := range []int{0, 2048, 8192} {
		for _, by := range []auth.Principal{alice, carol} {
			b.Run(fmt.Sprintf("slow=%d/by=%s", slow, by.Subject), func(b *testing.B) {
				w := newMemory(b)
				if by.Subject == alice.Subject {
					w.cfg.Limits = task.Limits{}.Unshared()
				}
				w.start()
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

// held returns the bytes of the heap that are in use.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
