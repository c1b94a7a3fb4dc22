package app

import (
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/internal/adminsocket"
)

// Whoever looks at an approval sees whom its gates let decide, also when they name different
// people.
func TestApproversAreShown(t *testing.T) {
	t.Parallel()
	sre, dora := approval.Approvers{Roles: []string{"sre"}, Subjects: []string{"corp:alice"}}, approval.Approvers{Subjects: []string{"key:dora"}}
	for want, who := range map[string]*approval.Approvers{
		"":                                       nil,
		"approvers   the role sre, corp:alice\n": &sre,
		"approvers   one of (the role sre, corp:alice) who is also one of (key:dora)\n": {All: []approval.Approvers{sre, dora}},
	} {
		got := approvalText(&adminsocket.ShownApproval{Approval: &approval.Approval{ID: "1", Terms: approval.Terms{Approvers: who}}}, 200)
		if !strings.Contains(got, want) || who == nil && strings.Contains(got, "approvers") {
			t.Errorf("approvers %+v are shown as %q, want %q", who, got, want)
		}
	}
}

// Whoever looks at an approval sees what the tool says about itself, and what of it nobody
// has verified.
func TestWhatAToolSaysIsShown(t *testing.T) {
	t.Parallel()
	about := &approval.About{Description: "Deletes\u202e files", Declared: []string{"idempotent"}, Claimed: []string{"destructive", "open world"}}
	got := approvalText(&adminsocket.ShownApproval{Approval: &approval.Approval{ID: "1", About: about}}, 200)
	if want := "described   Deletes\\u202e files\ndeclared    idempotent\nclaimed     destructive, open world (not verified)\n"; !strings.Contains(got, want) {
		t.Errorf("the approval is shown as %q, want %q in it", got, want)
	}
}
