package engine_test

import (
	"errors"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// If a hook fails, the call requires approval: a grant is none.
func TestNoGrantIfAHookFails(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		broken := false
		w.cfg.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
			if broken {
				return task.HookResult{}, errors.New("the sanctions list cannot be reached")
			}
			return task.HookResult{}, nil
		}}
		w.mailing(mails(approval.GrantTerms{Vary: []string{"/to"}}))
		w.grantOf(alice, w.mail(alice, "c", args{"amount": 1, "to": "x"}), approval.GrantRequest{Scope: approval.GrantTime})
		w.wantAsked(w.mail(alice, "c", args{"amount": 1, "to": "y"}), false)
		broken = true
		w.wantAsked(w.mail(alice, "c", args{"amount": 1, "to": "an address on the list"}), true)
	})
}

// Whoever decides is told that a check has failed, also where a gate asks anyway: an allowed call
// whose hook fails says so.
func TestApproverIsToldOfAFailedHook(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Hooks = []task.Hook{func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
			return task.HookResult{}, errors.New("the sanctions list cannot be reached")
		}}
		w.mailing(mails(approval.GrantTerms{}))
		if one := w.pendingOf(alice, w.mail(alice, "c", args{"amount": 1})); !strings.Contains(one.Hint, "failed") {
			t.Errorf("the question is %q, and does not say that a check has failed", one.Hint)
		}
	})
}
