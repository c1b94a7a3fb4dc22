package task

import (
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/failure"
	"a2a-server/store"
)

// ErrTaskNotFound means that the task does not exist, or that another caller owns it.
var ErrTaskNotFound = failure.New(failure.NotFound, "task not found")

// InvalidError says which field of a request is invalid, and why.
type InvalidError struct {
	Field  string // path in the request, lowerCamelCase
	Reason string
}

// Error returns the field and its fault.
func (e *InvalidError) Error() string { return e.Field + " " + e.Reason }

// Kind says that a field is wrong.
func (*InvalidError) Kind() failure.Kind { return failure.Invalid }

// Invalid returns an [InvalidError].
func Invalid(field, format string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// PlannerError means that a planner has failed to examine a message. Its text is for the log.
type PlannerError struct{ Cause error }

// Error returns the text of the cause.
func (e *PlannerError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *PlannerError) Unwrap() error { return e.Cause }

// Kind says that the planner has failed.
func (*PlannerError) Kind() failure.Kind { return failure.Planner }

// StateError means that a task does not accept a request in its current state.
type StateError struct {
	Task  store.TaskID
	State a2a.TaskState
	// NotCancelable: the request was to cancel a task that has ended in another state.
	NotCancelable bool
	// Ended, of a task that has ended, says how.
	Ended Ended
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

// Kind says whether the request was to cancel the task.
func (e *StateError) Kind() failure.Kind {
	if e.NotCancelable {
		return failure.NotCancelable
	}
	return failure.State
}

// Error describes the state of the task and its consequence for the request.
func (e *StateError) Error() string {
	msg := fmt.Sprintf("task %s is in state %s and does not accept messages now", e.Task, e.State)
	if e.State.Terminal() {
		msg = fmt.Sprintf("task %s has ended%s and takes no more messages: send a new message without a task id, or get task %s for all of its result%s", e.Task, e.Ended.in(e.State), e.Task, e.Ended.said())
	}
	if e.NotCancelable {
		msg = fmt.Sprintf("task %s has ended in state %s and cannot be canceled", e.Task, e.State)
	}
	if e.Decided != nil {
		msg = fmt.Sprintf("task %s has ended%s: %s%s", e.Task, e.Ended.in(e.State), e.Decided.Message, e.Ended.said())
	}
	return msg
}

// Ended is how a task has ended.
type Ended struct {
	At   time.Time
	Text string // the beginning of the text that it ended with, at most 4 KiB; "": none is known
}

// in returns the state and time of the end, to follow "has ended".
func (e Ended) in(state a2a.TaskState) string {
	if e.At.IsZero() {
		return fmt.Sprintf(" in state %s", state)
	}
	return fmt.Sprintf(" in state %s at %s", state, e.At.UTC().Format(time.RFC3339))
}

// said returns the text as the end of a sentence.
func (e Ended) said() string {
	if e.Text == "" {
		return ""
	}
	return ". It ended with:\n" + e.Text
}

// Details returns the task, and how it ended, for programs; nil: it has not.
func (e *StateError) Details() map[string]string {
	if e.Ended.At.IsZero() {
		return nil
	}
	details := map[string]string{"taskId": e.Task.String(), "taskState": string(e.State), "endedAt": e.Ended.At.UTC().Format(time.RFC3339)}
	if e.Ended.Text != "" {
		details["text"] = e.Ended.Text
	}
	return details
}
