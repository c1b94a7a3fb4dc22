package engine_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// closing is a hook that denies everything from some time on.
type closing struct{ closed atomic.Bool }

func (c *closing) hook(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
	if c.closed.Load() {
		return task.HookResult{Deny: "the bank is closed"}, nil
	}
	return task.HookResult{}, nil
}

// A call that was approved, and stood meanwhile, is not entered again when it is
// denied by then: an approval is no way around what forbids a call now.
func TestDeniedCallIsNotEnteredAgain(t *testing.T) {
	t.Parallel()
	for _, by := range pauses {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				c := &closing{}
				h := halt(t, w, by, engine.Config{Hooks: []task.Hook{c.hook}})
				c.closed.Store(true)
				var said *approval.Error
				err := h.goOn()
				if err != nil && !errors.As(err, &said) {
					t.Fatalf("the answer = %v, want none or an approval.Error", err)
				}
				if n := h.runs.count(); n != 1 {
					t.Fatalf("the tool was entered %d times, the last time though its call was denied; the task is %s", n, w.get(h.id).Status.State)
				}
				if said != nil && by == onOutcome {
					// Whoever says that it may run again is told why it may not, and may still say
					// what came of it.
					if a := w.onlyOne(h.id); a.Kind != approval.KindOutcome || !strings.Contains(err.Error(), "the bank is closed") {
						t.Errorf("the answer = %v, and the %s is pending; want to be told why, and the outcome", err, a.Kind)
					}
					return
				}
				w.wantState(w.ended(h.id), a2a.TaskStateFailed)
				r := w.mustResult(h.seen, h.id, "c1.1")
				if !strings.Contains(r.Error, "the bank is closed") {
					t.Errorf("the planner was told %s, %q; want why the call was denied", r.Outcome, r.Error)
				}
				if by != onOutcome && r.Outcome != task.OutcomeDenied {
					t.Errorf("the outcome is %s, want %s", r.Outcome, task.OutcomeDenied)
				}
				if left := w.waiting(h.id); len(left) != 0 {
					t.Errorf("%d approvals are pending in the end", len(left))
				}
			})
		})
	}
}

// Who may say what came of a call is who could approve it: also when the call would
// not be asked about any more, because it is denied now, or its rule is gone.
func TestOutcomeKeepsTheTermsOfItsCall(t *testing.T) {
	t.Parallel()
	for name, terms := range map[string]approval.Terms{
		"four eyes": {FourEyes: true},
		"elsewhere": {Elsewhere: true},
		"both":      {FourEyes: true, Elsewhere: true, Destructive: true},
	} {
		for _, now := range []string{"as before", "denied", "without the rule"} {
			t.Run(name+", "+now, func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					c := &closing{}
					h := enterPay(t, w, onOutcome, engine.Config{
						Hooks:  []task.Hook{c.hook},
						Policy: policy(t, approval.Gate{Tool: "pay", Terms: terms}),
					})
					switch now {
					case "denied":
						c.closed.Store(true)
					case "without the rule":
						w.cfg.Policy = nil
					}
					h.die()
					asked := w.onlyOne(h.id)
					if asked.Kind != approval.KindOutcome {
						t.Fatalf("a person is asked about the %s, want the outcome", asked.Kind)
					}
					if got := asked.Terms; got.FourEyes != terms.FourEyes || got.Elsewhere != terms.Elsewhere || got.Destructive != terms.Destructive {
						t.Errorf("the terms are %+v, want those of the call: %+v", got, terms)
					}
					if state := w.get(h.id).Status.State; state != a2a.TaskStateInputRequired {
						t.Errorf("state = %s, want %s", state, a2a.TaskStateInputRequired)
					}
					err := w.decide(alice, h.id, approval.Answer{ID: asked.ID, Verb: approval.Respond, Response: []byte(`"done"`)})
					if terms.FourEyes && err == nil {
						t.Error("the one who asked for the call has said what came of it")
					}
				})
			})
		}
	}
}
