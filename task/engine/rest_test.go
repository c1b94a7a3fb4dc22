package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A task that has ended has nothing due, and nothing is written to it any more.
func TestFailedPlanLeavesNothingDue(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		w.startAs(func(c *engine.Config) { c.Planner = &waitsBadly{} })
		id := w.begin(w.calls())
		synctest.Wait()
		end := w.header(id)
		w.idle(t, id)
		time.Sleep(2 * time.Hour)
		if h := w.header(id); h.Seq != end.Seq {
			t.Errorf("%d events were written after the end, when the task was %s", h.Seq-end.Seq, w.get(id).Status.State)
		}
	})
}

// waitsBadly is a planner that waits, and says what cannot be said.
type waitsBadly struct{}

func (*waitsBadly) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) {
	return nil, nil
}
func (*waitsBadly) Inline() bool { return true }
func (*waitsBadly) Plan(context.Context, *task.Progress) (*task.Step, error) {
	return &task.Step{Wait: time.Hour, Output: []task.Output{{Artifact: &task.ArtifactPiece{}}}}, nil
}

// A hook that returns the arguments as they are changes nothing: an edit is taken.
func TestEditWithAHookThatChangesNothing(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		w.cfg.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
			raw, err := json.Marshal(c.Args)
			return task.HookResult{Args: raw}, err
		}}
		w.startAs(func(*engine.Config) {})
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		synctest.Wait()
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Edit, Args: []byte(`{"amount":2,"to":"x"}`)}); err != nil {
			t.Errorf("edit = %v", err)
		}
	})
}
