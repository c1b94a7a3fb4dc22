package heap

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A process rests when it allocates less than quiet bytes in lookEvery, which leaves room for
// health checks. A collection is worthwhile after worth allocated bytes since the previous
// one.
const (
	lookEvery = 10 * time.Second
	quiet     = 4 << 20
	worth     = 16 << 20
)

// Release returns unused memory to the operating system whenever the process rests after work,
// until ctx ends. Without it a resting process keeps the heap that [Spare] let it grow: the
// runtime collects an idle heap every two minutes, and keeps the memory below the heap's goal.
func Release(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	last := allocated()
	released := last
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := allocated()
		if now-last < quiet && now-released >= worth {
			debug.FreeOSMemory()
			released = now
		}
		last = now
	}
}

// allocated returns how many bytes the process has allocated on the heap since it began.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
