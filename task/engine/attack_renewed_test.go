package engine_test

import (
	"context"
	"testing"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// docs/approvals.md: "An A2A client reaches only its own tasks." A message with a decision counts for who
// its sender is at the commit, as a remark does: not for an approver who does not own the task.
func TestAttackDecisionByMessageOfAnotherOwner(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	id := w.ask(alice, 1)
	question := w.onlyOne(id).ID
	if _, err := w.engine.Send(w.ctx(), engine.Send{By: bob, Message: w.decision(id, approve(question))}); err == nil {
		t.Fatal("bob sends into alice's task")
	}
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(id, approve(question)), Renew: func(context.Context) (auth.Principal, error) {
		return bob, nil
	}})
	if err == nil {
		t.Errorf("bob, authenticated at the commit, decides by a message in alice's task, as %s", w.asked(id)[0].Resolution.By.Subject)
	}
}
