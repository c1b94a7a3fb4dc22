package tool

import (
	"context"

	"a2a-server/tool/toolconfirmation"
)

// Call is what a context offers the call that runs in it. Each field is for the function
// named beside it; nil means that the context does not have it.
type Call struct {
	Checked      *Checked                           // ArgsChecked
	Confirmer    Confirmer                          // RequestConfirmation
	Confirmation *toolconfirmation.ToolConfirmation // Confirmation
	Checkpointer Checkpointer                       // Checkpoint
	Reporter     Reporter                           // Report
	Asker        Asker                              // AskAndWait
	Resumption   *Resumption                        // Resumed
}

type callKey struct{}

// ContextWithCall returns a context that offers what c has, and nothing else of ctx. c must
// not be changed afterwards.
func ContextWithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callIn returns what a context offers, which must not be changed.
func callIn(ctx context.Context) *Call {
	if c, _ := ctx.Value(callKey{}).(*Call); c != nil {
		return c
	}
	return &noCall
}

var noCall Call

// with returns a context that offers what ctx does, changed by set.
func with(ctx context.Context, set func(c *Call)) context.Context {
	c := *callIn(ctx)
	set(&c)
	return ContextWithCall(ctx, &c)
}
