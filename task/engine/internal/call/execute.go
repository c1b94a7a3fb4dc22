package call

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"

	"a2a-server/internal/visible"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// panicked logs a panic of the tool.
func (r *Run) panicked(p any) {
	r.runs.Env.Log.Error().Str("panic", fmt.Sprint(r.entry.Logged(p))).Bytes("stack", debug.Stack()).Str("task_id", r.seat.Task.String()).Str("call_id", r.entry.Call).Msg("tool panicked")
}

// execute calls the tool and never panics.
func (r *Run) execute(x *toolContext) (o *rules.RunEnded) {
	unknown := false // whatever else is wrong with the tool's error
	defer func() {
		if p := recover(); p != nil {
			late := r.onlyLate(x, errPanicked)
			o = &rules.RunEnded{Err: errPanicked, Unknown: unknown || late, TimedOut: late} // its value goes to the log only: it may contain secrets
			r.panicked(p)
		}
		if o == nil {
			return // the tool has ended its goroutine
		}
		x.finishActions(o)
		x.mu.Lock()
		o.Entry, o.Delta = r.entry, maps.Clone(x.delta)
		x.mu.Unlock()
		o.Keeps, o.Stop = r.job != nil || r.started, (r.job != nil || r.started) && !r.done
		if !o.Keeps && o.Err != nil && o.Suspension == nil {
			o.Stop = true // the work that a checkpoint or an earlier suspension knows, if any
		}
		r.mu.Lock()
		if o.Output = r.output; r.tooMuch == nil {
			o.Asks = r.asks
		}
		r.mu.Unlock()
		if r.text != nil {
			o.Whole = r.text.String()
		}
	}()
	o = r.call(x)
	unknown = o.Err != nil && errors.Is(o.Err, tool.ErrOutcomeUnknown) // the error's methods are the tool's code, too
	if !unknown && r.onlyLate(x, o.Err) {
		unknown, o.TimedOut = true, true
	}
	if err := r.exceeded(); err != nil {
		o = &rules.RunEnded{Err: err, Unknown: unknown, TimedOut: o.TimedOut}
		return o
	}
	if o.Err != nil {
		o.Unknown = unknown
		o.NoEffect = !unknown && errors.Is(o.Err, tool.ErrNoEffect)
		o.Rejected = errors.Is(o.Err, tool.ErrConfirmationRejected)
		var s *tool.Suspension
		paused := errors.As(o.Err, &s) && s != nil
		if o.Err = plain(o.Err); o.TimedOut && !errors.Is(o.Err, errToolTimeout) {
			o.Err = fmt.Errorf("%w: %w", errToolTimeout, o.Err)
		}
		if paused {
			var err error
			if o.Suspension, err = frozen(s); err != nil {
				o.Err = err
			}
		}
	}
	return o
}

// onlyLate reports whether an error came after the time of the run was over, and does not say how the call stands:
// that the call had no effect, that it pauses, or that a person rejected it. An error such as "signal: killed" may
// only say that the tool was told to end. What an error says about a job does not depend on the time of a poll.
func (r *Run) onlyLate(ctx context.Context, err error) bool {
	switch {
	case err == nil || r.job != nil || !errors.Is(context.Cause(ctx), errToolTimeout) || errors.Is(err, tool.ErrNoEffect):
		return false
	case errors.Is(err, errToolTimeout) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return true
	}
	_, pauses := errors.AsType[*tool.Suspension](err)
	return !pauses && !r.asking() && !errors.Is(err, tool.ErrConfirmationRejected)
}

// checked runs the hooks on the outcome. They get no error that only says that the server has
// told the tool to end: whether it failed is then unknown.
func (r *Run) checked(x *toolContext, o *rules.RunEnded) *rules.RunEnded {
	if o.Err == nil || !errors.Is(context.Cause(x), env.ErrShutdown) {
		rules.After(x.Context, r.runs.Env.Rules(), o)
	}
	return o
}

// exceeded returns why the call ends, if it has tried to publish more than it may.
func (r *Run) exceeded() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tooMuch
}

// maxError bounds the text of a tool's error, in characters.
const maxError = 8 << 10

// plain returns an error with the text of err but without its methods: they are called
// here, where they may panic. Our own errors are kept.
func plain(err error) error {
	for _, ours := range []error{ErrCut, ErrCallCancel, errToolTimeout, rules.ErrLogFull, ErrOutput, env.ErrShutdown} {
		if errors.Is(err, ours) {
			return fmt.Errorf("%w%s", ours, strings.TrimPrefix(err.Error(), ours.Error()))
		}
	}
	return errors.New(visible.Shorten(err.Error(), maxError))
}

// call runs the tool.
func (r *Run) call(x *toolContext) *rules.RunEnded {
	switch {
	case r.poller == nil:
		return r.invoke(x)
	case r.job == nil:
		return r.startJob(x)
	}
	return r.poll(x)
}

// invoke runs the tool, by Call or CallStreaming.
func (r *Run) invoke(x *toolContext) *rules.RunEnded {
	var result any
	var err error
	switch s, c := tool.Runs(r.entry.Tool); {
	case s != nil:
		return r.stream(x, s)
	case c != nil:
		result, err = c.Call(x, r.entry.Args)
	default:
		err = fmt.Errorf("tool %s can neither be called nor streamed", r.entry.Name)
	}
	o := &rules.RunEnded{Err: err}
	if err == nil {
		o.Result, o.Parts, o.Err = r.publish.Result(result, r.runs.Env.Limits.Result())
	}
	return o
}
