package task

import (
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
)

// ErrTaskNotFound means that the task does not exist, or that another caller owns it.
var ErrTaskNotFound = errors.New("task not found")

// InvalidError says which field of a request is invalid, and why.
type InvalidError struct {
	Field  string // path in the request, lowerCamelCase
	Reason string
}

// Error returns the field and its fault.
func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// Invalid returns an [InvalidError].
func Invalid(field, format string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// StateError means that a task does not accept a request in its current state.
type StateError struct {
	Task  store.TaskID
	State a2a.TaskState
	// NotCancelable: the request was to cancel a task that has ended in another state.
	NotCancelable bool
	// Decided, if not nil, describes earlier decisions about the approvals of the request, or
	// other faults of its decisions.
	Decided *approval.Error
}

// Unwrap returns Decided.
func (e *StateError) Unwrap() error {
	if e.Decided == nil {
		return nil
	}
	return e.Decided
}

// Error describes the state of the task and its consequence for the request.
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

// ErrOutput means that a call has reached its output limit.
var ErrOutput = errors.New("the call has too much output")

// ErrLogFull means that a task's log has reached its size limit.
var ErrLogFull = errors.New("the task's log is full")
