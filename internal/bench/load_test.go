package bench

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// runLimit bounds one run of one benchmark.
const runLimit = 5 * time.Minute

// load is what one run of requests came to.
type load struct {
	n         int
	elapsed   time.Duration
	serverCPU time.Duration
	ownCPU    time.Duration // of the generator
	latencies []time.Duration
}

// drive sends n requests over conns connections, each as soon as its connection is
// free, and measures. do makes request i and checks its answer. The first error ends
// the benchmark.
func drive(b *testing.B, s *server, conns, n int, do func(c *conn, i int) error) *load {
	b.Helper()
	open := make([]*conn, conns)
	for i := range open {
		var err error
		if open[i], err = dial(s.addr, runLimit); err != nil {
			b.Fatal(err)
		}
	}
	defer func() {
		for _, c := range open {
			c.close()
		}
	}()
	l := &load{n: n, latencies: make([]time.Duration, n)}
	errs := make([]error, conns)
	l.serverCPU = s.measure(b, func() {
		var (
			next   atomic.Int64
			failed atomic.Bool
			wg     sync.WaitGroup
		)
		used, began := cpu(), time.Now()
		for w, c := range open {
			wg.Go(func() {
				for !failed.Load() {
					i := int(next.Add(1)) - 1
					if i >= n {
						return
					}
					at := time.Now()
					if errs[w] = do(c, i); errs[w] != nil {
						failed.Store(true)
						return
					}
					l.latencies[i] = time.Since(at)
				}
			})
		}
		wg.Wait()
		l.elapsed, l.ownCPU = time.Since(began), cpu()-used
	})
	if err := errors.Join(errs...); err != nil {
		b.Fatalf("%s: %v", s.spec.Kind, err)
	}
	slices.Sort(l.latencies)
	return l
}

// quantile returns the latency below which the share q of requests was.
func (l *load) quantile(q float64) time.Duration {
	if len(l.latencies) == 0 {
		return 0
	}
	return l.latencies[min(len(l.latencies)-1, int(q*float64(len(l.latencies))))]
}

// figure reports the run, of which each request counts for per operations, and
// enters it in the table.
func (l *load) figure(b *testing.B, what string, k kind, per int, unit string) {
	b.Helper()
	ops := float64(l.n) * float64(per)
	f := figure{
		rate: ops / l.elapsed.Seconds(), unit: unit, cpu: l.serverCPU.Seconds() * 1e6 / ops, own: l.ownCPU.Seconds() * 1e6 / ops,
		p50: l.quantile(0.5), p99: l.quantile(0.99),
	}
	f.metrics(b)
	figures.add(b.Name(), what, k, f)
}
