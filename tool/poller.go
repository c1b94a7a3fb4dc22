package tool

import (
	"encoding/json"
	"errors"
	"time"
)

// ErrTryAgain means that a poll could not be answered now, which says nothing about the
// job.
var ErrTryAgain = errors.New("the job could not be asked about now")

// Poller is a long-running tool: its Call or CallStreaming only starts a job, and returns
// what identifies it. The call is then suspended, durably and without using anything, and
// Poll is called until the job is done, also after restarts. IsLongRunning of a Poller is
// true. It is looked up with [As].
//
// To keep the id of a job that was started even if the process dies before Call returns,
// use [Checkpoint] within Call. To stop the job when its task is canceled, be a
// [CancellableTool] or use Task().OnCancel; a job that is canceled between two polls is
// canceled by Stop, if the tool is a [JobStopper].
type Poller interface {
	Tool

	// Poll asks about a job once. A nil Result means that it is not done: the call is
	// suspended again, with the returned state, or with the same one if that is nil. A
	// Result with Streaming set is published as a piece, and the job is not done either.
	// Any other Result is the call's. An error ends the call, except that one that wraps
	// [ErrTryAgain] only delays the next poll. state is the JSON of what Call returned,
	// or what the last Poll returned.
	Poll(ctx Context, state json.RawMessage) (*Result, json.RawMessage, error)
}

// JobStopper is a [Poller] that can stop a job that nobody waits for any longer.
type JobStopper interface {
	// StopJob stops the job with this state. It may be called more than once, and after
	// the job is done.
	StopJob(ctx Context, state json.RawMessage) error
}

// Polled is a [Poller] that says how it wants to be polled. Without it the defaults hold.
type Polled interface {
	Polling() Polling
}

// Polling says when a job is polled.
type Polling struct {
	First    time.Duration // pause before the first poll. Defaults to 1 s.
	Max      time.Duration // the pause doubles up to this. Defaults to 1 min.
	Deadline time.Duration // after which the call fails, its job being stopped. Defaults to 24 h.
}
