package functiontool

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/tool"
)

// Job is the functions of a long-running tool with arguments A, which starts jobs and asks
// about them until they have a result R. J identifies a job, such as by its id at another
// service, and is kept as JSON, at most [tool.MaxJobState] bytes. The functions must be safe
// for concurrent use.
type Job[A, J, R any] struct {
	// Start starts a job. If the process dies before Start has returned, the outcome of the
	// call is unknown; see [tool.Poller].
	Start func(tool.Context, A) (J, error)
	// Poll asks about a job once, and reports whether it is done; the result then ends the
	// call. It may change *job, which is kept for the next poll, and must not change the job
	// itself: it may be asked again. An error that wraps [tool.ErrTryAgain] delays the next
	// poll, a *[tool.Suspension] asks its questions and keeps *job, not its State, and any
	// other ends the call.
	Poll func(ctx tool.Context, job *J) (result R, done bool, err error)
	// Stop stops an abandoned job; see [tool.JobStopper]. Defaults to none: the job then
	// continues.
	Stop func(ctx tool.Context, job J) error
	// Polling says when a job is polled.
	Polling tool.Polling
}

// NewPoller is [New] for a tool with long calls: it starts a job and is polled, also after
// restarts of the server, until the job is done. The tool is long-running whatever c says.
func NewPoller[A, J, R any](c Config, job Job[A, J, R]) (tool.Poller, error) {
	if c.Name != "" && (job.Start == nil || job.Poll == nil) {
		return nil, fmt.Errorf("make tool %q from a job: it needs Start and Poll", c.Name)
	}
	c.LongRunning = true
	b, err := newBase[A](c, false)
	if err != nil {
		return nil, err
	}
	p := &poller[A, J, R]{base: b, job: job}
	if job.Stop == nil {
		return p, nil
	}
	return &stopper[A, J, R]{p}, nil
}

type poller[A, J, R any] struct {
	*base
	job Job[A, J, R]
}

// kept is a job as it is kept.
type kept[J any] struct {
	Job J `json:"job"`
}

// Call implements [tool.CallableTool]: it starts a job.
func (t *poller[A, J, R]) Call(ctx tool.Context, args map[string]any) (map[string]any, error) {
	var a A
	if err := t.arguments.decode(ctx, args, &a); err != nil {
		return nil, err
	}
	j, err := t.job.Start(ctx, a)
	if err != nil {
		return nil, err // not wrapped: it may be a *tool.Suspension
	}
	return map[string]any{"job": j}, nil
}

// Poll implements [tool.Poller].
func (t *poller[A, J, R]) Poll(ctx tool.Context, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
	var k kept[J]
	if err := json.Unmarshal(state, &k); err != nil {
		return nil, nil, fmt.Errorf("decode the job of %s: %w", t.config.Name, err)
	}
	r, done, err := t.job.Poll(ctx, &k.Job)
	next, wrong := json.Marshal(k)
	var asks *tool.Suspension
	switch {
	case errors.As(err, &asks) && wrong == nil:
		with := *asks
		with.State = next
		return nil, nil, &with
	case err != nil:
		return nil, nil, err // not wrapped, as in Call
	case !done && wrong != nil:
		return nil, nil, fmt.Errorf("encode the job of %s: %w", t.config.Name, wrong)
	case !done:
		return nil, next, nil
	}
	content, err := result(r)
	if err != nil {
		return nil, nil, err
	}
	return &tool.Result{Content: content}, nil, nil
}

// Polling implements [tool.Polled].
func (t *poller[A, J, R]) Polling() tool.Polling { return t.job.Polling }

// stopper is a poller that can stop its jobs.
type stopper[A, J, R any] struct{ *poller[A, J, R] }

// StopJob implements [tool.JobStopper].
func (t *stopper[A, J, R]) StopJob(ctx tool.Context, state json.RawMessage) error {
	var k kept[J]
	if err := json.Unmarshal(state, &k); err != nil {
		return fmt.Errorf("decode the job of %s: %w", t.config.Name, err)
	}
	return t.job.Stop(ctx, k.Job)
}
