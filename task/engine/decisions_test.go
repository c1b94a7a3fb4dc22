package engine_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/toolconfirmation"
)

// idle checks that nothing of a task waits for anybody any more.
func (w *world) idle(t *testing.T, id a2a.TaskID) {
	t.Helper()
	if left := w.waiting(id); len(left) != 0 {
		t.Errorf("%v are pending, want none", idsOf(left))
	}
	if n := w.header(id).Pending; n != 0 {
		t.Errorf("the header counts %d pending approvals, want none", n)
	}
	w.nothingDue(id)
}

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
	m := w.reply(id, a2a.NewDataPart(data))
	return m
}

// Whoever approves a call by its id, and says so again after the process has died
// while the call ran, says nothing about what came of the call: it is not run again.
func TestSameDecisionAfterDeathIsNoOther(t *testing.T) {
	t.Parallel()
	for name, message := range byCallID {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			runs := w.counted()
			k := w.killer()
			w.startTools(&fake{name: "pay", gated: true, call: runs.holdsOnce})
			id := w.begin(w.calls("pay", args{"amount": 1}))
			call := w.onlyOne(id)
			if _, err := w.sendAs(alice, message(w, id, call.Call)); err != nil {
				// The id of a call may be no name of an approval at all.
				w.must(w.decide(alice, id, approval.Decision{ID: call.ID, Type: approval.Approve}))
			}
			synctest.Wait()
			runs.want(t, 1)
			k.crash()
			outcome := w.asksOutcome(id)
			for range 2 {
				_, _ = w.sendAs(alice, message(w, id, call.Call))
				synctest.Wait()
				runs.want(t, 1)
			}
			if a := w.onlyOne(id); a.ID != outcome.ID {
				t.Errorf("%s is pending, want %s", a.ID, outcome.ID)
			}
			// The question itself, by its name, is answered as ever.
			runs.open()
			w.wantState(w.send(w.decision(id, approve(outcome.ID))), a2a.TaskStateCompleted)
			runs.want(t, 2)
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

// Ids of the caller's own that nobody can mistake are as good as ever.
func TestOwnCallIDs(t *testing.T) {
	t.Parallel()
	for shape, parts := range shapes {
		runInMemory(t, shape, func(t *testing.T, w *world) {
			w.start()
			got := w.send(w.message(parts([]named{{"call-1", 1}, {"call-2", 2}, {"", 3}})...))
			w.wantState(got, a2a.TaskStateInputRequired)
			for _, id := range w.pending(got) {
				w.send(w.decision(got.ID, approve(id)))
			}
			w.wantState(w.get(got.ID), a2a.TaskStateCompleted)
			w.wantRuns("transfer", 3)
		})
	}
}

// Whoever says yes means what was shown: not what is asked again because of this very message,
// nor what has come since because it was overdue, or somebody else has decided it between the
// look at the task and the batch.
func TestTextReachesWhatWasShown(t *testing.T) {
	say := func(w *world, id a2a.TaskID) {
		_, _ = w.sendAs(alice, w.reply(id, a2a.NewTextPart("yes")))
		synctest.Wait()
	}
	runInMemory(t, "the tool has changed", func(t *testing.T, w *world) {
		runs := newCounted()
		set := &away{list: []tool.Tool{&fake{name: "pay", gated: true, call: runs.enters}}}
		w.start(func(c *engine.Config) { c.Tools = tool.NewRegistry(set) })
		id := w.begun(alice, w.calls("pay", args{}))
		set.list = []tool.Tool{&fake{name: "pay", gated: true, schema: map[string]any{"type": "object", "description": "pays everybody, twice"}, call: runs.enters}}
		say(w, id)
		runs.want(t, 0)
	})
	for _, overdue := range []bool{true, false} {
		runInMemory(t, fmt.Sprintf("overdue %t", overdue), func(t *testing.T, w *world) {
			large := newCounted()
			w.tools.extra = []tool.Tool{
				&fake{name: "small", gated: true, call: newCounted().enters},
				&fake{name: "large", gated: true, call: large.enters},
			}
			var ahead atomic.Int64
			var first atomic.Pointer[func()] // is called just before the first batch with a message
			w.wrap = func(h store.Handle) store.Handle {
				return &onAppend{h, func(b *store.Batch) (*store.Batch, error) {
					if len(b.Events) > 0 && b.Events[0].Kind == "message.received.v1" {
						if f := first.Swap(nil); f != nil {
							(*f)()
						}
					}
					return b, nil
				}}
			}
			w.cfg.Policy = defaults(t, approval.Terms{Expires: time.Hour})
			w.cfg.Planner = sequence("small", "large")
			w.cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			w.start()
			id := w.begun(alice, w.calls())
			a := w.onlyOne(id)
			if overdue {
				ahead.Store(int64(time.Hour)) // the deadline has come, its row is not done yet
			} else {
				decided := func() {
					if err := w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Reject}); err != nil {
						t.Error(err)
					}
					synctest.Wait()
				}
				first.Store(&decided)
			}
			say(w, id)
			if a.Tool != "small" || first.Load() != nil {
				t.Fatalf("asked about %s; somebody has decided before: %t", a.Tool, first.Load() == nil)
			}
			large.want(t, 0)
		})
	}
}

