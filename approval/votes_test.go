package approval_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
)

// Votes of principals who may be one person count once, however they came about.
func TestOpenCountsPersons(t *testing.T) {
	t.Parallel()
	vote := func(method, subject, person string) approval.Vote {
		return approval.Vote{By: auth.Principal{Tenant: "acme", Subject: subject, Person: person, Method: method}, Digest: "d", Meets: []int{0}}
	}
	bob := vote("key", "key:bob", "bob")
	for name, tt := range map[string]struct {
		second approval.Vote
		open   int
	}{
		"another person":            {vote("key", "key:carl", "carl"), 0},
		"the same login":            {bob, 1},
		"another login of bob":      {vote("oidc", "corp:bob", "bob"), 1},
		"a login that may be bob's": {vote("oidc", "corp:x", ""), 1},
	} {
		open := approval.Open([]approval.Vote{bob, tt.second}, []approval.Need{{Gate: "g", People: 2}}, "d")
		if len(open) != tt.open {
			t.Errorf("%s: %+v is open, want %d needs", name, open, tt.open)
		}
	}
}
