package engine

import (
	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
)

// Reload replaces the tools and the policy, together: whatever the engine decides from now on,
// it decides with both. A call that runs keeps the tool that it was started with. One that
// waits for a decision is asked about again if its tool has another definition now, and one
// that was approved is checked against the new policy before it starts.
func (e *Engine) Reload(tools *tool.Registry, policy *approval.Policy) {
	if tools == nil || policy == nil {
		panic("task/engine: Reload without tools or without a policy")
	}
	next := *e.rules()
	next.Tools, next.Policy = tools, policy
	e.ruling.Store(&next)
}

// rules returns the rules that are in force now. Who decides several things that belong
// together calls it once.
func (e *Engine) rules() *task.Rules { return e.ruling.Load() }
