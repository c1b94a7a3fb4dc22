// Package failure sorts the errors of the domain into kinds. No other package knows all of
// them: each protocol has a row for each kind, and no order of its own.
package failure

import (
	"context"
	"errors"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// A Kind is a failure, as far as protocols tell failures apart.
type Kind int

// The kinds.
const (
	Internal      Kind = iota // nothing that is known here: the log needs the cause
	Refused                   // the request was refused before an operation saw it: see Failure.Refused
	Recorded                  // the change was made, and its consequences were not
	RecordedLoss              // the same, because stored data is damaged
	Denied                    // the caller has no role for the operation
	NotFound                  // no such task, or another caller's
	Invalid                   // a field is wrong: see Failure.Invalid
	Decision                  // a decision is wrong: see Failure.Decision
	State                     // the state of the task does not allow it; Failure.Decision may say why
	NotCancelable             // the task has ended in another way; Failure.Decision may say why
	NotDeletable              // the task has to end first
	NoPush                    // this server sends no push notifications
	Uncertain                 // the wait for the disk was cut off: the change may have been made
	Stopping                  // the server is shutting down, and nothing was written
	Busy                      // at a limit, or unable to write: nothing was written
	DiskFull                  // the limit of disk space: nothing was written
	Ended                     // the context of the request has ended: nothing was written
	DataLoss                  // stored data is damaged: the log needs the cause
	Kinds                     // how many there are
)

// A Failure is an error of the domain.
type Failure struct {
	Kind     Kind
	Message  string             // for the client; "": the kind says it all
	Refused  *httpd.Error       // of Refused
	Invalid  *task.InvalidError // of Invalid
	Decision *approval.Error    // of Decision; else nil, or why the state does not allow it
	Details  map[string]string  // of State: how the task has ended; of Recorded and RecordedLoss: the task that has the change; else nil
}

// Logged reports whether the cause of the failure belongs in the log, because nothing that a
// client does explains it.
func (f Failure) Logged() bool { return f.Kind == Internal || f.Kind == DataLoss }

// Of returns the failure of err. The order matters for errors with several causes: Recorded
// (the change was made) comes first, then Uncertain (it may have been made), then the failures
// that changed nothing.
func Of(err error) Failure {
	if recorded, is := errors.AsType[*engine.RecordedError](err); is {
		kind := Recorded
		if errors.Is(err, engine.ErrDataLoss) {
			kind = RecordedLoss
		}
		return Failure{Kind: kind, Message: recorded.Error(), Details: map[string]string{"taskId": recorded.Task.String()}}
	}
	if errors.Is(err, engine.ErrUncertain) {
		return Failure{Kind: Uncertain, Message: "the server was interrupted while it wrote this, and it may still take effect: look at your tasks before you send it again"}
	}
	if f := ofRequest(err); f.Kind != Internal {
		return f
	}
	return ofServer(err)
}

// ofRequest returns the failure if the request explains it.
func ofRequest(err error) Failure {
	if refused, is := errors.AsType[*httpd.Error](err); is {
		return Failure{Kind: Refused, Refused: refused}
	}
	if denied, is := errors.AsType[*auth.DeniedError](err); is {
		return Failure{Kind: Denied, Message: denied.Error()}
	}
	if errors.Is(err, task.ErrTaskNotFound) {
		return Failure{Kind: NotFound}
	}
	if invalid, is := errors.AsType[*task.InvalidError](err); is {
		return Failure{Kind: Invalid, Message: invalid.Error(), Invalid: invalid}
	}
	if state, is := errors.AsType[*task.StateError](err); is {
		f := Failure{Kind: State, Message: state.Error(), Decision: state.Decided, Details: state.Details()}
		if state.NotCancelable {
			f.Kind = NotCancelable
		}
		return f
	}
	if wrong, is := errors.AsType[*approval.Error](err); is {
		return Failure{Kind: Decision, Message: wrong.Error(), Decision: wrong}
	}
	if not, is := errors.AsType[*engine.NotDeletableError](err); is {
		return Failure{Kind: NotDeletable, Message: not.Error()}
	}
	if errors.Is(err, engine.ErrNoPush) {
		return Failure{Kind: NoPush}
	}
	return Failure{}
}

// ofServer returns the failure if the state of the server explains it.
func ofServer(err error) Failure {
	if busy, is := errors.AsType[*engine.BusyError](err); is {
		return Failure{Kind: Busy, Message: busy.Error()}
	}
	if answers, is := errors.AsType[*engine.AnswersError](err); is {
		return Failure{Kind: Busy, Message: answers.Error()}
	}
	if full, is := errors.AsType[*engine.DiskError](err); is {
		return Failure{Kind: DiskFull, Message: full.Error()}
	}
	for _, of := range []struct {
		cause error
		kind  Kind
	}{
		{httpd.ErrStopping, Stopping}, {engine.ErrUnavailable, Busy},
		{engine.ErrDataLoss, DataLoss}, {context.Canceled, Ended}, {context.DeadlineExceeded, Ended},
	} {
		if errors.Is(err, of.cause) {
			f := Failure{Kind: of.kind}
			if of.kind == Busy {
				f.Message = err.Error()
			}
			return f
		}
	}
	if _, is := errors.AsType[*task.PlannerError](err); is {
		return Failure{Kind: Internal, Message: "the planner of this agent has failed, so that the message was not read and nothing was run: the log of the server has the cause"}
	}
	return Failure{}
}
