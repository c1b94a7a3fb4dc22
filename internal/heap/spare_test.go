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

// With 400 percent, a small heap may grow by a tenth of the process's memory.
func TestSpare(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for limit, want := range map[int64]uint64{1 << 30: 100 << 20, 100 << 20: 10 << 20, 0: 100 << 20, math.MaxInt64: 100 << 20, 16 << 30: 100 << 20} {
		heap.Spare(limit)
		if got := goal(t); got < want || got > 2*want {
			t.Errorf("with a limit of %d bytes the heap may grow to %d MiB, want %d", limit, got>>20, want>>20)
		}
	}
}
