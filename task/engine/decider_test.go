package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
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

// above is a gate for transfers of more than an amount.
func above(amount float64, terms approval.Terms) approval.Gate {
	return approval.Gate{Name: fmt.Sprintf("above %g", amount), Tool: "write", Terms: terms, When: func(_ agent.ReadonlyContext, _ tool.Tool, a map[string]any) (bool, error) {
		n, _ := a["amount"].(float64)
		return n > amount, nil
	}}
}

func edit(amount int, why string) approval.Decision {
	return approval.Decision{Type: approval.Edit, Args: fmt.Appendf(nil, `{"amount":%d,"to":"x"}`, amount), Reason: why}
}

// A decider's decision is checked and counts as that of a person: an edit runs the call that it
// makes, or asks again under other terms; a reason reaches the planner; a decision that the
// approval does not take, an error and a panic leave the approval to the client, or fail the call.
func TestDecider(t *testing.T) {
	t.Parallel()
	only := approval.Gate{Tool: "write", Terms: approval.Terms{Allowed: []approval.DecisionType{approval.Approve, approval.Reject}}}
	four := above(1000, approval.Terms{FourEyes: true})
	done := func(d approval.Decision, err error) func(approval.Approval) (approval.Decision, error) {
		return func(approval.Approval) (approval.Decision, error) { return d, err }
	}
	for _, tt := range []struct {
		name    string
		gates   []approval.Gate
		decides func(approval.Approval) (approval.Decision, error)
		fails   bool
		want    a2a.TaskState // input-required: the client is asked
		amount  float64       // of the call that ran; 0: none has
		result  task.Result   // outcome, error, decision and note
		asked   int32         // calls of the decider. Defaults to 1.
	}{
		{
			name: "approves", decides: done(approval.Decision{Type: approval.Approve, Reason: "this once", ID: "other", Digest: "other"}, nil),
			want: a2a.TaskStateCompleted, amount: 7, result: task.Result{Outcome: task.OutcomeOK, Decision: approval.Approve, Note: "this once"},
		},
		{
			name: "rejects", decides: done(approval.Decision{Type: approval.Reject, Reason: "too much"}, nil),
			want: a2a.TaskStateCanceled, result: task.Result{Outcome: task.OutcomeRejected, Error: "the call was rejected: too much", Decision: approval.Reject, Note: "too much"},
		},
		{
			name: "edits", decides: done(edit(5, "less"), nil),
			want: a2a.TaskStateCompleted, amount: 5, result: task.Result{Outcome: task.OutcomeOK, Decision: approval.Edit, Note: "less"},
		},
		{name: "cancels", decides: done(approval.Decision{Type: approval.Cancel}, nil), want: a2a.TaskStateCanceled},
		{name: "edits to what four eyes must see", gates: []approval.Gate{above(0, approval.Terms{}), four}, decides: done(edit(5000, "all"), nil), want: a2a.TaskStateWorking},
		{
			name: "edits to what another gate asks about", gates: []approval.Gate{above(0, approval.Terms{}), above(1000, approval.Terms{Risk: approval.RiskHigh})},
			decides: func(a approval.Approval) (approval.Decision, error) {
				if a.Supersedes == "" {
					return edit(5000, "all"), nil
				}
				return approval.Decision{Type: approval.Approve}, nil
			},
			want: a2a.TaskStateCompleted, amount: 5000, asked: 2, result: task.Result{Outcome: task.OutcomeOK, Decision: approval.Edit, Note: "all"},
		},
		{
			name: "edits for ever", gates: []approval.Gate{above(0, approval.Terms{}), above(1000, approval.Terms{Risk: approval.RiskHigh})},
			decides: func(a approval.Approval) (approval.Decision, error) {
				if strings.Contains(string(a.Args), "5000") {
					return edit(5, ""), nil
				}
				return edit(5000, ""), nil
			},
			want: a2a.TaskStateInputRequired, asked: 8,
		},
		{name: "leaves it", decides: done(approval.Decision{Reason: "not mine"}, nil), fails: true, want: a2a.TaskStateInputRequired},
		{name: "edits what must not be", gates: []approval.Gate{only}, decides: done(edit(5, ""), nil), want: a2a.TaskStateInputRequired},
		{name: "edits to what the tool does not take", decides: done(approval.Decision{Type: approval.Edit, Args: []byte(`{"amount":"5"}`)}, nil), want: a2a.TaskStateInputRequired},
		{name: "responds", decides: done(approval.Decision{Type: approval.Respond, Response: []byte(`{}`)}, nil), want: a2a.TaskStateInputRequired},
		{name: "approves with arguments", decides: done(approval.Decision{Type: approval.Approve, Args: []byte(`{"amount":5,"to":"x"}`)}, nil), want: a2a.TaskStateInputRequired},
		{name: "fails", decides: done(approval.Decision{Type: approval.Approve}, errors.New("no line")), want: a2a.TaskStateInputRequired},
		{name: "panics", decides: func(approval.Approval) (approval.Decision, error) { panic("secret") }, want: a2a.TaskStateInputRequired},
		{
			name: "fails the call", decides: done(approval.Decision{Type: approval.Approve}, errors.New("no line")), fails: true,
			want: a2a.TaskStateFailed, result: task.Result{Outcome: task.OutcomeError, Error: "the confirmation provider failed: no line"},
		},
		{
			name: "fails the call by a panic", decides: func(approval.Approval) (approval.Decision, error) { panic("secret") }, fails: true,
			want: a2a.TaskStateFailed, result: task.Result{Outcome: task.OutcomeError, Error: "the confirmation provider failed"},
		},
	} {
		runInMemory(t, tt.name, func(t *testing.T, w *world) {
			if tt.gates == nil {
				tt.gates = []approval.Gate{{Tool: "write"}}
			}
			seen, asked := w.witness(), atomic.Int32{}
			w.cfg.Policy, w.cfg.ProviderWait, w.cfg.ProviderErrorFails = policy(t, tt.gates...), time.Hour, tt.fails
			w.cfg.Decider = func(_ context.Context, a approval.Approval) (approval.Decision, error) {
				asked.Add(1)
				return tt.decides(a)
			}
			w.start()
			id := w.begun(alice, w.calls("write", args{"amount": 7, "to": "x"}))
			synctest.Wait()
			w.wantState(w.get(id), tt.want)
			if n := asked.Load(); n != max(tt.asked, 1) {
				t.Errorf("the decider was asked %d times, want %d", n, max(tt.asked, 1))
			}
			w.nothingDue(id)
			if a := w.asked(id)[0]; tt.want == a2a.TaskStateFailed && (a.Resolution == nil || a.Resolution.Reason != "the confirmation provider failed") {
				t.Errorf("the approval has ended as %+v", a.Resolution)
			}
			if r, ok := seen.result(id, "c1.1"); ok && (r.Outcome != tt.result.Outcome || r.Error != tt.result.Error || r.Decision != tt.result.Decision || r.Note != tt.result.Note) {
				t.Errorf("the planner is told %+v, want %+v", r, tt.result)
			}
			runs := 0
			if tt.amount > 0 {
				if runs = 1; w.mustResult(seen, id, "c1.1").Call.Args["amount"] != tt.amount {
					t.Errorf("the call ran with %v, want %g", w.mustResult(seen, id, "c1.1").Call.Args, tt.amount)
				}
			}
			w.wantRuns("write", runs)
		})
	}
}

