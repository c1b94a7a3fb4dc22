package approvals

import (
	"strings"
	"testing"
	"time"

	"a2a-server/client"
)

// Whoever looks at an approval sees whom its gates let decide, also when they name different
// people.
func TestApproversAreShown(t *testing.T) {
	t.Parallel()
	sre, dora := client.Approvers{Roles: []string{"sre"}, Subjects: []string{"corp:alice"}}, client.Approvers{Subjects: []string{"key:dora"}}
	for want, who := range map[string]*client.Approvers{
		"":                                       nil,
		"approvers   the role sre, corp:alice\n": &sre,
		"approvers   one of (the role sre, corp:alice) who is also one of (key:dora)\n": {All: []client.Approvers{sre, dora}},
	} {
		got := Text(&client.ApprovalDetail{Approval: client.Approval{ID: "1", Approvers: who}}, 200, time.Now())
		if !strings.Contains(got, want) || who == nil && strings.Contains(got, "approvers") {
			t.Errorf("approvers %+v are shown as %q, want %q", who, got, want)
		}
	}
}

// Whoever looks at an approval sees what the tool says about itself, and what of it nobody
// has verified.
func TestWhatAToolSaysIsShown(t *testing.T) {
	t.Parallel()
	a := client.Approval{ID: "1", Description: "Deletes\u202e files", Declared: []string{"idempotent"}, Claimed: []string{"destructive", "open world"}}
	got := Text(&client.ApprovalDetail{Approval: a}, 200, time.Now())
	if want := "described   Deletes\\u202e files\ndeclared    idempotent\nclaimed     destructive, open world (not verified)\n"; !strings.Contains(got, want) {
		t.Errorf("the approval is shown as %q, want %q in it", got, want)
	}
}

// Nothing that is shown beside the hint is repeated in it.
func TestFactsAreShownOnce(t *testing.T) {
	t.Parallel()
	a := client.Approval{
		ID: "1", Tool: "pay", Arguments: []byte(`{"amount":5}`), Hint: `May the tool "pay" run with these arguments? {"amount":5}`,
		Destructive: true, Declared: []string{"destructive"},
	}
	got := Text(&client.ApprovalDetail{Approval: a}, 200, time.Now())
	for _, text := range []string{`{"amount":5}`, "destructive"} {
		if strings.Count(got, text) != 1 {
			t.Errorf("%s is not there once:\n%s", text, got)
		}
	}
	a.Hint = "Pay 5?"
	if got := Text(&client.ApprovalDetail{Approval: a}, 200, time.Now()); !strings.Contains(got, "hint        Pay 5?\n") {
		t.Errorf("the hint of a gate is missing:\n%s", got)
	}
}

// An approval of a call at a remote agent names the agents and the tool there.
func TestCallAtAnAgentIsShown(t *testing.T) {
	t.Parallel()
	a := client.Approval{ID: "1", Tool: "desk", Question: "confirm", Payload: []byte(`{"agent":"office/bank","tool":"transfer\u202e_money","arguments":{"to":"bob"}}`)}
	if got, want := Text(&client.ApprovalDetail{Approval: a}, 200, time.Now()), `at agent    office/bank, transfer\u202e_money`; !strings.Contains(got, want) {
		t.Errorf("the approval is shown as %q, want %q in it", got, want)
	}
}
