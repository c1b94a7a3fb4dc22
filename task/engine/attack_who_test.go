package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/task"
)

// An agent that acts for the owner of a task in a later message is a party of the calls that follow,
// for who.callers and caller.chain as for four_eyes: docs/policy.md, "A party that acts for the
// requester is enough for ask and deny; for allow all parties have to match".
func TestAttackAgentThatJoinsLater(t *testing.T) {
	t.Parallel()
	bot := alice
	bot.Chain = []string{"bot"}
	for name, tt := range map[string]struct {
		gates []approval.Gate
		want  a2a.TaskState
		runs  int
	}{
		"deny, by who":            {[]approval.Gate{{Tool: "write", Action: approval.ActionDeny, Who: &approval.Who{Callers: []string{"bot"}}}}, a2a.TaskStateCompleted, 0},
		"deny, by when":           {[]approval.Gate{{Tool: "write", Action: approval.ActionDeny, Condition: condition.MustCompile(`"bot" in caller.chain`)}}, a2a.TaskStateCompleted, 0},
		"ask, by who":             {[]approval.Gate{{Tool: "write", Who: &approval.Who{Callers: []string{"bot"}}}}, a2a.TaskStateInputRequired, 0},
		"allow of the owner only": {[]approval.Gate{{Tool: "transfer", Action: approval.ActionAllow, Who: &approval.Who{Callers: []string{"alice"}}}}, a2a.TaskStateInputRequired, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newMemory(t)
			w.cfg.Policy = policy(t, tt.gates...)
			of := tt.gates[0].Tool
			w.cfg.Planner = &stepper{n: 2, inline: true, step: func(i int) *task.Step {
				if i == 0 {
					return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("what next?"))}}
				}
				return &task.Step{Calls: []task.PlannedCall{{Tool: of, Args: json.RawMessage(`{"amount":1,"to":"x"}`)}}}
			}}
			w.start()
			got := w.send(w.message(a2a.NewTextPart("hello")))
			w.wantState(got, a2a.TaskStateInputRequired)
			sent, err := w.sendAs(bot, w.reply(got.ID, a2a.NewTextPart("write")))
			w.must(err)
			got = w.await(sent)
			w.wantRuns(of, tt.runs)
			w.wantState(got, tt.want)
		})
	}
}
