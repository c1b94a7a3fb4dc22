package task

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// The nine states of A2A 1.0, as the store keeps them. The numbers are on disk.
const (
	stateUnspecified store.State = iota + 1
	stateSubmitted
	stateWorking
	stateCompleted
	stateFailed
	stateCanceled
	StateInputRequired
	stateRejected
	StateAuthRequired
)

var stateNames = [store.MaxState + 1]a2a.TaskState{
	stateUnspecified:   a2a.TaskStateUnspecified,
	stateSubmitted:     a2a.TaskStateSubmitted,
	stateWorking:       a2a.TaskStateWorking,
	stateCompleted:     a2a.TaskStateCompleted,
	stateFailed:        a2a.TaskStateFailed,
	stateCanceled:      a2a.TaskStateCanceled,
	StateInputRequired: a2a.TaskStateInputRequired,
	stateRejected:      a2a.TaskStateRejected,
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
	0: {stateSubmitted: "a message makes the task"},
	stateSubmitted: {
		stateSubmitted: "it has to wait for its turn, and says so",
		stateWorking:   "its planner has planned the first step",
		stateCompleted: "its planner ends it at once",
		stateFailed:    "its planner ends it at once, or fails",
		stateCanceled:  "its client cancels it, or its planner does",
		stateRejected:  "its planner rejects it",
	},
	stateWorking: {
		stateWorking:       "its planner reports progress, the confirmation provider is asked, a tool cannot be reached, or it has to wait for its turn",
		StateInputRequired: "a call needs approval, a tool asks, its planner asks, or a person has to decide about a call with an unknown outcome",
		StateAuthRequired:  "only principals other than the client can decide its approvals, and their gates want this state; or its planner asks for authorization",
		stateCompleted:     "its planner ends it",
		stateFailed:        "its planner ends it, or fails; or the task cannot continue",
		stateCanceled:      "its client, a decision, a deadline or its planner cancels it",
		stateRejected:      "its planner rejects it",
	},
	StateInputRequired: {
		stateWorking:       "it is answered, or a deadline or a timer resumes it",
		StateInputRequired: "a message decides nothing, a part is answered, or something else is asked",
		StateAuthRequired:  "only other principals can decide the remaining approvals",
		stateCompleted:     "it is answered, and its planner ends it",
		stateFailed:        "it is answered, and its planner ends it or fails; or the task cannot continue",
		stateCanceled:      "its client, a decision, a deadline or its planner cancels it",
		stateRejected:      "it is answered, and its planner rejects it",
	},
	StateAuthRequired: {
		stateWorking:       "it is answered, or a deadline or a timer resumes it",
		StateInputRequired: "something is asked that its client may answer",
		StateAuthRequired:  "a message decides nothing, a part is answered, or something else is asked",
		stateCompleted:     "it is answered, and its planner ends it",
		stateFailed:        "it is answered, and its planner ends it or fails; or the task cannot continue",
		stateCanceled:      "its client, a decision, a deadline or its planner cancels it",
		stateRejected:      "it is answered, and its planner rejects it",
	},
}

// allowed reports whether the table has the move.
func allowed(from, to store.State) bool {
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
