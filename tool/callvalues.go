package tool

import (
	"context"
	"time"

	"a2a-server/tool/toolconfirmation"
)

// CallValues are the values of a context for the call that runs in it. Each field is for the
// function named beside it; nil means that the context has none.
type CallValues struct {
	Checked      *Checked                           // Schema.CheckCall
	Confirmer    Confirmer                          // RequestConfirmation
	Confirmation *toolconfirmation.ToolConfirmation // Confirmation
	Checkpointer Checkpointer                       // Checkpoint
	Reporter     Reporter                           // Report
	Asker        Asker                              // AskAndWait
	Resumption   *Resumption                        // Resumed
	Attempt      int                                // Attempt
	DecidedAt    time.Time                          // DecidedAt
	Approval     Approval                           // ApprovalOf
	Private      bool                               // Private
}

type callValuesKey struct{}

// ContextWithCallValues returns a context with all of v, in place of the call values of ctx. v
// must not be changed afterwards.
func ContextWithCallValues(ctx context.Context, v *CallValues) context.Context {
	return context.WithValue(ctx, callValuesKey{}, v)
}

// callValues returns the values of a context, which must not be changed.
func callValues(ctx context.Context) *CallValues {
	if v, _ := ctx.Value(callValuesKey{}).(*CallValues); v != nil {
		return v
	}
	return &noCallValues
}

var noCallValues CallValues
