package rules_test

import (
	"testing"

	"a2a-server/approval"
)

// Under four eyes nobody decides alone what they have asked for by an edit, also under the same terms:
// else an approver turns any request that waits into a payment of their own.
func TestFourEyesOfAnEditUnderTheSameTerms(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{FourEyes: true}})
	if err := k.votes(1, voter("bob"), approval.Edit, `{"amount":1000000}`); err != nil {
		t.Logf("the edit = %v", err)
	}
	for _, e := range k.entered {
		t.Errorf("bob alone has let pay run with %v; alice has asked for 1", e.Args)
	}
}
