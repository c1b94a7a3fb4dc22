package heap_test

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"a2a-server/internal/heap"
)

// goal returns how large the heap may become before it is collected.
func goal(t *testing.T) uint64 {
	t.Helper()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A small heap may grow by a tenth of the process's memory: with 400 percent, and with more,
// too. With less, it is collected sooner.
func TestSpare(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, c := range []struct {
		percent int
		limit   int64
		want    uint64
	}{
		{400, 1 << 30, 100 << 20}, {400, 100 << 20, 10 << 20}, {400, 0, 100 << 20}, {400, math.MaxInt64, 100 << 20}, {400, 16 << 30, 100 << 20},
		{100, 1 << 30, 50 << 20}, {2000, 1 << 30, 100 << 20}, {2000, 0, 100 << 20},
	} {
		debug.SetGCPercent(c.percent)
		heap.Spare(c.limit)
		if got := goal(t); got < c.want || got/2 > c.want {
			t.Errorf("with a limit of %d bytes and %d percent the heap may grow to %d MiB, want %d", c.limit, c.percent, got>>20, c.want>>20)
		}
	}
}

// Where GOGC is off, nothing is spared: the memory limit alone says when to collect.
func TestSpareWithoutGOGC(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	heap.Spare(0)
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if live := sample[0].Value.Uint64(); live > 10<<20 {
		t.Errorf("%d MiB are in use", live>>20)
	}
}
