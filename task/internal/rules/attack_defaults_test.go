package rules_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/task/internal/rules"
)

// The people that the defaults of the policy ask for decide also what a running tool asks to have
// confirmed, and what became of a call, if no gate is about it.
func TestDefaultPeopleOfQuestions(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{People: 2}})
		if err != nil {
			t.Fatal(err)
		}
		r.Policy = p
	}, &fake{name: "pay", schema: amounts("")})
	k.begin(call("pay", 1))
	k.confirms("c1.1", "large")
	k.vote(1, voter("bob"), approval.Approve, "")
	if a := k.approval(1); a.State != approval.Pending {
		t.Errorf("after one of two persons the confirmation is %s", a.State)
	}
}
