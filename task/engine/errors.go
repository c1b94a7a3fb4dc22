package engine

import (
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/scheduler"
	"a2a-server/task/engine/internal/turn"
)

// ErrUncertain is wrapped by errors of a write with an unknown outcome: the wait for the disk
// was cut off.
var ErrUncertain = env.ErrUncertain

// RecordedError means that a message is recorded and in effect, but the progress of its task
// is unknown here: the server is stopping, or its store accepts nothing that follows.
type RecordedError = turn.RecordedError

// BusyError says why no more tasks are accepted right now. It is an [ErrBusy].
type BusyError = scheduler.BusyError

// ErrBusy means that no more tasks are accepted right now: the queue for turns is full,
// or the server is shutting down. Nothing has been written. A decision is never refused
// because the queue is full.
var ErrBusy = scheduler.ErrBusy
