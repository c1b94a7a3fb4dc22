package rules

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
)

// moves is the state table: each allowed change of state, with its cause. Any other change is
// refused. docs/task-states.md is generated from it. State 0 belongs to a task that does not
// exist yet.
var moves = [store.MaxState + 1][store.MaxState + 1]string{
	0: {task.StateSubmitted: "a message makes the task"},
	task.StateSubmitted: {
		task.StateSubmitted: "waits for its turn",
		task.StateWorking:   "first step planned",
		task.StateCompleted: "ended by its planner at once",
		task.StateFailed:    "ended by its planner at once, or the planner fails",
		task.StateCanceled:  "canceled by client or planner",
		task.StateRejected:  "rejected by its planner",
	},
	task.StateWorking: {
		task.StateWorking:       "progress, a decision of others, question to the confirmation provider, unreachable tool, or waits for its turn",
		task.StateInputRequired: "the client may approve a call or decide its outcome, or a question of tool or planner",
		task.StateAuthRequired:  "a gate wants this state while others than the client decide; or planner or tool need authorization",
		task.StateCompleted:     "ended by its planner",
		task.StateFailed:        "ended by its planner, the planner fails, or the task cannot continue",
		task.StateCanceled:      "canceled by client, decision, deadline or planner",
		task.StateRejected:      "rejected by its planner",
	},
	task.StateInputRequired: {
		task.StateWorking:       "answer, deadline or timer",
		task.StateInputRequired: "nothing or a part decided, or another question",
		task.StateAuthRequired:  "only other principals can decide the rest",
		task.StateCompleted:     "answered, then ended by its planner",
		task.StateFailed:        "answered, then ended by its planner or the planner fails; or the task cannot continue",
		task.StateCanceled:      "canceled by client, decision, deadline or planner",
		task.StateRejected:      "answered, then rejected by its planner",
	},
	task.StateAuthRequired: {
		task.StateWorking:       "answer, deadline or timer",
		task.StateInputRequired: "a question that its client may answer",
		task.StateAuthRequired:  "nothing or a part decided, or another question",
		task.StateCompleted:     "answered, then ended by its planner",
		task.StateFailed:        "answered, then ended by its planner or the planner fails; or the task cannot continue",
		task.StateCanceled:      "canceled by client, decision, deadline or planner",
		task.StateRejected:      "answered, then rejected by its planner",
	},
}

// mayMove reports whether the table has the move.
func mayMove(from, to store.State) bool {
	return from <= store.MaxState && to <= store.MaxState && moves[from][to] != ""
}

// Move is a change of state that the state table allows.
type Move struct {
	From, To a2a.TaskState // From is empty for a task that does not exist yet
	By       string        // the cause of the change
}

// Moves returns the state table.
func Moves() []Move {
	var all []Move
	for from, row := range moves {
		for to, by := range row {
			if by != "" {
				all = append(all, Move{From: task.StateName(store.State(from)), To: task.StateName(store.State(to)), By: by})
			}
		}
	}
	return all
}
