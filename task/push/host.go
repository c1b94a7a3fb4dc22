package push

import (
	"time"

	"a2a-server/store"
)

// Host provides a deliverer's goroutines, waits, timers and time. With it, a simulation runs a
// deliverer beside an engine in the same goroutine; see package task/engine/sim.
type Host interface {
	// Go runs f concurrently.
	Go(f func())
	// Wait blocks until it can receive from one of the channels, receives from it, and returns
	// its index. A nil channel is never ready; a closed channel always is.
	Wait(channels ...<-chan struct{}) int
	// After runs f concurrently after a time. stop cancels that, and reports whether it kept
	// f from running.
	After(d time.Duration, f func()) (stop func() bool)
	// Now is the clock.
	Now() time.Time
}

// process is the [Host] of a program that is no simulation.
type process struct{}

func (process) Go(f func()) { go f() }

func (process) After(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop }

func (process) Now() time.Time { return time.Now() }

// Wait takes at most four channels.
func (process) Wait(channels ...<-chan struct{}) int {
	var c [4]<-chan struct{}
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
	}
}

// committed waits for the outcome of a batch.
func (d *Deliverer) committed(c *store.Commit) error {
	d.host.Wait(c.Done())
	_, err := c.Wait()
	return err
}
