package engine_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// docs/security.md: the role approver sends no messages and sets no webhooks. A message with a decision and
// a webhook, of an owner whose role requester is withdrawn before the commit, sets none.
func TestAttackWebhookOfAWithdrawnRole(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	of := w.parkedTask()
	id := w.get(a2a.TaskID(of.String())).ID
	question := w.onlyOne(id).ID
	c, now := webhook("late"), member("alice", auth.RoleApprover)
	if _, err := w.engine.SetPush(w.ctx(), now, of, webhook("direct")); err == nil {
		t.Fatal("an approver sets a webhook")
	}
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(id, approve(question)), Push: &c, Renew: func(context.Context) (auth.Principal, error) {
		return now, nil
	}})
	list, listErr := w.engine.PushList(w.ctx(), alice, of, 0, "")
	if listErr != nil {
		t.Fatal(listErr)
	}
	if len(list.Configs) > 0 {
		t.Errorf("Send() = %v, and the task has the webhook %s of %v, who may set none", err, list.Configs[0].ID, now.Roles)
	}
}
