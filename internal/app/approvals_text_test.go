package app

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
		got := approvalText(&client.ApprovalDetail{Approval: client.Approval{ID: "1", Approvers: who}}, 200, time.Now())
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
	got := approvalText(&client.ApprovalDetail{Approval: a}, 200, time.Now())
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
	got := approvalText(&client.ApprovalDetail{Approval: a}, 200, time.Now())
	for _, text := range []string{`{"amount":5}`, "destructive"} {
		if strings.Count(got, text) != 1 {
			t.Errorf("%s is not there once:\n%s", text, got)
		}
	}
	a.Hint = "Pay 5?"
	if got := approvalText(&client.ApprovalDetail{Approval: a}, 200, time.Now()); !strings.Contains(got, "hint        Pay 5?\n") {
		t.Errorf("the hint of a gate is missing:\n%s", got)
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for d, want := range map[time.Duration]string{
		0: "now", 2 * time.Second: "2 s ago", 99 * time.Second: "99 s ago", 5 * time.Minute: "5 min ago", 30 * time.Hour: "30 h ago", 72 * time.Hour: "3 days ago",
		-(168*time.Hour - time.Second): "in 7 days", -90 * time.Minute: "in 90 min",
	} {
		if got := ago(now.Add(-d), now); got != want {
			t.Errorf("ago(%v) = %q, want %q", d, got, want)
		}
	}
	if got := ago(time.Time{}, now); got != "" {
		t.Errorf("no time is %q", got)
	}
}
