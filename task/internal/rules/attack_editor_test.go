package rules_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
)

// The author of an edit is known by all that their credential says: with another login, of which
// nothing says whose it is, nobody approves it.
func TestFourEyesOfAnEditByAnotherLogin(t *testing.T) {
	t.Parallel()
	requester := auth.Principal{Tenant: "acme", Subject: "corp:alice", Person: "alice", Method: "oidc"}
	editor := auth.Principal{Tenant: "acme", Subject: "key:bob", Person: "bob", Roles: []string{auth.RoleApprover}, Method: "api_key"}
	again := auth.Principal{Tenant: "acme", Subject: "corp:b0b", Roles: []string{auth.RoleApprover}, Method: "oidc"} // of bob, too, perhaps
	if editor.DistinctFrom(again) {
		t.Fatal("the two logins are known to be of different persons")
	}
	a := approval.Approval{
		V: 1, ID: id(2), Kind: approval.KindCall, State: approval.Pending, Digest: "d", Requester: requester.With(editor), // as fold.RequesterOf has it
		Terms: approval.Terms{Gate: "big", FourEyes: true},
	}
	if err := a.Check(approval.Decision{ID: a.ID, Type: approval.Approve, Digest: "d"}, approval.Decider{By: again, Via: approval.ViaAPI}, a.Asked); err == nil {
		t.Error("a login that may be the editor's approves the edit")
	}
}
