package rules_test

import (
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
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

// The same for what a running tool, such as an agent elsewhere, wants confirmed: it may ask something
// else at any moment, so it could choose what the word that is on its way approves.
func TestWordConfirmsNothingThatItsSenderHasNotSeen(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "agent", schema: amounts("")})
	k.begin(call("agent", 1))
	asks := func(amount int) {
		k.pauses("c1.1", tool.Suspension{Wake: k.now.Add(time.Minute), Asks: []tool.Question{{
			ID: "pay", Kind: tool.AskConfirm, Hint: "Agent bank asks: may pay run?", Payload: map[string]any{"amount": amount},
		}}})
	}
	asks(1)
	yes := k.says("m1", "yes", alice)
	k.now = k.now.Add(time.Minute)
	k.mustPut(rules.Wake{Row: k.dueRow(task.DueWake, "c1.1")})
	asks(1000000)
	if err := k.put(yes); err != nil {
		t.Logf("the word = %v", err)
	}
	if a := k.approval(2); a.State != approval.Pending {
		t.Errorf("%s is %s by a word about %s", a.Payload, a.State, k.approval(1).Payload)
	}
}
