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

// Decision is what somebody decides about approvals of one task, whatever way it
// came.
type Decision struct {
	By      auth.Principal
	Via     string      // "api" or "provider"; messages come through Send
	Scope   store.Scope // by which the approvals were read
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

// maxFreshen is how often approvals are brought up to date before one decision: each
// time a tool has changed since the time before.
const maxFreshen = 8

// changeFresh is change for decisions: what is overdue expires, and what was asked
// about a tool that has changed is asked again, before they are looked at. Both are
// facts of their own, written even when the decision is then refused.
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

// Cancel ends a task. Canceling a canceled task again changes nothing.
func (e *Engine) Cancel(ctx context.Context, by auth.Principal, id store.TaskID) error {
	return translate(e.changed(ctx, ScopeOf(by), id, task.Cancel{By: by}))
}
