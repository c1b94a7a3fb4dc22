package env

import (
	"context"
	"sync/atomic"
	"time"

	"a2a-server/internal/deadline"
)

// Timeout runs f concurrently after d, the limit of work whose result may already be there:
// see package deadline. stop cancels that, and reports whether it kept f from running. The
// clock of a host does not stand still.
func (e *Env) Timeout(d time.Duration, f func()) (stop func() bool) {
	if h := e.Host; h != nil {
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
