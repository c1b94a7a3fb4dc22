// Package failure has the kinds of errors that protocols tell apart, and finds the kind of an
// error. Each error tells its kind itself, and each protocol has a row for each kind.
package failure

import (
	"context"
	"errors"
)

// A Kind is a failure, as far as protocols tell failures apart. Of an error with several causes
// the highest kind counts: the change was made, then it may have been made, then the request
// explains the failure, then the state of the server does.
type Kind int

// The kinds, in ascending order.
const (
	Internal      Kind = iota // nothing that is known here: the log needs the cause
	Planner                   // the planner has failed: the log needs the cause
	Ended                     // the context of the request has ended: nothing was written
	DataLoss                  // stored data is damaged: the log needs the cause
	Busy                      // at a limit, or unable to write: nothing was written
	Stopping                  // the server is shutting down, and nothing was written
	DiskFull                  // the limit of disk space: nothing was written
	NoPush                    // this server sends no push notifications
	NotDeletable              // the task has to end first
	Decision                  // a decision is wrong
	NotCancelable             // the task has ended in another way; a decision may say why
	State                     // the state of the task does not allow it; a decision may say why
	Invalid                   // a field is wrong
	NotFound                  // no such task, or another caller's
	Denied                    // the caller has no role for the operation
	Refused                   // the request was refused before an operation saw it
	Uncertain                 // the wait for the disk was cut off: the change may have been made
	Recorded                  // the change was made, and its consequences were not
	RecordedLoss              // the same, because stored data is damaged
	Kinds                     // how many there are
)

// An Error is an error that tells its kind.
type Error interface {
	error
	Kind() Kind
}

// kindError is a sentinel error of a kind.
type kindError struct {
	error
	kind Kind
}

func (e *kindError) Kind() Kind { return e.kind }

// New returns a sentinel error of a kind. Its text is not for clients.
func New(kind Kind, text string) error { return &kindError{errors.New(text), kind} }

// A Failure is an error as protocols read it.
type Failure struct {
	Kind    Kind
	Cause   Error  // the cause that told the kind; nil of Internal and Ended
	Message string // for the client; "": the kind says it all
}

// Logged reports whether the cause of the failure belongs in the log, because nothing that a
// client does explains it.
func (f Failure) Logged() bool { return f.Kind <= Planner || f.Kind == DataLoss }

// Of returns the failure of err.
func Of(err error) Failure {
	var f Failure
	f.raise(err)
	switch _, sentinel := f.Cause.(*kindError); {
	case f.Kind < Ended && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		f = Failure{Kind: Ended}
	case f.Kind == Planner:
		f.Message = "the planner of this agent has failed, so that the message was not read and nothing was run: the log of the server has the cause"
	case f.Kind == Uncertain:
		f.Message = "the server was interrupted while it wrote this, and it may still take effect: look at your tasks before you send it again"
	case sentinel && f.Kind == Busy: // the errors around it say why
		f.Message = err.Error()
	case f.Cause != nil && !sentinel:
		f.Message = f.Cause.Error()
	}
	return f
}

// raise sets the kind and its cause to those of err or one of its causes, if that is higher. Of
// equals the first stays, in the order of [errors.Is].
func (f *Failure) raise(err error) {
	if e, is := err.(Error); is && e.Kind() > f.Kind { //nolint:errorlint // it walks the causes itself
		f.Kind, f.Cause = e.Kind(), e
	}
	switch e := err.(type) { //nolint:errorlint // likewise
	case interface{ Unwrap() error }:
		f.raise(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			f.raise(cause)
		}
	}
}
