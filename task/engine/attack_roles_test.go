package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
)

// The roles of a requester are those of the message that leads to the call: a role that was withdrawn
// since the task began allows nothing.
func TestAttackRoleWithdrawnSinceTheTaskBegan(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg.Policy = policy(t, approval.Gate{Tool: "transfer", Action: approval.ActionAllow, Who: &approval.Who{Roles: []string{"ops"}}})
	w.cfg.Planner = &stepper{n: 2, inline: true, step: func(i int) *task.Step {
		if i == 0 {
			return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("what next?"))}}
		}
		return &task.Step{Calls: []task.PlannedCall{{Tool: "transfer", Args: json.RawMessage(`{"amount":1,"to":"x"}`)}}}
	}}
	w.start()
	before := alice
	before.Roles = []string{auth.RoleRequester, "ops"}
	sent, err := w.sendAs(before, w.message(a2a.NewTextPart("hello")))
	w.must(err)
	got := w.await(sent)
	sent, err = w.sendAs(alice, w.reply(got.ID, a2a.NewTextPart("transfer"))) // without the role
	w.must(err)
	got = w.await(sent)
	w.wantRuns("transfer", 0)
	w.wantState(got, a2a.TaskStateInputRequired)
}
