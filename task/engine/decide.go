package engine

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
)

// Decision is what somebody decides about approvals of one task, other than by a message.
type Decision struct {
	By      auth.Principal
	Via     string      // "api" or "provider"; messages come through Send
	Scope   store.Scope // with which the approvals were read
	Task    store.TaskID
	Answers []approval.Answer
}

// Decide applies decisions. When it returns nil they are durable, and the task
// continues. The errors are those of [Engine.Send].
func (e *Engine) Decide(ctx context.Context, d Decision) error {
	_, err := e.changeFresh(ctx, d.Scope, d.Task, task.Answers{By: d.By, Via: d.Via, List: d.Answers})
	if errors.Is(err, task.ErrNoChange) {
		return nil
	}
	return translate(err)
}

// maxFreshen is how often approvals are refreshed before one decision: each time, a tool
// has changed since the last time.
const maxFreshen = 8

// changeFresh is change for decisions: before they are applied, overdue approvals expire,
// and questions about a tool that has changed are asked again. Both are written even if
// the decision is then refused.
func (e *Engine) changeFresh(ctx context.Context, s store.Scope, id store.TaskID, in task.Input) (landed, error) {
	for range maxFreshen {
		l, err := e.change(ctx, s, id, in)
		if !errors.Is(err, task.ErrStale) {
			return l, err
		}
		if err := e.changed(ctx, s, id, task.Refresh{}); err != nil {
			return landed{}, err
		}
	}
	return landed{}, fmt.Errorf("%w: the tools change faster than their calls can be decided", ErrBusy)
}

// Cancel cancels a task that by may cancel. Canceling a canceled task again changes nothing.
func (e *Engine) Cancel(ctx context.Context, by auth.Principal, id store.TaskID) error {
	return translate(e.changed(ctx, ScopeFor(by, auth.Cancel), id, task.Cancel{By: by}))
}
