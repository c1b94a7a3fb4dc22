package bench

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"a2a-server/task/engine"
)

// restoredTasks is how many approvals are pending in a store that is restored.
const restoredTasks = 10_000

// BenchmarkRestored measures how long the first start on a restored store brings its pending
// approvals up to date, which is how long /readyz says that it is starting.
func BenchmarkRestored(b *testing.B) {
	p := parked{file: filepath.Join(dir(b), "restored.db")}
	p.fill(b, restoredTasks)
	var took []time.Duration
	for i := range b.N {
		took = append(took, p.settles(b, i))
	}
	b.ReportMetric(0, "ns/op") // marking the store is not measured
	b.ReportMetric(median(took).Seconds()*1e3, "starting-ms")
	figures.note("start on a restored store", "%d pending approvals up to date after %.1f s; median of %d", len(p.ids), median(took).Seconds(), len(took))
}

// settles restores the store for the nth time, and returns how long its tasks take to be up to date.
func (p *parked) settles(tb testing.TB, n int) time.Duration {
	tb.Helper()
	store, err := open(p.file)
	if err != nil {
		tb.Fatal(err)
	}
	moment := time.Date(2026, 11, 27, 10, 0, n, 0, time.UTC)
	if err := engine.MarkRestored(tb.Context(), store.handle, moment, time.Now()); err != nil {
		tb.Fatal(errors.Join(err, store.close()))
	}
	e, err := newEngine(store, newGate())
	if err != nil {
		tb.Fatal(err)
	}
	began := time.Now()
	stop := run(e, store)
	<-e.Settled()
	took := time.Since(began)
	if current, total := e.Settling(); current != len(p.ids) || total != len(p.ids) {
		tb.Errorf("%d of %d tasks are up to date, want all %d", current, total, len(p.ids))
	}
	if err := stop(); err != nil {
		tb.Fatal(err)
	}
	return took
}
