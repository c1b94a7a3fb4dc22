package rules_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// verdicts is a tool whose result is the decision.
type verdicts struct {
	fake
	panics bool
}

func (v *verdicts) Refusal(reason string) map[string]any {
	if v.panics {
		panic("secret")
	}
	return map[string]any{"refused": reason}
}

// newVerdictDesk returns a desk with a task that has asked about calls of a decision tool, a call a step.
func newVerdictDesk(t *testing.T, v *verdicts, amounts ...int) *desk {
	t.Helper()
	v.fake = fake{name: "pay", gated: true}
	k := newDesk(t, func(r *rules.Rules) {
		r.Tools = tool.NewRegistry(tool.NewToolset("shop", v))
		p, err := approval.NewPolicy(approval.PolicyConfig{IgnoreDeclared: true, Defaults: approval.Terms{Expires: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		r.Policy = p
	})
	for _, amount := range amounts {
		k.planner.list = append(k.planner.list, &task.Step{Calls: []task.PlannedCall{call("pay", amount)}})
	}
	k.beginAs()
	return k
}

// content returns the result of a call in the log.
func (k *desk) content(name string) string {
	k.t.Helper()
	return string(k.fold().Call(name).Result)
}

func TestDecisionToolRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		refuse  func(k *desk)
		outcome task.Outcome
		want    string
	}{
		"rejected": {func(k *desk) {
			if err := k.answer(approval.Decision{ID: id(1), Type: approval.Reject, Reason: "no"}); err != nil {
				k.t.Fatal(err)
			}
		}, task.OutcomeRejected, `{"refused":"no"}`},
		"expired": {func(k *desk) { k.now = k.now.Add(2 * time.Hour); k.step(rules.Refresh{}) }, task.OutcomeExpired, `{"refused":"expired"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newVerdictDesk(t, &verdicts{}, 1, 1)
			tt.refuse(k)
			k.wantEntries(0)
			outcome, problem := k.outcome("c1.1")
			if outcome != tt.outcome || problem != "" || k.content("c1.1") != tt.want {
				t.Errorf("outcome = %s %q with %s, want %s with %s", outcome, problem, k.content("c1.1"), tt.outcome, tt.want)
			}
			if name == "expired" {
				return
			}
			// The same call again is refused without a question.
			if outcome, _ := k.outcome("c2.1"); outcome != task.OutcomeRejected || !strings.Contains(k.content("c2.1"), "rejected before in this task") {
				t.Errorf("the same call again: %s with %s, want it refused, too", outcome, k.content("c2.1"))
			}
			k.wantState(a2a.TaskStateCompleted)
		})
	}
}

// A tool that cannot say what a refusal is has the error of any other tool.
func TestDecisionToolPanics(t *testing.T) {
	t.Parallel()
	k := newVerdictDesk(t, &verdicts{panics: true}, 1)
	k.decide(id(1), approval.Reject)
	if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeRejected || problem != "the call was rejected" || k.content("c1.1") != "" {
		t.Errorf("outcome = %s %q with %s, want rejected without a result", outcome, problem, k.content("c1.1"))
	}
}

// A process that dies after the start is durable costs no second question: the call runs again under the same
// approval. A call that has started has no refusal.
func TestDecisionToolAfterACrash(t *testing.T) {
	t.Parallel()
	v := &verdicts{}
	k := newVerdictDesk(t, v, 1)
	k.decide(id(1), approval.Approve)
	k.dies()
	k.wantEntries(2)
	want := tool.Approval{ID: id(1), By: []string{"bob"}}
	for i, e := range k.entered {
		if diff := cmp.Diff(want, e.Approval); diff != "" {
			t.Errorf("approval of entry %d (-want +got):\n%s", i, diff)
		}
	}
	if len(k.pending()) > 0 {
		t.Errorf("%d approvals are pending, want none", len(k.pending()))
	}
	k = newVerdictDesk(t, v, 1)
	k.decide(id(1), approval.Approve)
	v.schema = amounts("of another tool")
	k.rules.Tools = tool.NewRegistry(tool.NewToolset("shop", v))
	k.dies()
	k.decide(k.pending()[0], approval.Reject)
	if outcome, _ := k.outcome("c1.1"); outcome != task.OutcomeUnknown || k.content("c1.1") != "" {
		t.Errorf("outcome = %s with %s, want unknown: the call had started", outcome, k.content("c1.1"))
	}
}

// No two calls share an approval, nor does a call without one.
func TestApprovalOfACall(t *testing.T) {
	t.Parallel()
	k := newVerdictDesk(t, &verdicts{}, 1, 2)
	for i := range 2 {
		k.decide(id(i+1), approval.Approve)
		k.returns([]string{"c1.1", "c2.1"}[i], `{}`)
	}
	free := newDesk(t, nil, &fake{name: "read"})
	free.begin(call("read", 1), call("read", 1))
	got, err := json.Marshal([]tool.Approval{k.entered[0].Approval, k.entered[1].Approval, free.entered[0].Approval, free.entered[1].Approval})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("T", deskTask.String()).Replace(
		`[{"ID":"T.a1","By":["bob"],"Grant":""},{"ID":"T.a2","By":["bob"],"Grant":""},{"ID":"T.c1.1","By":["policy"],"Grant":""},{"ID":"T.c1.2","By":["policy"],"Grant":""}]`)
	if string(got) != want {
		t.Errorf("approvals = %s, want %s", got, want)
	}
}
