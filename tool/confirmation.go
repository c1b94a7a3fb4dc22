package tool

import (
	"context"
	"errors"

	"a2a-server/tool/toolconfirmation"
)

// ErrConfirmationRequired means that a call has to wait for a decision. A tool that gets
// it must return it: the call is then suspended, and run again from its beginning after
// the decision.
var ErrConfirmationRequired = errors.New("this call has to be confirmed before it continues")

// ErrConfirmationRejected means that a call was rejected. A tool that gets it must return
// it.
var ErrConfirmationRejected = errors.New("this call was rejected")

// ConfirmationRequest is the question that a [ConfirmationProvider] gets.
type ConfirmationRequest struct {
	ToolCallID string // unique only within its task
	ToolName   string
	Input      string // the arguments, as JSON
	Hint       string // the question, as shown to a person
	Payload    any    // the payload passed to RequestConfirmation, as decoded JSON

	ApprovalID string // unique, and the same when it is asked again after a restart: an idempotency key
	TaskID     string
	ContextID  string
	Digest     string // of the question that the answer is bound to
	Requester  string // the subject that requested the call
}

// A ConfirmationProvider decides on calls within the program: true approves, false
// rejects. It may take as long as it needs; ctx ends when the decision was made elsewhere
// or the task has ended. If it returns an error, the call stays undecided.
type ConfirmationProvider func(ctx context.Context, req ConfirmationRequest) (bool, error)

// A Confirmer passes a running call's question to its approvers.
type Confirmer interface {
	// Confirm returns nil only if exactly this question was approved. ErrConfirmationRequired,
	// or a *[Suspension] with Asks, means that it is not decided yet; ErrConfirmationRejected
	// means that it was rejected.
	Confirm(ctx context.Context, hint string, payload any) error
}

// RequestConfirmation asks, from within a running call, whether it may continue. It
// returns nil only if exactly this question was approved. The tool must return any error
// unchanged; anything else that it returns while its question is open is discarded.
//
// A call with an open question ends, and runs again from its beginning once the question
// is answered. So a tool must have no effect before its first question is answered. The
// caller may instead block until there is an answer. In a context without a [Confirmer]
// the error is ErrConfirmationRequired.
func RequestConfirmation(ctx context.Context, hint string, payload any) error {
	c := callValues(ctx).Confirmer
	if c == nil {
		return ErrConfirmationRequired
	}
	return c.Confirm(ctx, hint, payload)
}

// Confirmation returns the newest decision on a question that this call asked, or nil if there
// is none, as on its first run, or if the call has asked for another confirmation since, which
// is undecided or has to be asked again. If [TakesPayload] is true for the tool, the approval of the call itself counts
// too.
func Confirmation(ctx context.Context) *toolconfirmation.ToolConfirmation {
	return callValues(ctx).Confirmation
}
