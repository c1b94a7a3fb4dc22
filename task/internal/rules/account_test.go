package rules_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// A task that ends before its calls says of each that had been started what came of it,
// as far as anybody knows, and nothing of the others: when it is canceled, and when it
// cannot continue.
func TestEndedTaskAccountsForItsCalls(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]rules.Input{"canceled": rules.Cancel{}, "broken": rules.Fail{Cause: errors.New("no way on")}} {
		k := newDesk(t, nil, &fake{name: "run"}, &fake{name: "pay", gated: true})
		run := task.PlannedCall{Tool: "run"}
		k.begin(run, run, run, run, task.PlannedCall{Tool: "pay"})
		k.returns("c1.1", `1`)
		k.ends("c1.2", rules.RunEnded{Err: errors.New("no account")})
		k.pauses("c1.3", tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "?"}}})
		if err := k.put(end); err != nil {
			t.Fatal(err)
		}
		said := k.text()
		for _, want := range []string{
			"run (c1.1) had been started; it has finished.",
			"run (c1.2) had been started; it ended with an error: no account.",
			"run (c1.3) had been started; it was suspended",
			"run (c1.4) had been started; its outcome is unknown.",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: the status says %q, want %q in it", name, said, want)
			}
		}
		if strings.Contains(said, "c1.5") {
			t.Errorf("%s: the status says %q of a call that never ran", name, said)
		}
		if left := k.pending(); len(left) > 0 || k.approval(1).State != approval.Canceled {
			t.Errorf("%s: %v are pending, and the call is %s", name, left, k.approval(1).State)
		}
	}
}

// Whoever decides when the task has ended is told what was decided, and nothing is
// written.
func TestDecisionAfterTheEnd(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true})
	k.begin(task.PlannedCall{Tool: "pay"})
	k.decide(id(1), approval.Reject)
	k.wantState(a2a.TaskStateCompleted)
	seq := k.header.Seq
	var over *task.StateError
	err := k.answer(approval.Decision{ID: id(1), Type: approval.Reject})
	if !errors.As(err, &over) || over.Decided == nil || over.Decided.Reason != approval.ReasonDecided || k.header.Seq != seq {
		t.Errorf("the same decision = %v, and %d events were written", err, k.header.Seq-seq)
	}
	wantError(t, k.answer(approval.Decision{ID: id(1), Type: approval.Approve}), approval.ReasonConflict)
	if err := k.put(rules.Cancel{}); !errors.As(err, &over) || !over.NotCancelable {
		t.Errorf("a cancel = %v, want that it is too late", err)
	}
}

// What came of a call is said by those who could approve it, whatever has become of its
// rule.
func TestTermsOfAnOutcome(t *testing.T) {
	t.Parallel()
	for name, now := range map[string]func(t *testing.T) *approval.Policy{
		"as before": func(t *testing.T) *approval.Policy {
			return policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{FourEyes: true}})
		},
		"without it": func(t *testing.T) *approval.Policy { return policy(t) },
		"looser":     func(t *testing.T) *approval.Policy { return policy(t, approval.Gate{Tool: "pay"}) },
		"denied by now": func(t *testing.T) *approval.Policy {
			return policy(t, approval.Gate{Tool: "pay", Action: approval.ActionDeny})
		},
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{FourEyes: true}})
		}, &fake{name: "pay"})
		k.begin(task.PlannedCall{Tool: "pay"})
		k.decide(id(1), approval.Approve)
		k.rules.Policy = now(t)
		k.dies()
		if a := k.one(); a.Kind != approval.KindOutcome || !a.Terms.FourEyes {
			t.Errorf("%s: the %s is asked on the terms %+v", name, a.Kind, a.Terms)
		}
		wantError(t, k.put(rules.Decisions{By: alice, Via: approval.ViaAPI, List: []approval.Decision{{ID: id(2), Type: approval.Approve}}}), approval.ReasonNotAllowed)
	}
}

// Calls that are held start when all of their step are decided, and others at once.
func TestHeldSiblings(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{true, false} {
		k := newDesk(t, func(r *rules.Rules) { r.HoldSiblings = hold }, &fake{name: "run"}, &fake{name: "pay", gated: true})
		k.begin(task.PlannedCall{Tool: "run"}, task.PlannedCall{Tool: "pay"}, task.PlannedCall{Tool: "pay"})
		k.decide(id(1), approval.Approve)
		if n := len(k.entered); (n == 0) != hold {
			t.Errorf("hold %t: %d calls were entered before all were decided", hold, n)
		}
		k.decide(id(2), approval.Reject)
		if n := len(k.entered); n != 2 {
			t.Errorf("hold %t: %d calls were entered in the end, want 2", hold, n)
		}
	}
}