// An error of a decider fails the call of a running tool that has asked, too, and nothing remains
// to be decided.
func TestDeciderFailsARunningCall(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.ProviderWait, w.cfg.ProviderErrorFails = time.Hour, true
		w.cfg.Decider = func(context.Context, approval.Approval) (approval.Decision, error) {
			return approval.Decision{}, errors.New("no line")
		}
		w.start()
		got := w.send(w.calls("confirm", args{}, "echo", args{}))
		w.wantState(got, a2a.TaskStateCompleted)
		w.wantRuns("confirm", 0)
		if left := w.waiting(got.ID); len(left) > 0 {
			t.Errorf("%v are pending, want nothing", idsOf(left))
		}
	})
}

// What is for people alone is refused to the program, whichever way it decides.
func TestDeciderDecidesNothingForPeople(t *testing.T) {
	t.Parallel()
	for name, terms := range map[string]approval.Terms{
		"human":     {Human: true},
		"four eyes": {FourEyes: true},
		"elsewhere": {Elsewhere: true},
		"approvers": {Approvers: &approval.Approvers{Subjects: []string{"confirmation provider"}}},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Policy = policy(t, approval.Gate{Tool: "write", Terms: terms})
			w.cfg.Decider = func(context.Context, approval.Approval) (approval.Decision, error) {
				t.Error("the decider is asked")
				return approval.Decision{Type: approval.Approve}, nil
			}
			w.start()
			id := w.begun(alice, w.calls("write", args{"amount": 7, "to": "x"}))
			synctest.Wait()
			if got := w.get(id); len(w.pending(got)) != 1 {
				t.Errorf("%s: nobody is asked: %v", got.Status.State, got.Status.Message)
			}
			w.wantRuns("write", 0)
		})
	}
}

// When the program and a person decide at the same time, the first decision counts, and the other is
// told of it.
func TestDeciderAndPersonAtOnce(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		const n = 30
		ready, programs := make(chan struct{}), atomic.Int32{}
		w.cfg.ProviderWait = time.Hour
		w.cfg.Decider = func(context.Context, approval.Approval) (approval.Decision, error) {
			<-ready
			return approval.Decision{Type: approval.Approve}, nil
		}
		w.cfg.Observers = []engine.Observer{{Decided: func(a *engine.Audited) {
			if a.Via == approval.ViaProvider {
				programs.Add(1)
			}
		}}}
		w.start()
		var ids []a2a.TaskID
		for i := range n {
			ids = append(ids, w.begun(alice, w.calls("transfer", args{"amount": i, "to": "x"})))
		}
		people := make(chan bool, n)
		for _, id := range ids {
			go func() {
				<-ready
				err := w.decide(bob, id, approval.Decision{ID: string(id) + ".a1", Type: approval.Reject})
				if e, is := errors.AsType[*approval.Error](err); err != nil && (!is || e.Reason != approval.ReasonConflict) {
					t.Errorf("the decision of a person = %v", err)
				}
				people <- err == nil
			}()
		}
		close(ready)
		rejected := 0
		for range ids {
			if <-people {
				rejected++
			}
		}
		for _, id := range ids {
			w.ended(id)
		}
		if got := int(programs.Load()); got+rejected != n {
			t.Errorf("the program has decided %d and people %d of %d approvals", got, rejected, n)
		}
		w.wantRuns("transfer", n-rejected)
	})
}
