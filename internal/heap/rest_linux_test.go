//go:build !race

package heap_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/internal/heap"
)

// A process that rests gives back the memory of its garbage, within half a minute.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heap.Spare(0)
		ctx, stop := context.WithCancel(t.Context())
		go heap.Release(ctx)
		defer synctest.Wait()
		defer stop()
		synctest.Wait() // it knows what was allocated before
		runtime.GC()
		before := resident(t)
		for range 64 {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1 // so that it is in RAM
			}
			runtime.KeepAlive(b)
		}
		if grown := resident(t) - before; grown < 16<<10 {
			t.Fatalf("64 MiB of garbage took %d KiB: the collector came first, and the test shows nothing", grown)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if grown := resident(t) - before; grown > 8<<10 {
			t.Errorf("%d KiB of garbage are kept at rest", grown)
		}
	})
}
