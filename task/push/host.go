package push

import (
	"slices"
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

// spawn runs f in its own goroutine. Every goroutine of a deliverer starts here, apart from
// those of its client.
func (d *Deliverer) spawn(f func()) {
	if h := d.cfg.Host; h != nil {
		h.Go(f)
		return
	}
	go f()
}

// wait is [Host.Wait], for at most four channels.
func (d *Deliverer) wait(channels ...<-chan struct{}) int {
	if h := d.cfg.Host; h != nil {
		return h.Wait(slices.Clone(channels)...)
	}
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

// after is [Host.After].
func (d *Deliverer) after(span time.Duration, f func()) (stop func() bool) {
	if h := d.cfg.Host; h != nil {
		return h.After(span, f)
	}
	return time.AfterFunc(span, f).Stop
}

// time is [Host.Now]; that of Config.Now may stand still.
func (d *Deliverer) time() time.Time {
	if h := d.cfg.Host; h != nil {
		return h.Now()
	}
	return time.Now()
}

// committed waits for the outcome of a batch.
func (d *Deliverer) committed(c *store.Commit) error {
	d.wait(c.Done())
	_, err := c.Wait()
	return err
}
