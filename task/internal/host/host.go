// Package host provides goroutines, waits and timers: those of a program, or of a simulation that
// runs everything in one goroutine.
package host

import (
	"slices"
	"time"

	"a2a-server/internal/stack"
)

// Host provides the goroutines, waits and timers of a simulation: see package task/engine/internal/sim.
type Host interface {
	// Go runs f concurrently.
	Go(f func())
	// Wait blocks until it can receive from one of the channels, receives from it, and returns
	// its index. A nil channel is never ready; a closed channel always is.
	Wait(channels ...<-chan struct{}) int
	// After runs f concurrently after d. stop cancels that, and reports whether it kept f
	// from running.
	After(d time.Duration, f func()) (stop func() bool)
}

// Runner runs on a host; nil: in the goroutines of the program.
type Runner struct{ Host Host }

// Spawn runs f in its own goroutine. Every goroutine of an engine and of an outbox starts here.
func (r Runner) Spawn(f func()) {
	if h := r.Host; h != nil {
		h.Go(f)
		return
	}
	go func() {
		stack.Grow()
		f()
	}()
}

// Wait is [Host.Wait], for at most five channels.
func (r Runner) Wait(channels ...<-chan struct{}) int {
	if h := r.Host; h != nil {
		return h.Wait(slices.Clone(channels)...) // a clone, so that channels is not allocated without a host
	}
	var c [5]<-chan struct{}
	copy(c[:], channels)
	select {
	case <-c[0]:
		return 0
	case <-c[1]:
		return 1
	case <-c[2]:
		return 2
	case <-c[3]:
		return 3
	case <-c[4]:
		return 4
	}
}

// After is [Host.After].
func (r Runner) After(d time.Duration, f func()) (stop func() bool) {
	if h := r.Host; h != nil {
		return h.After(d, f)
	}
	return time.AfterFunc(d, f).Stop
}
