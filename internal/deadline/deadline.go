// Package deadline limits the time of work whose result may already be there when the limit
// is noticed: a command that has exited, a response whose bytes stand in the socket.
//
// A process that stood still (SIGSTOP, a frozen container) finds all its timers fired at once
// when it continues, before it has read anything. A timer of this package that fires more
// than [Slack] late is therefore set once more, for Slack: what has happened meanwhile is
// read first, and wins.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Slack is how late a timer may fire without being set once more, and for how long it is set
// then.
const Slack = time.Second

// system is the clock of the process.
var system = clock{
	now:   time.Now,
	after: func(d time.Duration, f func()) (stop func() bool) { return time.AfterFunc(d, f).Stop },
}

// clock has the time and its timers.
type clock struct {
	now   func() time.Time
	after func(d time.Duration, f func()) (stop func() bool)
}

// Timer runs a function when its time is over. Its methods are safe for concurrent use.
type Timer struct {
	clock clock
	f     func()

	mu   sync.Mutex
	due  time.Time
	stop func() bool // of the timer that is set; nil: it is stopped, or has fired
	sets int         // how often it was set or stopped: a timer of an earlier setting does nothing
}

// AfterFunc returns a timer that runs f in its own goroutine after d.
func AfterFunc(d time.Duration, f func()) *Timer { return system.afterFunc(d, f) }

func (c clock) afterFunc(d time.Duration, f func()) *Timer {
	t := &Timer{clock: c, f: f}
	t.Reset(d)
	return t
}

// Reset sets the timer to run its function after d, also after it has run.
func (t *Timer) Reset(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop()
	}
	t.due = t.clock.now().Add(d)
	t.set(d, true /* first */)
}

// Stop keeps the function from running, and reports whether it did.
func (t *Timer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop == nil {
		return false
	}
	t.stop()
	t.stop = nil
	t.sets++
	return true
}

// set requires t.mu.
func (t *Timer) set(d time.Duration, first bool) {
	t.sets++
	n := t.sets
	t.stop = t.clock.after(d, func() { t.fire(n, first) })
}

func (t *Timer) fire(n int, first bool) {
	t.mu.Lock()
	if n != t.sets {
		t.mu.Unlock()
		return
	}
	if first && t.clock.now().Sub(t.due) > Slack {
		t.set(Slack, false /* first */)
		t.mu.Unlock()
		return
	}
	t.stop = nil
	t.mu.Unlock()
	t.f()
}

// WithTimeoutCause returns a context that is canceled with a cause after d. Unlike that of
// [context.WithTimeoutCause] it has no Deadline, which others would set timers by, and its
// Err is [context.Canceled].
func WithTimeoutCause(ctx context.Context, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := AfterFunc(d, func() { cancel(cause) })
	return ctx, func() {
		t.Stop()
		cancel(nil)
	}
}
