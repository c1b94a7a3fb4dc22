package task

import (
	"fmt"
	"slices"

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

func stateName(s store.State) a2a.TaskState {
	if s > store.MaxState {
		return a2a.TaskStateUnspecified
	}
	return stateNames[s]
}

// StateOf returns the store's number of a state of A2A.
func StateOf(name a2a.TaskState) (store.State, error) {
	for s, n := range stateNames {
		if n == name && s > 0 {
			return store.State(s), nil
		}
	}
	return 0, fmt.Errorf("task state %q is not one of A2A's", name)
}

// moves is the state table: where a task may go from each state. What is not in
// it cannot be written. 0 is a task that does not exist yet.
//
//	(new) → submitted
//	submitted → submitted again, working, what it waits for, and any end
//	working ⇄ input-required, auth-required; each → any end; each may be said again
//	completed, failed, canceled, rejected: the end
var moves = map[store.State][]store.State{
	0:                  {stateSubmitted},
	stateSubmitted:     {stateSubmitted, stateWorking, StateInputRequired, StateAuthRequired, stateCompleted, stateFailed, stateCanceled, stateRejected},
	stateWorking:       {stateWorking, StateInputRequired, StateAuthRequired, stateCompleted, stateFailed, stateCanceled, stateRejected},
	StateInputRequired: {stateWorking, StateInputRequired, StateAuthRequired, stateCompleted, stateFailed, stateCanceled, stateRejected},
	StateAuthRequired:  {stateWorking, StateInputRequired, StateAuthRequired, stateCompleted, stateFailed, stateCanceled, stateRejected},
}

// allowed reports whether the table has the move.
func allowed(from, to store.State) bool {
	return slices.Contains(moves[from], to)
}
