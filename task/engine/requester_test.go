package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/task"
)

// asksThenCalls is a planner that asks for a message, and then calls a tool.
func asksThenCalls(tool string) *stepper {
	return &stepper{n: 2, inline: true, step: func(i int) *task.Step {
		if i == 0 {
			return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("what next?"))}}
		}
		return &task.Step{Calls: []task.PlannedCall{{Tool: tool, Args: json.RawMessage(`{"amount":1,"to":"x"}`)}}}
	}}
}

// talk sends the two messages that [asksThenCalls] takes, and returns the task after them.
func (w *world) talk(first, second auth.Principal) *a2a.Task {
	w.t.Helper()
	sent, err := w.sendAs(first, w.message(a2a.NewTextPart("hello")))
	w.must(err)
	got := w.await(sent)
	sent, err = w.sendAs(second, w.reply(got.ID, a2a.NewTextPart("go on")))
	w.must(err)
	return w.await(sent)
}

// A gate judges the requester as of the newest message: the owner, all parties that acted in a message of
// the task, and the roles that the owner has now.
func TestGatesJudgeTheRequesterOfTheNewestMessage(t *testing.T) {
	t.Parallel()
	bot, ops := alice, alice
	bot.Chain, ops.Roles = []string{"bot"}, []string{auth.RoleRequester, "ops"}
	botIs, opsIs := &approval.Who{Callers: []string{"bot"}}, &approval.Who{Roles: []string{"ops"}}
	for name, tt := range map[string]struct {
		first, second auth.Principal
		gate          approval.Gate
		state         a2a.TaskState
		runs          int
	}{
		"deny, by the callers of who":          {alice, bot, approval.Gate{Tool: "write", Action: approval.ActionDeny, Who: botIs}, a2a.TaskStateCompleted, 0},
		"deny, by when":                        {alice, bot, approval.Gate{Tool: "write", Action: approval.ActionDeny, Condition: condition.MustCompile(`"bot" in caller.chain`)}, a2a.TaskStateCompleted, 0},
		"ask, by the callers of who":           {alice, bot, approval.Gate{Tool: "write", Who: botIs}, a2a.TaskStateWorking, 0},
		"a party of the first message remains": {bot, alice, approval.Gate{Tool: "write", Who: botIs}, a2a.TaskStateWorking, 0},
		"allow of the owner alone":             {alice, bot, approval.Gate{Tool: "transfer", Action: approval.ActionAllow, Who: &approval.Who{Callers: []string{"alice"}}}, a2a.TaskStateWorking, 0},
		"allow of a role that was withdrawn":   {ops, alice, approval.Gate{Tool: "transfer", Action: approval.ActionAllow, Who: opsIs}, a2a.TaskStateInputRequired, 0},
		"allow of a role that was given":       {alice, ops, approval.Gate{Tool: "transfer", Action: approval.ActionAllow, Who: opsIs}, a2a.TaskStateCompleted, 1},
		"deny of a role that was given":        {alice, ops, approval.Gate{Tool: "write", Action: approval.ActionDeny, Who: opsIs}, a2a.TaskStateCompleted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMemory(t)
			w.cfg.Policy, w.cfg.Planner = policy(t, tt.gate), asksThenCalls(tt.gate.Tool)
			w.start()
			got := w.talk(tt.first, tt.second)
			w.wantRuns(tt.gate.Tool, tt.runs)
			w.wantState(got, tt.state)
		})
	}
}

// The requester is read from the log: a call that was approved is judged after a restart as before.
func TestRequesterAfterARestart(t *testing.T) {
	bot, ops := alice, alice
	bot.Chain, ops.Roles = []string{"bot"}, []string{auth.RoleRequester, "ops"}
	for _, tt := range []struct {
		name          string
		first, second auth.Principal
		denied        approval.Who
		runs          int
	}{
		{"a party that joined", alice, bot, approval.Who{Callers: []string{"bot"}}, 0},
		{"a role that was given", alice, ops, approval.Who{Roles: []string{"ops"}}, 0},
		{"a role that was withdrawn", ops, alice, approval.Who{Roles: []string{"ops"}}, 1},
	} {
		runOnEachDisk(t, tt.name, func(t *testing.T, w *world) {
			w.cfg.Planner = asksThenCalls("transfer")
			w.start()
			got := w.talk(tt.first, tt.second)
			one := w.pendingOf(boss, got)
			if r := one.Requester; r.Subject != "alice" || !slices.Equal(r.Roles, tt.second.Roles) || !slices.Equal(r.Chain, tt.second.Chain) {
				t.Errorf("the requester is %+v, want %+v", r, tt.second)
			}
			w.cfg.Policy = policy(t, approval.Gate{Tool: "transfer", Action: approval.ActionDeny, Who: &tt.denied})
			w.restart()
			err := w.decide(boss, got.ID, approval.Decision{ID: one.ID, Type: approval.Approve})
			if refused := new(*approval.Error); tt.runs > 0 || !errors.As(err, new(*task.StateError)) && !errors.As(err, refused) { // else the gate has ended it first
				w.must(err)
			}
			synctest.Wait()
			w.wantRuns("transfer", tt.runs)
		})
	}
}
