package turn

import (
	"errors"
	"strings"

	"a2a-server/internal/failure"
	"a2a-server/store"
)

// RecordedError means that a message is recorded and in effect, but the progress of its task
// is unknown here: the server is stopping, or its store accepts nothing that follows.
type RecordedError struct {
	Task    store.TaskID
	Started []string // calls that have started and whose results are unknown
	Cause   error
}

// Error returns the state of the message and the next step.
func (e *RecordedError) Error() string {
	says := "the message was recorded in task " + e.Task.String() + " and is in effect: do not send another one"
	if len(e.Started) > 0 {
		says += "; started, and their results are unknown: " + strings.Join(e.Started, ", ")
	}
	if e.Kind() == failure.RecordedLoss {
		return says + "; nothing more can be written, because what is stored is damaged: tell the operator of this server before a backup is restored, because the backup may not have the message"
	}
	return says + "; the server is stopping, and the task continues when it runs again: get the task then, or repeat this message with the same messageId to wait for it"
}

// Unwrap returns the cause.
func (e *RecordedError) Unwrap() error { return e.Cause }

// Kind says that the change was made, and whether stored data is damaged.
func (e *RecordedError) Kind() failure.Kind {
	if errors.Is(e.Cause, store.ErrDataLoss) {
		return failure.RecordedLoss
	}
	return failure.Recorded
}