// paid is a tool that takes a payload.
type paid struct{ fake }

func (p *paid) TakesPayload() bool { return true }

// Who says "run it again" is asked about the run that was approved. What its approver
// gave the tool is part of that.
func TestRunAgainKeepsThePayload(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var got []any
		runs := w.counted()
		p := &paid{fake{name: "pay", gated: true}}
		p.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			mu.Lock()
			if c := tool.Confirmation(ctx); c != nil {
				got = append(got, c.Payload)
			} else {
				got = append(got, nil)
			}
			mu.Unlock()
			if runs.enter(ctx) == 1 {
				runs.hold()
			}
			return map[string]any{}, nil
		}
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.startTools(p)
		id := w.begun(alice, w.calls("pay", args{}))
		w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve, Payload: []byte(`{"limit":5}`)}))
		time.Sleep(2 * time.Minute)
		w.approves(id)
		synctest.Wait()
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		mu.Lock()
		defer mu.Unlock()
		if len(got) != 2 || got[0] == nil || got[1] == nil {
			t.Errorf("the tool was run with the payloads %v: the second run has lost what was approved", got)
		}
	})
}

// A call that stands in the middle continues with the arguments that it began with: like
// what it asks while it runs, it cannot be edited.
func TestEditOfASuspendedCall(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var got []any
		var gated atomic.Bool
		g := &argGate{fake: fake{name: "pay"}, gate: gated.Load}
		g.call = func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			got = append(got, a["amount"])
			if _, ok := tool.Resumed(ctx); ok {
				return map[string]any{}, nil
			}
			return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour), State: []byte(`"half of it is paid"`)}
		}
		w.startTools(g)
		id := w.begun(alice, w.calls("pay", args{"amount": 1}))
		gated.Store(true)
		time.Sleep(2 * time.Hour)
		a := w.onlyOne(id)
		err := w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Edit, Args: []byte(`{"amount":1000}`)})
		synctest.Wait()
		if err == nil {
			t.Errorf("a suspended call was edited: it began and continued with the amounts %v", got)
		}
	})
}

type argGate struct {
	fake
	gate func() bool
}

func (g *argGate) Gate(agent.ReadonlyContext, map[string]any) (bool, error) {
	return g.gate(), nil
}

// A call of a tool that has changed is approved again. What the approver of the earlier tool
// gave is not given to the new one.
func TestPayloadIsOfTheNewestApproval(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var got []any
		p := &paid{fake{name: "pay", gated: true}}
		p.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			c := tool.Confirmation(ctx)
			if c == nil {
				c = &toolconfirmation.ToolConfirmation{}
			}
			got = append(got, c.Payload)
			if len(got) < 3 {
				return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
			}
			return map[string]any{}, nil
		}
		w.startTools(p)
		id := w.begin(w.calls("pay", args{}))
		for i, payload := range []json.RawMessage{[]byte(`{"limit":5}`), nil, []byte(`{"limit":7}`)} {
			synctest.Wait()
			w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve, Payload: payload}))
			synctest.Wait()
			w.stop()
			p.schema = map[string]any{"type": "object", "description": fmt.Sprint("version ", i+2)}
			w.restart()
			time.Sleep(2 * time.Hour)
		}
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		want := []any{map[string]any{"limit": 5.0}, nil, map[string]any{"limit": 7.0}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the tool was run with the payloads (-want +got):\n%s", diff)
		}
	})
}

