// Package env is what every part of an engine has: the store, the log, the limits, the rules in
// force, the clock and the host that provides goroutines, waits and timers. It knows no task.
package env

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/internal/failure"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/host"
	"a2a-server/task/internal/rules"
)

// ErrShutdown is the cause of the end of [Env.Ctx].
var ErrShutdown = errors.New("the server is shutting down")

// ErrUncertain is wrapped by errors of a write with an unknown outcome: the wait for the disk
// was cut off.
var ErrUncertain = failure.New(failure.Uncertain, "the request may still take effect")

// Config configures an Env.
type Config struct {
	Store  store.Handle
	Log    zerolog.Logger
	Limits task.Limits
	Now    func() time.Time
	host.Runner
	CrashPoint func(point string)                    // nil: none
	Accepted   func(context.Context, auth.Principal) // nil: none
	Current    auth.Current                          // nil: as they were
	Held       time.Time                             // moment of the backup from which the store was restored, if it waits for its operator
}

// Env is the environment of an engine's parts. It is safe for concurrent use.
type Env struct {
	Config
	Ctx    context.Context //nolint:containedctx // for everything that outlives a request; ended by End
	Busy   Group           // turns and other work that a stop waits for
	Resume func()          // ends the wait of a restored store for its operator

	rules   atomic.Pointer[rules.Rules]
	end     context.CancelCauseFunc
	resumed chan struct{}
}

// New returns an Env without rules: call [Env.SetRules].
func New(cfg Config) *Env {
	e := &Env{Config: cfg, resumed: make(chan struct{})}
	if e.Resume = sync.OnceFunc(func() { close(e.resumed) }); cfg.Held.IsZero() {
		e.Resume()
	}
	e.Ctx, e.end = context.WithCancelCause(context.Background())
	return e
}

// End ends Ctx, with [ErrShutdown] as the cause.
func (e *Env) End() { e.end(ErrShutdown) }

// Now returns the current time.
func (e *Env) Now() time.Time { return e.Config.Now().UTC() }

// Rules returns the rules in force now. For several decisions that belong together, call it
// once.
func (e *Env) Rules() *rules.Rules { return e.rules.Load() }

// SetRules puts other rules into force.
func (e *Env) SetRules(r *rules.Rules) { e.rules.Store(r) }

// Held returns the moment of the backup from which the store was restored, while it waits for its
// operator. Zero: it does not wait.
func (e *Env) Held() time.Time {
	if Closed(e.resumed) {
		return time.Time{}
	}
	return e.Config.Held
}

// Resumed returns a channel that is closed while the store does not wait for its operator.
func (e *Env) Resumed() <-chan struct{} { return e.resumed }

// Accepted calls Config.Accepted.
func (e *Env) Accepted(ctx context.Context, by auth.Principal) {
	if e.Config.Accepted != nil {
		e.Config.Accepted(ctx, by)
	}
}

// At calls Config.CrashPoint at a named point.
func (e *Env) At(point string) {
	if e.CrashPoint != nil && point != "" {
		e.CrashPoint(point)
	}
}

// Await waits for a batch that was queued.
func (e *Env) Await(c *store.Commit) (store.Receipt, error) {
	e.Wait(c.Done())
	return c.Wait()
}

// Append queues a batch for a caller and waits for it, then calls then with its outcome.
// If the caller stops waiting, then is still called, later.
func (e *Env) Append(ctx context.Context, b *store.Batch, point string, then func(store.Receipt, error)) (store.Receipt, error) {
	c := e.Store.Append(ctx, b)
	e.At(point)
	if e.Wait(c.Done(), ctx.Done()) == 0 || c.Answered() {
		r, err := c.Wait()
		then(r, err)
		return r, err
	}
	e.Begin(func() { then(e.Await(c)) })
	return store.Receipt{}, fmt.Errorf("wait for the disk: %w; %w", context.Cause(ctx), ErrUncertain)
}

// Timer returns a channel that is closed after d. stop keeps it from that.
func (e *Env) Timer(d time.Duration) (over <-chan struct{}, stop func() bool) {
	ended := make(chan struct{})
	return ended, e.After(d, func() { close(ended) })
}

// Pause waits for d. It returns false if the engine ends first.
func (e *Env) Pause(d time.Duration) bool {
	over, stop := e.Timer(d)
	defer stop()
	return e.Wait(over, e.Ctx.Done()) == 0
}

// RetryPause is how long to wait after n attempts in a row have failed.
func RetryPause(n int) time.Duration {
	return min(100*time.Millisecond<<min(n, 10), time.Minute)
}

// Retry calls f until it returns no [store.ErrUnavailable], or the engine ends.
func (e *Env) Retry(f func() error) error {
	for n := 1; ; n++ {
		if err := f(); !errors.Is(err, store.ErrUnavailable) || !e.Pause(RetryPause(n)) {
			return err
		}
	}
}

// maxLogged is the maximum length of an error in a log line, in characters.
const maxLogged = 1000

// Report logs a problem that the rules report.
func (e *Env) Report(t rules.Problem) {
	l := e.Log.Warn()
	if t.Wrong {
		l = e.Log.Error()
	}
	if t.Err != nil {
		l = l.Str(zerolog.ErrorFieldName, visible.ClipText(t.Err.Error(), maxLogged))
	}
	if t.Panic != nil {
		l = e.Log.Error().Str("panic", fmt.Sprint(t.Panic)).Bytes("stack", t.Stack)
	}
	if t.Task != "" {
		l = l.Str("task_id", t.Task)
	}
	l.Msg(t.What)
}
