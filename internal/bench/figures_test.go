package bench

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// figure is what one server did in one case.
type figure struct {
	rate     float64 // operations per second
	unit     string  // of them
	cpu      float64 // µs of the server's processor time for each
	own      float64 // of the generator's
	p50, p99 time.Duration
}

func (f *figure) metrics(b *testing.B) {
	b.ReportMetric(f.rate, f.unit+"/s")
	b.ReportMetric(f.cpu, "cpu-µs/"+f.unit)
	b.ReportMetric(f.own, "own-µs/"+f.unit)
	if f.p50 > 0 {
		b.ReportMetric(float64(f.p50.Microseconds()), "p50-µs")
		b.ReportMetric(float64(f.p99.Microseconds()), "p99-µs")
	}
}

// figures are those of this run, in the order in which they came.
var figures table

type table struct {
	mu    sync.Mutex
	cases []*row
	facts []fact
}

// row is one case: what each server did, by the name of the run.
type row struct {
	what string
	by   map[kind]map[string]figure
}

type fact struct{ what, value string }

// add enters a figure. The same run again replaces it: a benchmark is run with a
// growing N, and the last time counts.
func (t *table) add(run, what string, k kind, f figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.cases, func(r *row) bool { return r.what == what })
	if i < 0 {
		i = len(t.cases)
		t.cases = append(t.cases, &row{what, map[kind]map[string]figure{}})
	}
	by := t.cases[i].by
	if by[k] == nil {
		by[k] = map[string]figure{}
	}
	by[k][run] = f
}

// median returns the figure whose every part is the median of the runs, zero for none.
func (r *row) median(k kind) (f figure) {
	runs := slices.Collect(maps.Values(r.by[k]))
	if len(runs) == 0 {
		return f
	}
	middle := func(less func(a, b figure) int) figure {
		slices.SortFunc(runs, less)
		return runs[len(runs)/2]
	}
	f.rate = middle(func(a, b figure) int { return cmp.Compare(a.rate, b.rate) }).rate
	f.cpu = middle(func(a, b figure) int { return cmp.Compare(a.cpu, b.cpu) }).cpu
	f.p50 = middle(func(a, b figure) int { return cmp.Compare(a.p50, b.p50) }).p50
	f.p99 = middle(func(a, b figure) int { return cmp.Compare(a.p99, b.p99) }).p99
	return f
}

// takeTurns runs f for each server, as often as BENCH_ROUNDS says: a stretch in which
// a shared machine is slow then hits all of them.
func takeTurns(b *testing.B, servers []kind, f func(k kind)) {
	b.Helper()
	for range rounds(b) {
		for _, k := range servers {
			f(k)
		}
	}
}

// way is one of several ways to ask for the same.
type way struct {
	name      string
	s         *server
	prepare   func(n int) // before n requests; may be nil
	do        func(c *conn, i int) error
	cpu, took []float64 // µs, of each round
}

// compare measures ways to ask for what, each in turn, and notes what they cost beside the
// first. A request counts for per operations.
func compare(b *testing.B, what string, conns, per int, ways []*way) {
	b.Helper()
	for range rounds(b) {
		for _, w := range ways {
			var last *load
			b.Run(what+"/"+w.name, func(b *testing.B) {
				if w.prepare != nil {
					w.prepare(b.N)
				}
				b.ResetTimer()
				last = drive(b, w.s, conns, b.N, w.do)
				b.ReportMetric(last.serverCPU.Seconds()*1e6/float64(last.n*per), "cpu-µs/op")
				b.ReportMetric(float64(last.quantile(0.5).Nanoseconds())/1e3, "p50-µs")
			})
			if last == nil {
				return // it was left out by -bench, or has failed
			}
			w.cpu = append(w.cpu, last.serverCPU.Seconds()*1e6/float64(last.n*per))
			w.took = append(w.took, float64(last.quantile(0.5).Nanoseconds())/1e3)
		}
	}
	first := ways[0]
	for _, w := range ways[1:] {
		figures.note(what+", "+w.name+" beside "+first.name, "%.1f µs of CPU beside %.1f (%.2f), p50 %.1f µs (%.2f)",
			middle(w.cpu), middle(first.cpu), middle(w.cpu)/middle(first.cpu), middle(w.took), middle(w.took)/middle(first.took))
	}
}

// middle returns the median.
func middle(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[len(sorted)/2]
}

func rounds(tb testing.TB) int {
	tb.Helper()
	s := os.Getenv("BENCH_ROUNDS")
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		tb.Fatalf("BENCH_ROUNDS is %q; a number from 1 is wanted", s)
	}
	return n
}

// note enters a figure that has nothing beside it.
func (t *table) note(what, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := fact{what, fmt.Sprintf(format, args...)}
	for i := range t.facts {
		if t.facts[i].what == what {
			t.facts[i] = f
			return
		}
	}
	t.facts = append(t.facts, f)
}

// String returns what there is as tables of markdown.
func (t *table) String() string {
	w := &strings.Builder{}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.cases) > 0 {
		fmt.Fprintf(w, "\n%s, %d processors, %s; GOGC of our server: %s. CPU is the server's; p50 and p99 are of a request, or of a whole stream. Medians of %d.\n\n",
			time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.GOMAXPROCS(0), runtime.Version(), gogc(), t.runs())
		fmt.Fprintln(w, "| case | server | per second | CPU each | p50 | p99 | rate ÷ peer | peer's CPU ÷ | rate ÷ echo | CPU ÷ echo's |")
		fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	}
	for _, r := range t.cases {
		theirs, bare := r.median(peer), r.median(echoed)
		for _, k := range []kind{ours, peer, echoed} {
			if len(r.by[k]) == 0 {
				continue
			}
			f := r.median(k)
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.what, k, amount(f.rate), amount(f.cpu)+" µs", latency(f.p50), latency(f.p99),
				ratio(f.rate, theirs.rate), ratio(theirs.cpu, f.cpu), ratio(f.rate, bare.rate), ratio(f.cpu, bare.cpu))
		}
	}
	if len(t.facts) > 0 {
		fmt.Fprint(w, "\n| what | measured |\n|---|---|\n")
	}
	for _, f := range t.facts {
		fmt.Fprintf(w, "| %s | %s |\n", f.what, f.value)
	}
	return w.String()
}

// runs returns the most that any case was measured.
func (t *table) runs() (n int) {
	for _, r := range t.cases {
		for _, by := range r.by {
			n = max(n, len(by))
		}
	}
	return n
}

func amount(f float64) string {
	if f < 100 {
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

func latency(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
}

func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}
