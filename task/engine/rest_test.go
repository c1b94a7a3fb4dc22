package engine_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A hook that returns the arguments as they are changes nothing: an edit is taken.
func TestEditWithAHookThatChangesNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Hooks = []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
			raw, err := json.Marshal(c.Args)
			return task.HookResult{Args: raw}, err
		}}
		w.start()
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		synctest.Wait()
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Edit, Args: []byte(`{"amount":2,"to":"x"}`)}); err != nil {
			t.Errorf("edit = %v", err)
		}
	})
}
