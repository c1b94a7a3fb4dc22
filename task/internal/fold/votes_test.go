package fold

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
)

// An approval lets its call run only with every vote that it needs in the log, of different persons
// and for the call as it was approved.
func TestGrantedWithVotes(t *testing.T) {
	t.Parallel()
	vote := func(name, digest string) approval.Vote {
		return approval.Vote{By: auth.Principal{Tenant: "acme", Subject: name}, Digest: digest, Meets: []int{0}}
	}
	for name, tc := range map[string]struct {
		votes []approval.Vote
		want  bool
	}{
		"none":                 {nil, false},
		"one":                  {[]approval.Vote{vote("bob", "d")}, false},
		"one twice":            {[]approval.Vote{vote("bob", "d"), vote("bob", "d")}, false},
		"one for another call": {[]approval.Vote{vote("bob", "d"), vote("carl", "old")}, false},
		"one for another need": {[]approval.Vote{vote("bob", "d"), {By: auth.Principal{Subject: "carl"}, Digest: "d", Meets: []int{1}}}, false},
		"two":                  {[]approval.Vote{vote("bob", "d"), vote("carl", "d")}, true},
	} {
		f := &Fold{saved: saved{Approvals: []*Approval{{Approval: approval.Approval{
			Call: "c1.1", Kind: approval.KindCall, State: approval.Approved, Digest: "d", Votes: tc.votes, Terms: approval.Terms{Needs: []approval.Need{{People: 2}}},
		}}}}}
		c := &Call{}
		c.ID = "c1.1"
		if got := f.Granted(c) != nil; got != tc.want {
			t.Errorf("with %s: granted = %v, want %v", name, got, tc.want)
		}
	}
}
