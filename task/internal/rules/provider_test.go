package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// An approval that is left to the confirmation provider is asked of the client only when
// the provider has failed, or has been silent for its time; all the while it can be
// decided.
func TestClientIsAskedAfterTheProvider(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(k *desk){
		"silence": func(k *desk) {
			k.now = k.now.Add(time.Minute)
			k.mustPut(rules.ProviderTimeout{Row: k.dueRow(task.DueProviderTimeout, id(1))})
		},
		"a failure": func(k *desk) { k.mustPut(rules.ProviderFailed{Approval: id(1), Why: "it failed"}) },
		"nothing":   nil,
	} {
		k := newDesk(t, func(r *rules.Rules) { r.ProviderWait = time.Minute }, &fake{name: "pay", gated: true})
		k.begin(task.PlannedCall{Tool: "pay"})
		k.wantState(a2a.TaskStateWorking)
		if after != nil {
			after(k)
			k.wantState(a2a.TaskStateInputRequired)
			if len(k.pending()) != 1 {
				t.Errorf("%s: %v are pending", name, k.pending())
			}
		}
		k.decide(id(1), approval.Approve)
		k.wantEntries(1)
		k.wantNoDue()
		if ids := k.draft.Resolved(); !slices.Contains(ids, id(1)) {
			t.Errorf("%s: the draft says that it resolves %v", name, ids)
		}
	}
}

// What others than the client decide, and what is no call, is not the provider's.
func TestWhatIsNotTheProviders(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		r.ProviderWait = time.Minute
		r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{FourEyes: true, AuthRequired: true}})
	}, &fake{name: "pay"})
	k.begin(task.PlannedCall{Tool: "pay"})
	k.wantState(a2a.TaskStateAuthRequired)
	k.decide(id(1), approval.Approve)
	k.dies()
	k.wantState(a2a.TaskStateAuthRequired)
	if rules.ProviderMayAnswer(k.one()) {
		t.Error("the question what came of a call is the provider's")
	}
}

// A task that only others can continue with waits in input-required, as clients expect who
// wait for one answer, unless all that it waits for asks for auth-required (C6).
func TestWhatOthersDecideWaitsForInput(t *testing.T) {
	t.Parallel()
	here, elsewhere := approval.Terms{AuthRequired: true}, approval.Terms{Elsewhere: true}
	auth := approval.Terms{FourEyes: true, AuthRequired: true}
	for _, tt := range []struct {
		name string
		a, b approval.Terms
		want a2a.TaskState
	}{
		{"the client's", here, here, a2a.TaskStateInputRequired},
		{"elsewhere", elsewhere, elsewhere, a2a.TaskStateInputRequired},
		{"asks for it", auth, auth, a2a.TaskStateAuthRequired},
		{"one of two asks for it", elsewhere, auth, a2a.TaskStateInputRequired},
		{"one is the client's", auth, approval.Terms{}, a2a.TaskStateInputRequired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newDesk(t, func(r *rules.Rules) {
				r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: tt.a}, approval.Gate{Tool: "order", Terms: tt.b})
			}, &fake{name: "pay"}, &fake{name: "order"})
			k.begin(task.PlannedCall{Tool: "pay"}, task.PlannedCall{Tool: "order"})
			k.wantState(tt.want)
		})
	}
}

// A provider is none of the approvers that a rule names, whoever the requester is.
func TestProviderIsNoApprover(t *testing.T) {
	t.Parallel()
	for _, who := range []string{alice.Subject, bob.Subject} {
		k := newDesk(t, func(r *rules.Rules) {
			r.ProviderWait = time.Minute
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Approvers: &approval.Approvers{Subjects: []string{who}}}})
		}, &fake{name: "pay"})
		k.begin(task.PlannedCall{Tool: "pay"})
		k.wantState(a2a.TaskStateInputRequired)
		if rules.ProviderMayAnswer(k.one()) {
			t.Errorf("what only %s may answer is the provider's", who)
		}
		if got := k.one().Elsewhere(); got != (who != alice.Subject) {
			t.Errorf("elsewhere = %t, and %s is the only approver", got, who)
		}
	}
}
