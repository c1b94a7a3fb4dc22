package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A call that runs is told to stop by a call from Go and by a message alike, and its planner
// reads what is known of it, also when the process dies before the tool has stopped. Nobody
// else's call is canceled.
func TestCancelCallWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err     error // of the tool, once it is told to stop; nil: it returns a result
		ignores bool
		message bool
		want    task.Outcome
	}{
		"it stops":                    {errors.New("stopped"), false, false, task.OutcomeUnknown},
		"it stops after a message":    {errors.New("stopped"), false, true, task.OutcomeUnknown},
		"it proves that it did none":  {fmt.Errorf("not sent: %w", tool.ErrNoEffect), false, true, task.OutcomeCanceled},
		"it knows that it knows not":  {errors.Join(tool.ErrNoEffect, tool.ErrOutcomeUnknown), false, false, task.OutcomeUnknown},
		"it returns a result":         {nil, false, false, task.OutcomeOK},
		"it ignores that and is left": {nil, true, false, task.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				pay := newKeeper("pay", func(ctx tool.Context, _ int) (map[string]any, error) {
					<-ctx.Done()
					if tc.ignores {
						time.Sleep(24 * time.Hour)
					}
					return map[string]any{"paid": true}, tc.err
				})
				w.tools.extra = []tool.Tool{pay}
				seen := newWitness()
				w.cfg.Planner = seen
				w.start()
				id := w.begin(w.calls("pay", args{}))
				synctest.Wait()
				parsed, _ := engine.ParseID(string(id))
				if err := w.engine.CancelCall(w.ctx(), bob, parsed, "c1.1"); !errors.Is(err, task.ErrTaskNotFound) {
					t.Errorf("a stranger's CancelCall() = %v, want ErrTaskNotFound", err)
				}
				var err error
				if tc.message {
					m := w.message(a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": "c1.1"}))
					m.TaskID = id
					_, err = w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m})
				} else {
					err = w.engine.CancelCall(w.ctx(), alice, parsed, "c1.1")
				}
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(25 * time.Hour)
				synctest.Wait()
				w.ended(id)
				if r := w.mustResult(seen, id, "c1.1"); r.Outcome != tc.want {
					t.Errorf("the call ended %s, %q; want %s", r.Outcome, r.Error, tc.want)
				}
				if n := len(pay.seen()); n != 1 {
					t.Errorf("the tool was entered %d times, want once", n)
				}
			})
		})
	}
}

// A message that cancels a call and says something else is refused, and cancels nothing.
func TestCancelCallSaysOneThing(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		w.start()
		id := w.begin(w.calls("transfer", args{"to": "bob", "amount": 1}))
		synctest.Wait()
		stop := func() *a2a.Part { return a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": "c1.1"}) }
		for name, parts := range map[string][]*a2a.Part{
			"with a keyword":  {stop(), a2a.NewTextPart("approve")},
			"with a decision": {stop(), a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": w.onlyOne(id).ID, "decision": "approve"}}})},
			"with data":       {stop(), a2a.NewDataPart(map[string]any{"a": 1})},
			"open":            {a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": "c1.1", "decision": "approve"})},
			"without a call":  {a2a.NewDataPart(map[string]any{"type": "call_cancel"})},
		} {
			m := w.message(parts...)
			m.TaskID = id
			if _, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m}); err == nil {
				t.Errorf("%s: the message is accepted", name)
			}
			w.onlyOne(id) // still
		}
		m := w.message(stop())
		if _, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m}); err == nil {
			t.Error("a new task that cancels a call is accepted")
		}
	})
}
