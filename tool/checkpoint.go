package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrNoCheckpoint means that the context is not that of a running call, so that there is
// nowhere to keep a checkpoint.
var ErrNoCheckpoint = errors.New("a checkpoint can only be kept by a running call")

// A Checkpointer keeps the state of a running call.
type Checkpointer interface {
	// Checkpoint returns once state is durable, or an error if it is not known to be.
	Checkpoint(ctx context.Context, state json.RawMessage) error
}

// Checkpoint keeps state, at most [MaxSuspensionState] bytes of JSON, for a running call, in
// place of the state of an earlier checkpoint or suspension. When it returns nil, the state is
// durable. If the process then dies, the call is not unknown: it is entered again, with the
// same id, and [Resumed] returns the state, without answers. That happens at most three times,
// with growing pauses, however many checkpoints follow: after that the tool may be the cause
// of the crashes, and a person is asked, as about any other call. A person is also asked about
// a call that was told to end and did not. If a [Suspension] without a State follows, such as
// that of [RequestConfirmation], the state remains.
//
// So a tool that starts work elsewhere keeps that work's id with Checkpoint as soon as it
// knows it, and continues with it if Resumed returns an id. A tool that has used Checkpoint
// must be prepared to be entered again at any point after it, by the same checks as for the
// first time: if the tool has changed, a person is asked first.
//
// Checkpoint fails if state is not JSON, is too large or nested more than 1,000 levels deep,
// if the log of the task is full, if ctx ends, and once the call was told to end or is over.
// The tool should then stop the work and return the error. Each checkpoint stays in the task's
// log and counts toward its limit. Checkpoint may be called concurrently.
func Checkpoint(ctx context.Context, state json.RawMessage) error {
	c := callValues(ctx).Checkpointer
	if c == nil {
		return ErrNoCheckpoint
	}
	return c.Checkpoint(ctx, state)
}
