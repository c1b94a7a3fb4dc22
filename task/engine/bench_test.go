package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"a2a-server/approval"
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
					all := task.Limits{}.WithDefaults()
					w.cfg.Limits = task.Limits{TurnsPerCaller: all.Turns, QueuePerCaller: all.Queue, HeldPerCaller: all.Held}
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
					took = append(took, w.timeSend(b, by))
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

// BenchmarkSendBesideGates compares sends under 1,000 gates about other tools, half of them patterns,
// with sends without gates: the ratio of the medians, and that of the same engine without gates
// against another without gates, which is the noise.
func BenchmarkSendBesideGates(b *testing.B) {
	gates := make([]approval.Gate, 1000)
	for i := range gates {
		gates[i] = approval.Gate{Name: fmt.Sprint("gate ", i), Tool: fmt.Sprintf("other_%d%s", i, []string{"", "_*"}[i%2])}
	}
	worlds := make([]*world, 3)
	for i, gates := range [][]approval.Gate{nil, gates, nil} {
		w := newMemory(b)
		var err error
		if w.cfg.Policy, err = approval.NewPolicy(approval.PolicyConfig{Gates: gates}); err != nil {
			b.Fatal(err)
		}
		w.start()
		worlds[i] = w
	}
	took := make([][]time.Duration, len(worlds))
	for n := 0; b.Loop(); n++ {
		for i := range worlds {
			at := (i + n) % len(worlds) // none is always after the same one
			took[at] = append(took[at], worlds[at].timeSend(b, alice))
		}
	}
	median := func(at int) float64 {
		slices.Sort(took[at])
		return float64(took[at][len(took[at])/2])
	}
	none := median(0)
	b.ReportMetric(none/1e3, "none-us")
	b.ReportMetric(median(1)/none, "gates/none")
	b.ReportMetric(median(2)/none, "none/none")
}

// timeSend returns how long a task of one quick call takes.
func (w *world) timeSend(b *testing.B, by auth.Principal) time.Duration {
	m := w.calls("echo", args{})
	start := time.Now()
	sent, err := w.sendAs(by, m)
	if err == nil {
		_, err = w.engine.Await(context.Background(), sent)
	}
	took := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	return took
}
