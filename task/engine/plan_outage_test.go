package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A toolset that cannot be reached for a moment, when the planner is asked, does not
// fail a task whose call has been approved and done.
func TestToolsetAwayWhileThePlannerIsAsked(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		runs := newCounted()
		set := &away{err: errors.New("connection refused"), list: []tool.Tool{&fake{name: "pay", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			return map[string]any{"paid": true}, runs.holdOr(ctx)
		}}}}
		w.startAs(func(c *engine.Config) { c.Tools = tool.NewRegistry(set) })
		id := w.begin(w.calls("pay", args{}))
		synctest.Wait()
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		set.is.Store(true)
		runs.open()
		time.Sleep(time.Second)
		set.is.Store(false)
		time.Sleep(time.Hour)
		if got := w.get(id); got.Status.State != a2a.TaskStateCompleted {
			t.Errorf("the task is %s: %s", got.Status.State, statusText(got))
		}
	})
}

// A decision is taken though the planner then wants what cannot be written: its task
// fails, not whoever decides.
func TestDecisionBeforeAStepThatIsTooLarge(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		w.startAs(func(c *engine.Config) { c.Planner = &asksALot{} })
		id := w.begin(w.calls())
		synctest.Wait()
		err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Reject})
		synctest.Wait()
		if err != nil {
			t.Errorf("reject = %v; the task is %s, and it will be the same forever", err, w.get(id).Status.State)
		}
	})
}

// The same when the planner's question is only larger than an event may be.
func TestQuestionOfThePlannerIsBounded(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		w.startAs(func(c *engine.Config) { c.Planner = &asksALot{n: 5 << 20} })
		id := w.begin(w.calls())
		synctest.Wait()
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Reject}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(statusText(w.get(id))); n > 1<<20 {
			t.Errorf("a status message of %d bytes was published; an event may have %d", n, 1<<20)
		}
	})
}

var _ task.Limits
