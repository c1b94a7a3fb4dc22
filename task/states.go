package task

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// The nine states of A2A 1.0, as the store keeps them. The numbers are on disk.
const (
	StateUnspecified store.State = iota + 1
	StateSubmitted
	StateWorking
	StateCompleted
	StateFailed
	StateCanceled
	StateInputRequired
	StateRejected
	StateAuthRequired
)

var stateNames = [store.MaxState + 1]a2a.TaskState{
	StateUnspecified:   a2a.TaskStateUnspecified,
	StateSubmitted:     a2a.TaskStateSubmitted,
	StateWorking:       a2a.TaskStateWorking,
	StateCompleted:     a2a.TaskStateCompleted,
	StateFailed:        a2a.TaskStateFailed,
	StateCanceled:      a2a.TaskStateCanceled,
	StateInputRequired: a2a.TaskStateInputRequired,
	StateRejected:      a2a.TaskStateRejected,
	StateAuthRequired:  a2a.TaskStateAuthRequired,
}

// StateName returns the name in A2A of a state in a header.
func StateName(s store.State) a2a.TaskState {
	if s > store.MaxState {
		return a2a.TaskStateUnspecified
	}
	return stateNames[s]
}

// StateOf returns the store's number for a state of A2A.
func StateOf(name a2a.TaskState) (store.State, error) {
	for s, n := range stateNames {
		if n == name && s > 0 {
			return store.State(s), nil
		}
	}
	return 0, fmt.Errorf("task state %q is not one of A2A's", name)
}

// moves is the state table: each allowed change of state, with its cause. Any other change is
// refused. docs/task-states.md is generated from it. State 0 belongs to a task that does not
// exist yet.
var moves = [store.MaxState + 1][store.MaxState + 1]string{
	0: {StateSubmitted: "a message makes the task"},
	StateSubmitted: {
		StateSubmitted: "waits for its turn",
		StateWorking:   "first step planned",
		StateCompleted: "ended by its planner at once",
		StateFailed:    "ended by its planner at once, or the planner fails",
		StateCanceled:  "canceled by client or planner",
		StateRejected:  "rejected by its planner",
	},
	StateWorking: {
		StateWorking:       "progress, a decision of others, question to the confirmation provider, unreachable tool, or waits for its turn",
		StateInputRequired: "the client may approve a call or decide its outcome, or a question of tool or planner",
		StateAuthRequired:  "a gate wants this state while others than the client decide; or planner or tool need authorization",
		StateCompleted:     "ended by its planner",
		StateFailed:        "ended by its planner, the planner fails, or the task cannot continue",
		StateCanceled:      "canceled by client, decision, deadline or planner",
		StateRejected:      "rejected by its planner",
	},
	StateInputRequired: {
		StateWorking:       "answer, deadline or timer",
		StateInputRequired: "nothing or a part decided, or another question",
		StateAuthRequired:  "only other principals can decide the rest",
		StateCompleted:     "answered, then ended by its planner",
		StateFailed:        "answered, then ended by its planner or the planner fails; or the task cannot continue",
		StateCanceled:      "canceled by client, decision, deadline or planner",
		StateRejected:      "answered, then rejected by its planner",
	},
	StateAuthRequired: {
		StateWorking:       "answer, deadline or timer",
		StateInputRequired: "a question that its client may answer",
		StateAuthRequired:  "nothing or a part decided, or another question",
		StateCompleted:     "answered, then ended by its planner",
		StateFailed:        "answered, then ended by its planner or the planner fails; or the task cannot continue",
		StateCanceled:      "canceled by client, decision, deadline or planner",
		StateRejected:      "answered, then rejected by its planner",
	},
}

// MayMove reports whether the table has the move.
func MayMove(from, to store.State) bool {
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
				all = append(all, Move{From: stateNames[from], To: stateNames[to], By: by})
			}
		}
	}
	return all
}
