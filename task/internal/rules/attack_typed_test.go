package rules_test

import (
	"errors"
	"testing"

	"a2a-server/approval"
	"a2a-server/task/internal/rules"
)

// The same vote again is the same answer, typed with its code, too.
func TestTypedVoteAgain(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2, Destructive: true}})
	word := "approve " + k.approval(1).Code
	k.mustPut(k.says("m1", word, alice))
	if got := k.approval(1).Tally().Have; got != 1 {
		t.Fatalf("%d votes", got)
	}
	if err := k.put(k.says("m2", word, alice)); err != nil && !errors.Is(err, rules.ErrNoChange) {
		t.Errorf("the same vote again = %v, want the same answer", err)
	}
}
