package engine

import (
	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// Reload replaces the tools and the policy, together: all later decisions of the engine use
// both. A running call keeps the tool that it was started with. A call that waits for a
// decision is asked about again, in the background, if its tool has another definition now; an
// approved call is checked against the new policy before it starts.
func (e *Engine) Reload(tools *tool.Registry, policy *approval.Policy) {
	if tools == nil || policy == nil {
		panic("task/engine: Reload without tools or without a policy")
	}
	next := *e.rules()
	next.Tools, next.Policy = tools, policy
	e.ruling.Store(&next)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.draining {
		e.begin(func() { e.askAgain(&next) })
	}
}

// askAgain asks again about calls whose tool has another definition by rules, as a decision
// now would, until other rules are in force. A tool that cannot be looked up stays as it is.
func (e *Engine) askAgain(current *rules.Rules) {
	began := e.now()
	for id, a := range e.pending("what it asks may be out of date until it is decided") {
		if e.ctx.Err() != nil || e.rules() != current {
			return
		}
		if a.Asked.After(began) {
			continue
		}
		if err := e.changed(e.ctx, store.System(), id, rules.Refresh{}); err != nil && e.ctx.Err() == nil {
			e.log.Warn().Err(err).Str("task_id", a.Task).Str("approval_id", a.ID).Msg("after a reload: an approval is out of date until it is decided")
		}
	}
}

// rules returns the rules in force now. For several decisions that belong together, call it
// once.
func (e *Engine) rules() *rules.Rules { return e.ruling.Load() }
