package task

import (
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
)

// ErrTaskNotFound says that there is no such task, or it is somebody else's.
var ErrTaskNotFound = errors.New("task not found")

// InvalidError says what is wrong with a request, and where.
type InvalidError struct {
	Field  string // path in the request, lowerCamelCase
	Reason string
}

// Error names the field and what is wrong with it.
func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// Invalid returns an [InvalidError].
func Invalid(field, format string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// StateError says that a task takes no such request in its state.
type StateError struct {
	Task  store.TaskID
	State a2a.TaskState
	// NotCancelable: the request was to cancel a task that has ended otherwise.
	NotCancelable bool
	// Decided, when not nil, says that what the request decides had been decided so
	// before.
	Decided *approval.Error
}

// Error says what the task's state is and what it means for the request.
func (e *StateError) Error() string {
	msg := fmt.Sprintf("task %s is in state %s and does not accept messages now", e.Task, e.State)
	if e.State.Terminal() {
		msg = fmt.Sprintf("task %s has ended in state %s: send a new message without a task id", e.Task, e.State)
	}
	if e.NotCancelable {
		msg = fmt.Sprintf("task %s has ended in state %s and cannot be canceled", e.Task, e.State)
	}
	if e.Decided != nil {
		msg = fmt.Sprintf("task %s has ended in state %s: %s", e.Task, e.State, e.Decided.Message)
	}
	return msg
}

// ErrOutput says that a call has published as much as it may.
var ErrOutput = errors.New("the call has too much output")

// ErrLogFull says that a task's log has no room for more.
var ErrLogFull = errors.New("the task's log is full")
