package tool

import (
	"context"
	"errors"

	"a2a-server/tool/toolconfirmation"
)

// ErrConfirmationRequired says that a call has to wait until somebody has decided
// on it. A tool that gets it returns it: its call is suspended, and entered again
// after the decision.
var ErrConfirmationRequired = errors.New("this call has to be confirmed before it continues")

// ErrConfirmationRejected says that somebody has decided against a call. A tool
// that gets it returns it.
var ErrConfirmationRejected = errors.New("this call was rejected")

// ConfirmationRequest is what a [ConfirmationProvider] is asked.
type ConfirmationRequest struct {
	ToolCallID string // unique in its task only
	ToolName   string
	Input      string // the arguments, as JSON
	Hint       string // the question, as a person would read it
	Payload    any    // what the tool passed to RequestConfirmation, as decoded JSON

	ApprovalID string // unique
	TaskID     string
	ContextID  string
	Digest     string // what the answer is bound to
	Requester  string // the subject who asked for the call
}

// A ConfirmationProvider decides on calls within the program: true approves, false
// rejects. It may take as long as it needs; ctx ends when somebody else has decided or
// the task has ended. An error decides nothing.
type ConfirmationProvider func(ctx context.Context, req ConfirmationRequest) (bool, error)

// A Confirmer passes the question of a running call to whoever decides.
type Confirmer interface {
	// Confirm returns nil if this very question was answered with yes, and never
	// else. ErrConfirmationRequired, or a *[Suspension] that asks, means that
	// nobody has decided yet; ErrConfirmationRejected that it was a no.
	Confirm(ctx context.Context, hint string, payload any) error
}

type confirmerKey struct{}

// ContextWithConfirmer returns a context in which [RequestConfirmation] asks c.
func ContextWithConfirmer(ctx context.Context, c Confirmer) context.Context {
	return context.WithValue(ctx, confirmerKey{}, c)
}

// RequestConfirmation asks, from within a running call, whether it may continue. It
// returns nil in one case only: this very question was answered with yes. Any
// error must be returned by the tool as it is; whatever else it returns while its
// question is open is discarded.
//
// A call whose question is open ends, and is entered again from its beginning once
// that is answered. So what a tool does before its first answered question must
// have no effect. Whoever runs the tool may hold it instead until there is an
// answer. In a context without a [Confirmer] the error is ErrConfirmationRequired.
func RequestConfirmation(ctx context.Context, hint string, payload any) error {
	c, ok := ctx.Value(confirmerKey{}).(Confirmer)
	if !ok || c == nil {
		return ErrConfirmationRequired
	}
	return c.Confirm(ctx, hint, payload)
}

type confirmationKey struct{}

// ContextWithConfirmation returns a context in which [Confirmation] returns c.
func ContextWithConfirmation(ctx context.Context, c *toolconfirmation.ToolConfirmation) context.Context {
	return context.WithValue(ctx, confirmationKey{}, c)
}

// Confirmation returns the newest decision on a question that this call asked, nil
// when there is none, as on its first run. For a tool that [TakesPayload] the approval
// of the call itself is such a decision too.
func Confirmation(ctx context.Context) *toolconfirmation.ToolConfirmation {
	c, _ := ctx.Value(confirmationKey{}).(*toolconfirmation.ToolConfirmation)
	return c
}
