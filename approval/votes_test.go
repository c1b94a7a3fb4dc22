package approval_test

import (
	"strings"
	"testing"
	"time"

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
		a := &approval.Approval{Kind: approval.KindCall, Digest: "d", Votes: []approval.Vote{bob, tt.second}, Terms: approval.Terms{Needs: []approval.Need{{Gate: "g", People: 2}}}}
		if open := a.Tally().Open; open[0] != tt.open {
			t.Errorf("%s: %d is open, want %d", name, open[0], tt.open)
		}
	}
}

// The tally counts persons, of whom one may meet several needs; another login of a person who has voted may
// give the votes that the first could not.
func TestTallyOfSeveralNeeds(t *testing.T) {
	t.Parallel()
	of := func(login string, roles ...string) auth.Principal {
		return auth.Principal{Tenant: "acme", Subject: "key:" + login, Person: strings.TrimRight(login, "2"), Method: "key", Kind: auth.KindPerson, Roles: append(roles, auth.RoleApprover)}
	}
	roles := func(role string) *approval.Approvers { return &approval.Approvers{Roles: []string{role}} }
	finance, legal := approval.Need{Gate: "money", People: 1, Approvers: roles("finance")}, approval.Need{Gate: "law", People: 1, Approvers: roles("legal")}
	for name, tt := range map[string]struct {
		needs  []approval.Need
		voters []auth.Principal
		want   []string // before, and after each
	}{
		"both roles":  {[]approval.Need{finance, legal}, []auth.Principal{of("ann", "finance", "legal")}, []string{"0 of 1", "1 of 1"}},
		"two people":  {[]approval.Need{finance, legal}, []auth.Principal{of("bob", "finance"), of("carl", "legal")}, []string{"0 of 1", "1 of 2", "2 of 2"}},
		"two logins":  {[]approval.Need{finance, legal}, []auth.Principal{of("bob", "finance"), of("bob2", "legal")}, []string{"0 of 1", "1 of 2", "1 of 1"}},
		"three needs": {[]approval.Need{finance, legal, {Gate: "two", People: 2}}, []auth.Principal{of("bob", "finance"), of("carl", "legal")}, []string{"0 of 2", "1 of 2", "2 of 2"}},
	} {
		a := &approval.Approval{ID: "t.a1", State: approval.Pending, Kind: approval.KindCall, Digest: "d", Args: []byte("{}"), Requester: of("alice"), Terms: approval.Terms{Needs: tt.needs}}
		for i := range tt.want {
			got := a.Tally()
			if text, _, _ := strings.Cut(got.String(), ":"); !strings.HasPrefix(text, tt.want[i]) {
				t.Errorf("%s: after %d votes %s, want %s", name, i, got, tt.want[i])
			}
			if i == len(tt.voters) {
				if !a.Met("d") {
					t.Errorf("%s: %+v is open", name, a.Tally())
				}
				break
			}
			d := approval.Decider{By: tt.voters[i], Via: approval.ViaAPI}
			approve := approval.Decision{ID: a.ID, Type: approval.Approve}
			if err := a.Check(approve, d, time.Now()); err != nil || a.Repeats(approve, d.By) {
				t.Fatalf("%s: %s votes: %v, repeats %t", name, d.By.Subject, err, a.Repeats(approve, d.By))
			}
			a.Votes = append(a.Votes, a.NewVote(d, "d", a.Args, "", time.Now()))
			if !a.Met("d") && !a.Repeats(approve, d.By) {
				t.Errorf("%s: the vote of %s again is no repetition", name, d.By.Subject)
			}
		}
	}
}
