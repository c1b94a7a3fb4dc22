package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
)

// A planner that ends its task in a state that is no end has failed, and its task with
// it: at once, or after a step.
func TestPlannerEndsInNoEnd(t *testing.T) {
	t.Parallel()
	for _, state := range []a2a.TaskState{
		a2a.TaskStateWorking, a2a.TaskStateSubmitted, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
		a2a.TaskStateUnspecified, "", "TASK_STATE_DONE",
	} {
		for _, inline := range []bool{true, false} {
			for _, after := range []int{0, 1} {
				t.Run(fmt.Sprintf("%q inline %t after %d", state, inline, after), func(t *testing.T) {
					t.Parallel()
					eachDisk(t, func(t *testing.T, w *world) {
						w.cfg.Planner = &stepper{n: 2, inline: inline, step: func(i int) *task.Step {
							if i < after {
								return &task.Step{Calls: []task.PlannedCall{{Tool: "echo"}}}
							}
							return &task.Step{End: &task.End{State: state, Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("this is it"))}}
						}}
						w.start()
						id := w.begin(w.message(a2a.NewTextPart("go")))
						got := w.ended(id)
						w.wantState(got, a2a.TaskStateFailed)
						if text := statusText(got); !strings.Contains(text, "planner") || !strings.Contains(text, "end") {
							t.Errorf("status = %q, want that the planner ended in a state that is no end", text)
						}
						if h := w.header(id); h.Phase != store.Final {
							t.Errorf("phase = %d, want the final one", h.Phase)
						}
					})
				})
			}
		}
	}
}
