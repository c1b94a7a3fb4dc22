package bench

import (
	"fmt"
	"runtime"
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

type row struct {
	what string
	by   map[kind]figure
}

type fact struct{ what, value string }

// add enters a figure. The same case again replaces it: a benchmark is run with a
// growing N, and the last run counts.
func (t *table) add(what string, k kind, f figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.cases {
		if r.what == what {
			r.by[k] = f
			return
		}
	}
	t.cases = append(t.cases, &row{what, map[kind]figure{k: f}})
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
		fmt.Fprintf(w, "\n%s, %d processors, %s; GOGC of our server: %s. CPU is the server's; p50 and p99 are of a request, or of a whole stream.\n\n",
			time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.GOMAXPROCS(0), runtime.Version(), gogc())
		fmt.Fprintln(w, "| case | server | per second | CPU each | p50 | p99 | rate ÷ peer | peer's CPU ÷ | rate ÷ echo | CPU ÷ echo's |")
		fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	}
	for _, r := range t.cases {
		for _, k := range []kind{ours, peer, echoed, batch} {
			if f, ok := r.by[k]; ok {
				fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.what, k, amount(f.rate), amount(f.cpu)+" µs", latency(f.p50), latency(f.p99),
					ratio(f.rate, r.by[peer].rate), ratio(r.by[peer].cpu, f.cpu), ratio(f.rate, r.by[echoed].rate), ratio(f.cpu, r.by[echoed].cpu))
			}
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
