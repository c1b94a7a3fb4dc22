package engine_test

import (
	"testing"
	"testing/synctest"

	"a2a-server/approval"
	"a2a-server/task/engine"
)

// A decision is taken though the planner then wants what cannot be written: its task
// fails, not whoever decides.
func TestDecisionBeforeAStepThatIsTooLarge(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(func(c *engine.Config) { c.Planner = &asksALot{} })
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
	inMemory(t, func(t *testing.T, w *world) {
		w.start(func(c *engine.Config) { c.Planner = &asksALot{n: 5 << 20} })
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
