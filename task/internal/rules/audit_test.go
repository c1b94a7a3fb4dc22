package rules_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// The audit has an entry for each thing that the log says of an approval or a call, in
// the batch that says it and in the same order: so that a decision stands before the
// start that follows from it.
func TestAuditSaysWhatTheLogSays(t *testing.T) {
	t.Parallel()
	pay := &fake{name: "pay", gated: true, schema: amounts("")}
	k := newDesk(t, nil, pay)
	var got []string
	note := func() {
		for _, a := range audits(t, k.batch) {
			got = append(got, fmt.Sprint(a.What, " ", a.Call, a.State, a.Outcome))
			if a.V != approval.Version || a.Task != deskTask.String() || a.Tenant != alice.Tenant || a.Owner != alice.Subject || !a.At.Equal(k.now) {
				t.Errorf("entry %+v is not of this task and moment", a)
			}
		}
		got = append(got, "-")
	}
	k.begin(call("pay", 1), call("pay", 2))
	note()
	k.decide(id(1), approval.Approve)
	note()
	k.dies()
	note()
	k.decide(id(3), approval.Respond)
	note()
	k.decide(id(2), approval.Reject)
	note()
	want := []string{
		"asked c1.1", "asked c1.2", "-",
		"resolved c1.1approved", "started c1.1", "-",
		"unknown c1.1", "asked c1.1", "-",
		"resolved c1.1responded", "finished c1.1responded", "-",
		"resolved c1.2rejected", "finished c1.2rejected", "-",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	started := k.audit[slices.IndexFunc(k.audit, func(a approval.Audit) bool { return a.What == approval.AuditStarted })]
	if started.Approval != id(1) || started.Digest != k.audit[0].Digest || started.Attempt != 1 {
		t.Errorf("the start is audited as %+v, want it bound to %s", started, id(1))
	}
	resolved := k.audit[slices.IndexFunc(k.audit, func(a approval.Audit) bool { return a.What == approval.AuditResolved })]
	if diff := cmp.Diff(bob, resolved.By); diff != "" || resolved.Via != approval.ViaAPI {
		t.Errorf("the decision is audited as by %+v, via %s", resolved.By, resolved.Via)
	}
}

// A cancel is audited with all that it ends.
func TestAuditOfACancel(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true}, &fake{name: "run"})
	k.begin(task.PlannedCall{Tool: "pay"}, task.PlannedCall{Tool: "run"})
	k.mustPut(rules.Cancel{})
	var got []string
	for _, a := range audits(t, k.batch) {
		got = append(got, fmt.Sprint(a.What, " ", a.Call, a.State, a.Outcome))
	}
	want := []string{"canceled ", "resolved c1.1canceled", "finished c1.1canceled", "finished c1.2unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if a := k.approval(1); a.State != approval.Canceled || k.header.Phase != store.Final {
		t.Errorf("the approval is %s in phase %d, want it canceled with its task", a.State, k.header.Phase)
	}
}
