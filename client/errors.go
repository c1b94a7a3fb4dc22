package client

import (
	"cmp"
	"strings"
)

// Error is a refusal of the server: an RFC 9457 problem. Nothing was changed, unless Reason is
// [ReasonUnclear].
type Error struct {
	Status int    `json:"status"`
	Title  string `json:"title"`            // the same for every error with the Reason
	Detail string `json:"detail,omitempty"` // the fault, and the next step
	Reason string `json:"reason"`           // in upper case, such as APPROVAL_CONFLICT; see docs/errors.md
	// Fields are the fields that are wrong.
	Fields []FieldError `json:"fields,omitempty"`
	// Approval is the approval as it is now, if the error is about its state.
	Approval *Approval `json:"approval,omitempty"`
	// RetryAfter is in seconds; 0: retrying is no help.
	RetryAfter int `json:"retryAfter,omitempty"`
}

// FieldError is the fault of a field of a request.
type FieldError struct {
	Field       string `json:"field"` // a name, or a name and a JSON pointer, such as "arguments/amount"
	Description string `json:"description"`
}

// The reasons of an [Error] that a program may act on.
const (
	ReasonUnauthenticated = "UNAUTHENTICATED"
	ReasonRole            = "PERMISSION_DENIED"    // the credential lacks a role
	ReasonNotFound        = "NOT_FOUND"            // no such path, approval or task, or not yours
	ReasonInvalid         = "INVALID_ARGUMENT"     // a field is wrong
	ReasonConflict        = "APPROVAL_CONFLICT"    // decided otherwise before
	ReasonExpired         = "APPROVAL_EXPIRED"     // its deadline has passed
	ReasonChanged         = "APPROVAL_CHANGED"     // the digest is not that of the approval
	ReasonNotAllowed      = "DECISION_NOT_ALLOWED" // not by this caller, or not this type
	ReasonBatch           = "BATCH_REFUSED"        // another decision of a batch about the same task was refused
	ReasonState           = "TASK_STATE"           // the task has ended, or has to end first
	ReasonTooMany         = "RATE_LIMIT_EXCEEDED"  // retry after RetryAfter
	ReasonBusy            = "UNAVAILABLE"          // retry later; nothing was written
	ReasonDataLoss        = "DATA_LOSS"            // stored data is damaged
	ReasonUnclear         = "OUTCOME_UNKNOWN"      // the change may have been made: read before you retry
	ReasonInternal        = "INTERNAL_ERROR"
)

// Error returns Detail, and the faults of the fields that Detail does not mention.
func (e *Error) Error() string {
	says := cmp.Or(e.Detail, e.Title)
	text := says
	for _, f := range e.Fields {
		if !strings.Contains(says, f.Description) {
			text += "; " + f.Field + " " + f.Description
		}
	}
	return text
}

// OutcomeError means that a change was sent and its outcome is unknown: read its effect before
// you send it again.
type OutcomeError struct{ Cause error }

// Error says that the outcome is unknown, and why.
func (e *OutcomeError) Error() string { return "the outcome is unknown: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *OutcomeError) Unwrap() error { return e.Cause }
