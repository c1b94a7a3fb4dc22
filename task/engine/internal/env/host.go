package env

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"a2a-server/internal/deadline"
	"a2a-server/internal/stack"
)

// Host provides an engine's goroutines, waits and timers. With it, a simulation runs a
// whole engine in one goroutine; see package sim.
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

// Spawn runs f in its own goroutine. Every goroutine of the engine starts here.
func (e *Env) Spawn(f func()) {
	if h := e.host; h != nil {
		h.Go(f)
		return
	}
	go func() {
		stack.Grow()
		f()
	}()
}

// Wait is [Host.Wait], for at most five channels.
func (e *Env) Wait(channels ...<-chan struct{}) int {
	if h := e.host; h != nil {
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
func (e *Env) After(d time.Duration, f func()) (stop func() bool) {
	if h := e.host; h != nil {
		return h.After(d, f)
	}
	return time.AfterFunc(d, f).Stop
}

// Timeout runs f concurrently after d, the limit of work whose result may already be there:
// see package deadline. stop cancels that, and reports whether it kept f from running. The
// clock of a host does not stand still.
func (e *Env) Timeout(d time.Duration, f func()) (stop func() bool) {
	if h := e.host; h != nil {
		return h.After(d, f)
	}
	return deadline.AfterFunc(d, f).Stop
}

// CallWithin returns the result of a call of the application's code, which has its own
// goroutine. returned is false if ctx ends before the call, or the call ends its goroutine.
func CallWithin[T any](ctx context.Context, e *Env, call func() T) (result T, returned bool) {
	var came atomic.Pointer[T]
	over := make(chan struct{})
	e.Spawn(func() {
		defer close(over)
		r := call()
		came.Store(&r)
	})
	e.Wait(over, ctx.Done())
	if r := came.Load(); r != nil {
		return *r, true
	}
	return result, false
}

// Within returns a context that ends after d, by the host's time, with a cause.
func (e *Env) Within(ctx context.Context, d time.Duration, late error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := e.Timeout(d, func() { cancel(late) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Signal puts a token into a channel with room for one, unless it is full.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Signaled takes the token of a signaled channel, and reports whether there was one.
func Signaled(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Closed reports whether a channel without senders is closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
