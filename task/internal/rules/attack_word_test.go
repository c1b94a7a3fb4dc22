package rules_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/task/internal/rules"
)

// A word names no approval and no digest. One that was sent while the status asked about a small
// amount must not be the last vote for the large amount of an edit that came in between: the other
// persons look again.
func TestWordIsNoVoteForAnEditThatItsSenderHasNotSeen(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	yes := k.says("m1", "yes", alice) // alice has read: 1 may be paid
	k.vote(1, voter("bob"), approval.Edit, `{"amount":1000000}`)
	if err := k.put(yes); err != nil {
		t.Logf("the word = %v", err)
	}
	k.wantEntries(0)
	for _, e := range k.entered {
		t.Errorf("it runs with %v", e.Args)
	}
}

// The same for a tool that was redefined, without votes: the word is about the tool that was shown.
func TestWordApprovesNoToolThatItsSenderHasNotSeen(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	yes := k.says("m1", "yes", alice)
	k.shelf.tools[0].schema = amounts("pays from another account")
	_ = k.answer(approval.Decision{ID: id(1), Type: approval.Approve}) // of somebody else: asks again
	if err := k.put(rules.Refresh{}); err != nil {
		t.Fatal(err)
	}
	if err := k.put(yes); err != nil {
		t.Logf("the word = %v", err)
	}
	k.wantEntries(0)
}
