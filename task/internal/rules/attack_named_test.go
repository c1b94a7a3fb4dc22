package rules_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
)

// The operator names the persons while an approval waits: the vote that is there is alice's, too.
func TestPersonNamedBetweenVotes(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	first, second := voter("key:alice-laptop"), voter("key:alice-phone")
	k.vote(1, first, approval.Approve, "")
	people := auth.People{"alice": {first.Subject, second.Subject}} // auth.people after a reload
	second, err := people.Known(second)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.votes(1, second, approval.Approve, ""); err != nil {
		t.Logf("the second vote = %v", err)
	}
	k.wantEntries(0)
}
