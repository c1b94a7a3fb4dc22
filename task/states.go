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
