// Package deadline limits the time of work whose result may already be there when the limit
// is noticed: a command that has exited, a response whose bytes stand in the socket.
//
// A process that stood still (SIGSTOP, a frozen container) finds all its timers fired at once
// when it continues, before it has read anything. A timer of this package therefore looks
// whether the process runs, shortly before its time and at its time. If it is late, it is set
// once more, for [Slack]: what has happened meanwhile is read first, and wins.
//
// A stop of at most 150 ms that begins in the last 100 ms is not noticed, nor is the sixth stop
// in a row: a process that is always late, because it is overloaded, ends its work, too.
package deadline

import (
	"context"
	"sync"
	"time"
)

// Slack is for how long a late timer is set once more.
const Slack = time.Second

const (
	lead     = Slack / 10 // how long before its time a timer looks whether the process runs
	maxAgain = 5          // how often it is set once more
)

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

	mu    sync.Mutex
	stop  func() bool // of the timer that is set; nil: it is stopped, or has fired
	sets  int         // how often it was set or stopped: a timer of an earlier setting does nothing
	again int         // how often it was set once more since Reset
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
	t.again = 0
	t.set(d)
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

// set sets the timer for d, with a look before that. It requires t.mu.
func (t *Timer) set(d time.Duration) {
	if d > lead {
		t.wait(d-lead, lead)
	} else {
		t.wait(d, 0)
	}
}

// wait sets the timer for d, and for rest after that. It requires t.mu.
func (t *Timer) wait(d, rest time.Duration) {
	t.sets++
	n, due := t.sets, t.clock.now().Add(d)
	t.stop = t.clock.after(d, func() { t.fire(n, max(0, t.clock.now().Sub(due)), rest) })
}

func (t *Timer) fire(n int, late, rest time.Duration) {
	t.mu.Lock()
	switch {
	case n != t.sets:
	case late > Slack/20 && t.again < maxAgain:
		t.again++
		t.set(Slack)
	case rest > late:
		t.wait(rest-late, 0)
	default:
		t.stop = nil
		t.mu.Unlock()
		t.f()
		return
	}
	t.mu.Unlock()
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
