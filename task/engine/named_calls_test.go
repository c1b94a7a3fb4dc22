package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/engine"
)

// byCallID are decisions to approve that name a call, not an approval.
var byCallID = map[string]func(w *world, id a2a.TaskID, call string) *a2a.Message{
	"ours": func(w *world, id a2a.TaskID, call string) *a2a.Message { return w.decision(id, approve(call)) },
	"adk": func(w *world, id a2a.TaskID, call string) *a2a.Message {
		return w.functionResponse(id, map[string]any{"id": call, "name": "adk_request_confirmation", "response": map[string]any{"confirmed": true}})
	},
	"adk-rs": func(w *world, id a2a.TaskID, call string) *a2a.Message {
		return w.functionResponse(id, map[string]any{"adk:functionResponse": map[string]any{
			"id": call, "name": "adk_request_confirmation", "response": map[string]any{"confirmed": true},
		}})
	},
}

func (w *world) functionResponse(id a2a.TaskID, data map[string]any) *a2a.Message {
	m := w.message(a2a.NewDataPart(data))
	m.TaskID = id
	return m
}

// Whoever approves a call by its id, and says so again after the process has died
// while the call ran, says nothing about what came of the call: it is not run again.
func TestSameDecisionAfterDeathIsNoOther(t *testing.T) {
	t.Parallel()
	for name, message := range byCallID {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				h := &halted{world: w, by: onOutcome, runs: newCounted()}
				t.Cleanup(h.runs.open)
				pay := &fake{name: "pay", gated: true, call: h.enter}
				w.tools.extra = append(w.tools.extra, pay)
				w.wrap = h.kill.wrap
				w.start()
				id := w.begin(w.calls("pay", args{"amount": 1}))
				call := w.onlyOne(id)
				if _, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: message(w, id, call.Call)}); err != nil {
					// The id of a call may be no name of an approval at all.
					if err := w.decide(alice, id, approval.Answer{ID: call.ID, Verb: approval.Approve}); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if n := h.runs.count(); n != 1 {
					t.Fatalf("the approved tool was entered %d times, want 1", n)
				}
				h.die()
				outcome := w.onlyOne(id)
				if outcome.Kind != approval.KindOutcome {
					t.Fatalf("a person is asked about the %s, want the outcome", outcome.Kind)
				}
				for range 2 {
					_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: message(w, id, call.Call)})
					synctest.Wait()
					if n := h.runs.count(); n != 1 {
						t.Fatalf("the same decision again = %v, and the tool was entered %d times", err, n)
					}
				}
				if a := w.onlyOne(id); a.ID != outcome.ID {
					t.Errorf("%s is pending, want %s", a.ID, outcome.ID)
				}
				// The question itself, by its name, is answered as ever.
				h.runs.open()
				w.wantState(w.send(w.decision(id, approve(outcome.ID))), a2a.TaskStateCompleted)
				if n := h.runs.count(); n != 2 {
					t.Errorf("the tool was entered %d times in the end, want 2", n)
				}
			})
		})
	}
}

// named is a call of transfer as a message names it, with an id of the caller's own.
type named struct {
	id     string
	amount int
}

// shapes are the ways in which a message may name calls with ids.
var shapes = map[string]func(calls []named) []*a2a.Part{
	"list": func(calls []named) []*a2a.Part {
		var list []any
		for _, c := range calls {
			list = append(list, c.data("tool"))
		}
		return []*a2a.Part{a2a.NewDataPart(map[string]any{"calls": list})}
	},
	"parts": func(calls []named) []*a2a.Part {
		var parts []*a2a.Part
		for _, c := range calls {
			parts = append(parts, a2a.NewDataPart(c.data("tool")))
		}
		return parts
	},
	"adk": func(calls []named) []*a2a.Part {
		var parts []*a2a.Part
		for _, c := range calls {
			p := a2a.NewDataPart(c.data("name"))
			p.Metadata = map[string]any{"adk_type": "function_call"}
			parts = append(parts, p)
		}
		return parts
	},
}

func (c named) data(key string) map[string]any {
	d := map[string]any{key: "transfer", "args": map[string]any{"amount": c.amount, "to": "x"}}
	if c.id != "" {
		d["id"] = c.id
	}
	return d
}

// A caller's id for a call must not be one that another call goes by: whoever decides
// what they see would decide about what they do not.
func TestAmbiguousCallIDsAreRefused(t *testing.T) {
	t.Parallel()
	const million = 1_000_000
	for name, calls := range map[string][]named{
		"the second call's":  {{"c1.2", 1}, {"", million}},
		"the first call's":   {{"", million}, {"c1.1", 1}},
		"each other's":       {{"c1.2", 1}, {"c1.1", million}},
		"the same":           {{"x", 1}, {"x", million}},
		"the same, of three": {{"x", 1}, {"y", 2}, {"x", million}},
		"a later step's":     {{"c2.1", 1}, {"", million}},
	} {
		for shape, parts := range shapes {
			t.Run(name+" "+shape, func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					w.start()
					sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.message(parts(calls)...)})
					if err != nil {
						return // refused
					}
					if sent.Direct != nil {
						if text := sent.Direct.Parts[0].Text(); !strings.Contains(text, "Nothing was run") {
							t.Errorf("the answer is %q, want that nothing was run", text)
						}
						return
					}
					id := a2a.TaskID(sent.Task.String())
					if !w.rested(id) {
						t.Fatal("the task is at work forever")
					}
					if h := w.header(id); h.Phase == store.Final && len(w.asked(id)) == 0 && w.tools.count("transfer") == 0 {
						return // refused as a task
					}
					t.Errorf("the calls were taken: %s, and %v are asked", w.get(id).Status.State, idsOf(w.waiting(id)))
					// What comes of it: approve what is shown as the harmless call, and once more.
					for _, c := range calls {
						if c.id == "" || c.amount == million {
							continue
						}
						_, _ = w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(id, approve(c.id))})
						w.rested(id)
						_, _ = w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(id, approve(c.id))})
						w.rested(id)
						break
					}
					w.tools.mu.Lock()
					defer w.tools.mu.Unlock()
					for run := range w.tools.runs {
						if strings.Contains(run, fmt.Sprintf(`"amount":%d`, million)) {
							t.Errorf("ran %s, which nobody had approved", run)
						}
					}
				})
			})
		}
	}
}

// Ids of the caller's own that nobody can mistake are as good as ever.
func TestOwnCallIDs(t *testing.T) {
	t.Parallel()
	for shape, parts := range shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				w.start()
				got := w.send(w.message(parts([]named{{"call-1", 1}, {"call-2", 2}, {"", 3}})...))
				w.wantState(got, a2a.TaskStateInputRequired)
				for _, id := range w.pending(got) {
					w.send(w.decision(got.ID, approve(id)))
				}
				w.wantState(w.get(got.ID), a2a.TaskStateCompleted)
				if n := w.tools.count("transfer"); n != 3 {
					t.Errorf("transfer ran %d times, want 3", n)
				}
			})
		})
	}
}
