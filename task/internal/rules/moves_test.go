package rules

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
)

// A draft refuses every change of state that is not in the table.
func TestStates(t *testing.T) {
	t.Parallel()
	listed := map[[2]a2a.TaskState]bool{}
	for _, m := range task.Moves() {
		listed[[2]a2a.TaskState{m.From, m.To}] = true
		if m.From.Terminal() {
			t.Errorf("a task may leave %s", m.From)
		}
		if m.To == a2a.TaskStateSubmitted && m.From != "" && m.From != a2a.TaskStateSubmitted {
			t.Errorf("a task may go back from %s to %s", m.From, m.To)
		}
	}
	for from := range store.MaxState + 2 {
		for to := task.StateSubmitted; to <= store.MaxState; to++ {
			d := newDraft(&Rules{}, At{}, fold.New(store.TaskID{1}, "c"), 0)
			d.basis.Header.State = from
			d.added = move(d.added, d.basis, task.StateName(to))
			err := d.added.err
			if want := from != task.StateUnspecified && listed[[2]a2a.TaskState{task.StateName(from), task.StateName(to)}] && from <= store.MaxState; (err == nil) != want {
				t.Errorf("from %d to %s: %v, want it allowed: %v", from, task.StateName(to), err, want)
			}
			if err == nil && d.basis.Header.State != to || err != nil && d.basis.Header.State != from {
				t.Errorf("from %d to %s: %v, and the state is %d", from, task.StateName(to), err, d.basis.Header.State)
			}
		}
	}
}
