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
	for want, who := range map[string]*client.Approvers{
		"":                                     nil,
		"approvers   role sre or corp:alice\n": {Roles: []string{"sre"}, Subjects: []string{"corp:alice"}},
		"approvers   role sre for whom args.a == 1\n": {Roles: []string{"sre"}, When: "args.a ==\n  1\n"},
		"approvers   role a\\u202e\n":                 {Roles: []string{"a\u202e"}},
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

// Whoever looks at an approval sees when it was escalated, and to whom.
func TestEscalationIsShown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 17, 0, 0, 0, time.UTC)
	a := client.Approval{ID: "1", Reminded: &at, Escalated: &at, EscalatedTo: []string{"treasury", "cfo"}}
	got := Text(&client.ApprovalDetail{Approval: a}, 200, at.Add(time.Hour))
	for _, want := range []string{"reminded    2026-03-02 17:00:00", "escalated   to treasury, cfo, 2026-03-02 17:00:00"} {
		if !strings.Contains(got, want) {
			t.Errorf("the approval is shown as %q, want %q in it", got, want)
		}
	}
}

// An approver reads how long and how often later calls may start, before the grant is made.
func TestGrantIsShown(t *testing.T) {
	t.Parallel()
	terms := &client.GrantTerms{Seconds: 86400, Uses: 50}
	for want, g := range map[string]*client.GrantRequest{
		"of the same context, for at most 24h, up to 50 times;":         client.AskOnce(),
		"of the same task, for at most 24h, up to 3 times;":             {Scope: "task", Uses: 3},
		"later calls like this one of the requester, for 1h30m, up to ": {Scope: "time", Seconds: 5400},
		"of the requester, for 30m, up to 1 time;":                      {Scope: "time", Seconds: 1800, Uses: 1},
	} {
		if got := grantText(&client.Approval{Grants: terms}, g); !strings.Contains(got, want) {
			t.Errorf("the grant %+v is shown as %q, want %q in it", g, got, want)
		}
	}
	terms.Uses = 0
	if got := grantText(&client.Approval{Grants: terms}, client.AskOnce()); !strings.Contains(got, "for at most 24h;") {
		t.Errorf("a grant for any number of calls is shown as %q", got)
	}
}

// The words of gates and of the server have a line, and nothing is shown twice.
func TestFactsAreShownOnce(t *testing.T) {
	t.Parallel()
	a := client.Approval{
		ID: "1", Tool: "pay", Arguments: []byte(`{"amount":5}`), Hint: `It may have run. May the tool "pay" run with these arguments? {"amount":5}`, Words: "It may have run.",
		Destructive: true, Declared: []string{"destructive"},
	}
	got := Text(&client.ApprovalDetail{Approval: a}, 200, time.Now())
	for _, text := range []string{`{"amount":5}`, "destructive"} {
		if strings.Count(got, text) != 1 {
			t.Errorf("%s is not there once:\n%s", text, got)
		}
	}
	if !strings.Contains(got, "hint        It may have run.\n") {
		t.Errorf("words are missing:\n%s", got)
	}
}

// Votes are shown with their persons and what is missing, and the caller's own is named.
func TestVotesAreShown(t *testing.T) {
	t.Parallel()
	a := client.Approval{ID: "1", Tool: "pay", State: client.Pending, Human: true, Votes: &client.Votes{
		Have: 1, Need: 2, Missing: "1 of role finance\u202e", Given: []client.Vote{{By: client.Principal{Subject: "key:bob", Person: "bob"}, Reason: "seen"}},
	}}
	got := Text(&client.ApprovalDetail{Approval: a, May: client.May{Decide: true, Voted: true}}, 200, time.Now())
	for _, want := range []string{"1 of 2: key:bob, who is bob, who says: seen; missing: 1 of role finance\\u202e\n", "no program may decide\n", "you have approved, and may still reject\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the approval is shown as %q, want %q in it", got, want)
		}
	}
	edited := client.Approval{ID: "1", State: client.Superseded, Resolution: &client.Resolution{}}
	if got, want := decidedText("a2a-server approvals list", "1", client.Edit, &client.Decided{Approval: &edited}), "the edited call waits for another approval"; !strings.Contains(got, want) {
		t.Errorf("an edit that asks again: %q, want %q", got, want)
	}
	const waits = "it waits for approval 1 of pay: "
	if got, want := WaitsText(&client.ApprovalDetail{Approval: a}, false), waits+"1 of 2: key:bob"; !strings.HasPrefix(got, want) {
		t.Errorf("a task waits: %q, want %q", got, want)
	}
	for want, approvers := range map[string]*client.Approvers{
		"another person": nil, "another person (role finance or corp:bob\\u202e)": {Roles: []string{"finance"}, Subjects: []string{"corp:bob\u202e"}},
	} {
		want = strings.TrimSuffix(waits, ": ") + " by " + want + "; the result follows by itself"
		if got := WaitsText(&client.ApprovalDetail{Approval: client.Approval{ID: "1", Tool: "pay", Approvers: approvers}, May: client.May{WhyNot: "no"}}, false); got != want {
			t.Errorf("a task waits: %q, want %q", got, want)
		}
	}
	if got, want := decidedText("a2a-server approvals list", "1", client.Approve, &client.Decided{Approval: &a, Caller: client.Principal{Subject: "key:bob"}}), "1 waits for more votes: 1 of 2: key:bob"; !strings.HasPrefix(got, want) {
		t.Errorf("the vote is confirmed as %q, want %q", got, want)
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

// Whoever decides an approval, or lists it, sees which others ask the same.
func TestEqualIsShown(t *testing.T) {
	t.Parallel()
	a := client.Approval{ID: "1", EqualTo: []string{"2", "3\u202e"}}
	if got, want := Text(&client.ApprovalDetail{Approval: a}, 200, time.Now()), "equal to    2 other waiting calls: 2, 3\\u202e; each approval runs its own\n"; !strings.Contains(got, want) {
		t.Errorf("the approval is shown as %q, want %q in it", got, want)
	}
}
