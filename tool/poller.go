package tool

import (
	"encoding/json"
	"errors"
	"time"
)

// MaxJobState is the maximum length in bytes of the state of a [Poller]'s job, and of a state
// that its Call keeps with [Checkpoint] or a [Suspension].
const MaxJobState = 60 << 10

// ErrTryAgain means that a poll could not be answered now, which says nothing about the
// job.
var ErrTryAgain = errors.New("the job could not be polled now")

// Poller is a long-running tool: its Call or CallStreaming only starts a job, and its result
// identifies the job. The call is then suspended, durably and without using anything, and Poll
// is called until the job is done, also after restarts. IsLongRunning of a Poller is true. It
// is looked up with [As]; functiontool.NewPoller makes a Poller from functions with typed
// arguments.
//
// A call that has to be approved is approved before its job starts, and not for its polls,
// unless the tool's definition has changed by then. If the process dies between the start of
// the job and the end of Call, the call's outcome is unknown, unless Call has kept the
// necessary state with [Checkpoint]: then it is called again.
//
// The context of a poll ends when the task is canceled, or at the time limit of a call, see
// [Timed]; the poll is then made again later. To stop the job when the task is canceled, be a
// [JobStopper]. Until Call has returned, the job is Call's own business: see [CancellableTool]
// and Task().OnCancel.
type Poller interface {
	Tool

	// Poll asks about a job once. It may be called again with the same state, if the process
	// died or the poll timed out, so it must not change the job. state is the JSON returned by
	// Call, or by the last Poll.
	//
	// A nil Result means that the job is not done: the call is suspended again, with the
	// returned state, or with the same state if that is nil. A Result with Streaming set is
	// published as a piece, after the pieces of earlier polls, and the job is not done either;
	// if the process dies before the call is suspended again, it may be published twice. Any
	// other Result is the call's.
	//
	// An error ends the call, and the job is stopped, with two exceptions: an error that wraps
	// [ErrTryAgain] only delays the next poll, and a *[Suspension] asks its questions, and
	// Poll is called when they are answered, or at its Wake. Its State, if not nil, replaces
	// the job's.
	Poll(ctx Context, state json.RawMessage) (*Result, json.RawMessage, error)
}

// JobStopper is a tool that can stop the abandoned remote work of its calls: the task or the
// call was canceled, the call did not end in time, or it ended with an error. That is the job
// of a [Poller], or the work of another call that is suspended or has kept a checkpoint.
type JobStopper interface {
	// StopJob stops the job with this state, or the work of a call that has kept it, which
	// ctx names. It is retried after a failure, and may be called more than once, after the
	// job is done, and while a poll or the call still ends. ctx is that of the task's
	// owner: its state can only be read, and it has no artifacts.
	StopJob(ctx Context, state json.RawMessage) error
}

// Polled is a [Poller] that says how it wants to be polled. Without it the defaults hold.
type Polled interface {
	Polling() Polling
}

// Polling says when a job is polled. Zero or negative fields mean the defaults.
type Polling struct {
	First time.Duration // pause before the first poll. Defaults to 1 s.
	Max   time.Duration // the pause doubles with each poll up to this. Defaults to 1 min.
	// Deadline is how long after its start a job is polled for the last time. If it is
	// not done then, the call fails and the job is stopped. Defaults to 24 h.
	Deadline time.Duration
}