// What a person says with a decision reaches the planner and the hooks in a field of its own,
// with the decision, also when the server was restarted in between and somebody else said
// nothing when approving an edit again.
func TestPlannerIsToldWhatWasDecided(t *testing.T) {
	t.Parallel()
	yes := approval.Decision{Type: approval.Approve}
	edit := approval.Decision{Type: approval.Edit, Args: []byte(`{"amount":1}`), Reason: "one is enough"}
	for name, tc := range map[string]struct {
		answers []approval.Decision
		verb    approval.DecisionType
		note    string
		outcome task.Outcome
		amount  float64
	}{
		"approved":                {[]approval.Decision{{Type: approval.Approve, Reason: "only this once"}}, approval.Approve, "only this once", task.OutcomeOK, 250},
		"approved in silence":     {[]approval.Decision{yes}, approval.Approve, "", task.OutcomeOK, 250},
		"edited":                  {[]approval.Decision{edit}, approval.Edit, "one is enough", task.OutcomeOK, 1},
		"edited for another gate": {[]approval.Decision{{Type: approval.Edit, Args: []byte(`{"amount":9000}`), Reason: "rather all"}, yes}, approval.Edit, "rather all", task.OutcomeOK, 9000},
		"rejected":                {[]approval.Decision{{Type: approval.Reject, Reason: "not \u202eto bob"}}, approval.Reject, `not \u202eto bob`, task.OutcomeRejected, 250},
	} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			pay := newKeeper("pay", func(ctx tool.Context, n int) (map[string]any, error) {
				if n == 1 {
					return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
				}
				return map[string]any{"paid": true}, nil
			})
			w.tools.extra = []tool.Tool{pay}
			seen := w.witness()
			large := func(is bool) approval.Predicate {
				return func(_ agent.ReadonlyContext, _ tool.Tool, args map[string]any) (bool, error) {
					amount, _ := args["amount"].(float64)
					return (amount > 1000) == is, nil
				}
			}
			w.cfg.Policy = policy(t, approval.Gate{Name: "small", Tool: "pay", When: large(false)}, approval.Gate{Name: "large", Tool: "pay", When: large(true)})
			var mu sync.Mutex
			var hooked []task.Result
			w.cfg.AfterHooks = []task.AfterHook{after(func(r *task.Result) error {
				mu.Lock()
				defer mu.Unlock()
				hooked = append(hooked, *r)
				return nil
			})}
			w.start()
			id := w.begin(w.calls("pay", args{"amount": 250}))
			for _, a := range tc.answers {
				synctest.Wait()
				a.ID = w.onlyOne(id).ID
				w.must(w.decide(bob, id, a))
			}
			synctest.Wait()
			w.restart()
			pass(2 * time.Hour)
			w.ended(id)
			r := w.mustResult(seen, id, "c1.1")
			if r.Decision != tc.verb || r.Note != tc.note || r.Outcome != tc.outcome || r.Call.Args["amount"] != tc.amount {
				t.Errorf("the planner is told %q, %q of a call with %v that ended %s, want %q, %q, %v, %s", r.Decision, r.Note, r.Call.Args, r.Outcome, tc.verb, tc.note, tc.amount, tc.outcome)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range hooked {
				if r.Decision != tc.verb || r.Note != tc.note {
					t.Errorf("a hook is told %q, %q; want %q, %q", r.Decision, r.Note, tc.verb, tc.note)
				}
			}
			if n := len(hooked); tc.outcome == task.OutcomeOK && n != 1 {
				t.Errorf("the hook saw %d results, want 1", n)
			}
		})
	}
}
