package task_test

import (
	"testing"

	"a2a-server/task"
)

// Each state has a name in A2A, and is found by it.
func TestStateNames(t *testing.T) {
	t.Parallel()
	for s := task.StateUnspecified; s <= task.StateAuthRequired; s++ {
		if back, err := task.StateOf(task.StateName(s)); err != nil || back != s {
			t.Errorf("StateOf(%s) = %d, %v, want %d", task.StateName(s), back, err, s)
		}
	}
}
