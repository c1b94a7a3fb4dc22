package engine

import (
	"context"
	"slices"
	"time"
)

// Host runs what an engine starts, and waits for what it waits for. It is how a
// simulation gets a whole engine into one goroutine; see package sim.
type Host interface {
	// Go runs f beside the caller.
	Go(f func())
	// Wait returns when one of the channels can be received from, has received from
	// it, and returns its place. A channel that is nil never can be; a closed one
	// always.
	Wait(channels ...<-chan struct{}) int
	// After runs f beside everybody else when d has passed. stop reports whether it
	// has kept f from being run.
	After(d time.Duration, f func()) (stop func() bool)
}

// spawn runs f in a goroutine of its own. Every goroutine of the engine begins here.
func (e *Engine) spawn(f func()) {
	if h := e.cfg.Host; h != nil {
		h.Go(f)
		return
	}
	go func() {
		grow()
		f()
	}()
}

// grow lets the stack of a new goroutine have the size that a turn or a tool needs
// anyway. Doubled step by step, with more and more frames to copy, it would cost 5 % of
// the processor time of a send.
//
//go:noinline
func grow() {
	var room [6 << 10]byte
	occupy(&room)
}

//go:noinline
func occupy(*[6 << 10]byte) {}

// wait is [Host.Wait], for at most five channels.
func (e *Engine) wait(channels ...<-chan struct{}) int {
	if h := e.cfg.Host; h != nil {
		return h.Wait(slices.Clone(channels)...) // so that they need not be allocated without a host
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

// after is [Host.After].
func (e *Engine) after(d time.Duration, f func()) (stop func() bool) {
	if h := e.cfg.Host; h != nil {
		return h.After(d, f)
	}
	return time.AfterFunc(d, f).Stop
}

// within returns a context that ends after d, by the host's time.
func (e *Engine) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := e.after(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// signal puts a token into a channel that holds one, if it has none.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// closed reports whether a channel that nobody sends to is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
