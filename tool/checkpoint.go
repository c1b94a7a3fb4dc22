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

type checkpointerKey struct{}

// ContextWithCheckpointer returns a context in which [Checkpoint] calls c.
func ContextWithCheckpointer(ctx context.Context, c Checkpointer) context.Context {
	return context.WithValue(ctx, checkpointerKey{}, c)
}

// Checkpoint keeps state, at most [MaxSuspensionState] bytes of JSON, for a running call,
// in place of the state of an earlier checkpoint or suspension. When it returns nil, the
// state is durable. If the process then dies, the call is not unknown: it is entered
// again, with the same id, and [Resumed] returns the state, without answers.
//
// So a tool that starts work elsewhere keeps that work's id with Checkpoint as soon as it
// knows it, and continues with it if Resumed returns one. A tool that has used Checkpoint
// must be prepared to be entered again at any point after it. If Checkpoint returns an
// error, the tool should stop the work and return the error.
func Checkpoint(ctx context.Context, state json.RawMessage) error {
	c, ok := ctx.Value(checkpointerKey{}).(Checkpointer)
	if !ok || c == nil {
		return ErrNoCheckpoint
	}
	return c.Checkpoint(ctx, state)
}
