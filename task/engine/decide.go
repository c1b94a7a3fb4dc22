package engine

import (
	"context"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/rules"
)

// DecisionInput is a decision about approvals of one task, made other than by a message.
type DecisionInput = turn.DecisionInput

// A Renewal authenticates a caller again, with the errors of an [auth.Authenticator].
type Renewal = turn.Renewal

// Decide applies decisions. When it returns nil they are durable, and the task
// continues. The errors are those of [Engine.Send].
func (e *Engine) Decide(ctx context.Context, d DecisionInput) error { return e.turns.Decide(ctx, d) }

// CancelCall cancels one call of a task that by may cancel, by its id or alias: see
// [rules.CancelCall]. When it returns nil that is durable, and a restart continues it.
func (e *Engine) CancelCall(ctx context.Context, by auth.Principal, id store.TaskID, call string) error {
	return tasklog.Translate(e.turns.Changed(ctx, ScopeFor(by, auth.Cancel), id, rules.CancelCall{By: by, Via: approval.ViaAPI, Call: call}))
}

// Cancel cancels a task that by may cancel. Canceling a canceled task again changes nothing.
func (e *Engine) Cancel(ctx context.Context, by auth.Principal, id store.TaskID) error {
	return tasklog.Translate(e.turns.Changed(ctx, ScopeFor(by, auth.Cancel), id, rules.Cancel{By: by}))
}
