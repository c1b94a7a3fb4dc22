package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A tool that returns nothing makes no task that cannot be read, neither by clients nor
// by the tools that come after it.
func TestToolThatReturnsNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var listed error
		w.tools.extra = []tool.Tool{
			&fake{name: "nothing", call: func(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }},
			&fake{name: "lists", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				_, listed = ctx.Artifacts().List(ctx)
				return map[string]any{}, nil
			}},
		}
		w.start(func(c *engine.Config) { c.Planner = sequence{"nothing", "lists"} })
		id := w.begin(w.calls())
		synctest.Wait()
		if listed != nil {
			t.Errorf("Artifacts().List() = %v", listed)
		}
		w.readable(id)
	})
}

// readable checks that a client of the SDK can read the task.
func (w *world) readable(id a2a.TaskID) {
	w.t.Helper()
	v, err := w.engine.Get(context.Background(), alice, string(id))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := v.Task(task.ViewOptions{HistoryLength: -1}); err != nil {
		w.t.Errorf("the task cannot be read: %v; it is %s", err, v.AppendTask(nil, task.ViewOptions{}))
	}
}

// Nor does a person who says that the result of a call is null.
func TestRespondNull(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := newCounted()
		t.Cleanup(runs.open)
		w.tools.extra = []tool.Tool{&fake{name: "late", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.hold()
			return map[string]any{}, nil
		}}}
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.start()
		id := w.begin(w.calls("late", args{}))
		time.Sleep(2 * time.Minute)
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Respond, Response: []byte("null")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.readable(id)
	})
}
