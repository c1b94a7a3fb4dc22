package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"a2a-server/internal/guard"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// jobContext is the context in which a [tool.JobStopper] stops a job, or a
// [tool.RequestProcessor] changes a request: that of the task's owner, without a run. It
// implements tool.Context.
type jobContext struct {
	task.ReadonlyContext
	runs *Runs
	call string
	acts agent.EventActions
}

var _ tool.Context = (*jobContext)(nil)

// errNoRun is the error of everything that only a running call may do.
var errNoRun = errors.New("no call of the tool runs now")

func (x *jobContext) FunctionCallID() string       { return x.call }
func (x *jobContext) Actions() *agent.EventActions { return &x.acts }
func (x *jobContext) State() agent.State           { return jobState{x.ReadonlyState()} }
func (x *jobContext) Artifacts() agent.Artifacts   { return noArtifacts{} }
func (x *jobContext) Task() agent.CancellableTask  { return nil }

// jobState is the state of the tools, which can only be read.
type jobState struct{ agent.ReadonlyState }

func (jobState) Set(string, any) error { return errNoRun }

type noArtifacts struct{}

func (noArtifacts) Save(context.Context, string, ...agent.Part) (int64, error) { return 0, errNoRun }
func (noArtifacts) Load(context.Context, string) ([]agent.Part, error)         { return nil, errNoRun }
func (noArtifacts) List(context.Context) ([]string, error)                     { return nil, errNoRun }

// CancelJob tells the tool of a canceled call to cancel its remote work, in the context of
// the task's owner. A tool that does not return in time has failed; its goroutine is
// abandoned.
func (c *Runs) CancelJob(p *rules.ChildCancel, f *fold.Fold) error {
	ctx, cancel := c.Env.Within(c.Env.Ctx, jobTimeout, context.DeadlineExceeded)
	defer cancel()
	by := c.Env.Rules().Owned(ctx, f)
	err, returned := env.CallWithin(ctx, c.Env, func() error { return c.stopJob(by, p) })
	if returned {
		return err
	}
	return fmt.Errorf("the tool %s has not returned: %w", p.Tool, cmp.Or(context.Cause(ctx), errors.New("it ended its goroutine")))
}

// jobTimeout bounds how long a tool may take to cancel remote work.
const jobTimeout = 30 * time.Second

// stopJob tells the tool of a call to cancel its remote work. by is the context of the
// task's owner.
func (c *Runs) stopJob(by *task.ReadonlyContext, p *rules.ChildCancel) (err error) {
	defer guard.Recover(&err, "panic")
	entry, err := c.Env.Rules().Tools.Lookup(by, p.Tool)
	if errors.Is(err, tool.ErrUnknownTool) {
		return err
	}
	if err != nil {
		return &UnreachableError{err}
	}
	s, ok := tool.As[tool.JobStopper](entry.Tool)
	if !ok {
		return nil
	}
	state := p.State
	if _, polled := as[tool.Poller](entry.Tool); polled {
		k := decodePoll(state)
		if k.Job == nil {
			return nil // there is no job yet
		}
		state = k.Job.State
	}
	return s.StopJob(&jobContext{ReadonlyContext: *by, runs: c, call: p.Call}, state)
}

// UnreachableError means that a tool cannot be looked up now, which says nothing about it.
type UnreachableError struct{ cause error }

func (e *UnreachableError) Error() string { return e.cause.Error() }
func (e *UnreachableError) Unwrap() error { return e.cause }
