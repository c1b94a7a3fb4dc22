package stack_test

import (
	"runtime/metrics"
	"sync"
	"testing"

	"a2a-server/internal/stack"
)

// stacks returns how much memory goroutines have as stacks, in bytes.
func stacks() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}

// A goroutine gets a stack with room for what it does, and no larger one: thousands of them
// wait. Nothing but that is allocated.
func TestGrow(t *testing.T) {
	const n = 2000
	var ready, done sync.WaitGroup
	end := make(chan struct{})
	before := stacks()
	for range n {
		ready.Add(1)
		done.Go(func() {
			stack.Grow()
			ready.Done()
			<-end
		})
	}
	ready.Wait()
	each := (stacks() - before) / n
	close(end)
	done.Wait()
	if each < 6<<10 || each > 10<<10 {
		t.Errorf("a goroutine has a stack of %.0f bytes, want 8 KiB", each)
	}
	if n := testing.AllocsPerRun(100, stack.Grow); n != 0 {
		t.Errorf("Grow allocates %.0f times", n)
	}
}
