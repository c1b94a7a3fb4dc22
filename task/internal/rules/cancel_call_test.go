package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// A canceled call ends as what is known of it: canceled if it had not started or its tool
// proves that it had no effect, with its result if it has one, and else as unknown. Its
// approvals end with it, its siblings do not, and the planner reads it.
func TestCancelCall(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for name, tc := range map[string]struct {
		before, after func(k *desk)
		want          task.Outcome
		says          string
	}{
		"while it is asked":    {nil, nil, task.OutcomeCanceled, "the call was canceled"},
		"and returns a result": {approved, func(k *desk) { k.returns("c1.1", `1`) }, task.OutcomeOK, ""},
		"and had no effect":    {approved, func(k *desk) { k.ends("c1.1", rules.RunEnded{Err: stopped, NoEffect: true}) }, task.OutcomeCanceled, "stopped"},
		"and stops":            {approved, func(k *desk) { k.ends("c1.1", rules.RunEnded{Err: stopped}) }, task.OutcomeUnknown, "its outcome is unknown: stopped"},
		"and does not stop":    {approved, func(k *desk) { k.ends("c1.1", rules.RunEnded{GivenUp: stopped}) }, task.OutcomeUnknown, "its outcome is unknown"},
		"and its process dies": {approved, (*desk).dies, task.OutcomeUnknown, "the server stopped"},
		"and it suspends":      {approved, func(k *desk) { k.pauses("c1.1", asking()) }, task.OutcomeUnknown, "its outcome is unknown"},
		"and asks before it stops": {approved, func(k *desk) {
			in := &rules.Held{Entry: k.running["c1.1"], Ask: asking().Asks[0]}
			k.step(in)
			if left := k.ofCall("c1.1"); left != "" || in.Refused == nil {
				t.Errorf("the canceled call asks %q, refused: %v", left, in.Refused)
			}
			k.ends("c1.1", rules.RunEnded{Err: stopped})
		}, task.OutcomeUnknown, "its outcome is unknown"},
		"while it is suspended":   {func(k *desk) { approved(k); k.pauses("c1.1", asking()) }, nil, task.OutcomeUnknown, "its outcome is unknown"},
		"while it is unknown":     {func(k *desk) { approved(k); k.dies() }, nil, task.OutcomeUnknown, "its outcome is unknown"},
		"while its tool is away":  {func(k *desk) { k.shelf.down = stopped; approved(k) }, nil, task.OutcomeCanceled, "the call was canceled"},
		"and had suspended":       {func(k *desk) { approved(k); k.pauses("c1.1", asking()); k.decide(k.ofCall("c1.1"), approval.Respond) }, func(k *desk) { k.ends("c1.1", rules.RunEnded{Err: stopped, NoEffect: true}) }, task.OutcomeUnknown, "stopped"},
		"and had run once before": {func(k *desk) { approved(k); k.dies(); k.decide(k.ofCall("c1.1"), approval.Approve) }, func(k *desk) { k.ends("c1.1", rules.RunEnded{Err: stopped, NoEffect: true}) }, task.OutcomeUnknown, "stopped"},
	} {
		k := newDesk(t, nil, &fake{name: "pay", gated: true, schema: amounts("")}, &fake{name: "second", gated: true})
		k.begin(call("pay", 1), task.PlannedCall{Tool: "second"})
		if tc.before != nil {
			tc.before(k)
		}
		cancel := rules.CancelCall{By: alice, Via: approval.ViaAPI, Call: "c1.1"}
		if err := k.put(cancel); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if left := k.ofCall("c1.1"); left != "" {
			t.Errorf("%s: %s is pending after the cancel", name, left)
		}
		if tc.after != nil {
			if err := k.put(cancel); !errors.Is(err, rules.ErrNoChange) {
				t.Errorf("%s: a second cancel = %v, want that nothing changes", name, err)
			}
			tc.after(k)
		}
		if outcome, problem := k.outcome("c1.1"); outcome != tc.want || !strings.Contains(problem, tc.says) {
			t.Errorf("%s: the call ended %q, %q; want %s, %q", name, outcome, problem, tc.want, tc.says)
		}
		if k.fold().View.State().Terminal() || k.ofCall("c1.2") == "" {
			t.Fatalf("%s: the task is %s, and its other call does not wait: %v", name, k.state(), k.pending())
		}
		k.decide(k.ofCall("c1.2"), approval.Reject)
		k.wantState(a2a.TaskStateCompleted) // of the planner, which saw it
		k.wantNoDue()
	}
}

// A call that is not there, or has ended, cannot be canceled.
func TestCancelCallRefused(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "run"}, &fake{name: "pay", gated: true})
	k.begin(task.PlannedCall{Tool: "run"}, task.PlannedCall{Tool: "pay"})
	k.returns("c1.1", `1`)
	for call, want := range map[string]string{"c9.1": "names no call", "": "names no call", "c1.1": "has ended (ok)"} {
		var invalid *task.InvalidError
		if err := k.put(rules.CancelCall{By: alice, Call: call}); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("a cancel of %q = %v, want that it %s", call, err, want)
		}
	}
}

// A decision that cancels the task is refused if its approval has ended with its call: it
// would be acknowledged, and the task continue.
func TestCancelOfATaskAfterThatOfACall(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true})
	k.begin(task.PlannedCall{Tool: "pay"}, task.PlannedCall{Tool: "pay"})
	k.mustPut(rules.CancelCall{By: alice, Via: approval.ViaA2A, Call: "c1.1"})
	var refused *approval.Error
	if err := k.answer(approval.Decision{ID: id(1), Type: approval.Cancel}); !errors.As(err, &refused) || refused.Reason != approval.ReasonConflict {
		t.Errorf("a decision to cancel the task = %v, want a conflict", err)
	}
	k.wantState(a2a.TaskStateInputRequired)
}

func approved(k *desk) { k.decide(k.ofCall("c1.1"), approval.Approve) }

func asking() tool.Suspension {
	return tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "?"}}}
}

// ofCall returns the pending approval of a call, "" if there is none.
func (k *desk) ofCall(id string) string {
	for _, a := range slices.Backward(k.fold().Pending()) {
		if a.Call == id {
			return a.ID
		}
	}
	return ""
}
