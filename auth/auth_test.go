package auth

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestZero(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		p    Principal
		zero bool
	}{
		"nobody":             {Principal{}, true},
		"nobody of a tenant": {Principal{Tenant: "acme", Roles: []string{RoleAdmin}}, true},
		"anonymous":          {Anonymous(), false},
		"somebody":           {Principal{Subject: "alice"}, false},
	} {
		if got := tc.p.IsZero(); got != tc.zero {
			t.Errorf("%s: IsZero() = %v, want %v", name, got, tc.zero)
		}
	}
	if (Principal{Subject: anonymous, Method: "key"}).IsAnonymous() || (Principal{Subject: "a", Method: methodNone}).IsAnonymous() {
		t.Error("somebody else is anonymous")
	}
}

func TestDirect(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		p    Principal
		want bool
	}{
		"a person":           {Principal{Subject: "alice"}, true},
		"anonymous":          {Anonymous(), true},
		"a named person":     {Principal{Subject: "key:1", Person: "alice"}, true},
		"a service":          {Principal{Subject: "ci", Kind: KindService}, false},
		"through an agent":   {Principal{Subject: "alice", Chain: []string{"agent"}}, false},
		"an unknown kind":    {Principal{Subject: "alice", Kind: "robot"}, false},
		"a service's person": {Principal{Subject: "ci", Person: "alice", Kind: KindService}, false},
	} {
		if got := tc.p.Direct(); got != tc.want {
			t.Errorf("%s: Direct() = %v, want %v", name, got, tc.want)
		}
	}
}

// Under four eyes, everybody who takes part in a request counts.
func TestShares(t *testing.T) {
	t.Parallel()
	alice := Principal{Tenant: "acme", Subject: "oidc:alice"}
	for name, tc := range map[string]struct {
		p, q Principal
		want bool
	}{
		"oneself":                         {alice, alice, true},
		"two people":                      {alice, Principal{Tenant: "acme", Subject: "oidc:bob"}, false},
		"a longer name":                   {alice, Principal{Tenant: "acme", Subject: "oidc:alice2"}, false},
		"in another tenant":               {alice, Principal{Tenant: "other", Subject: "oidc:alice"}, true},
		"roles are nobody":                {Principal{Subject: "a", Roles: []string{"x"}}, Principal{Subject: "b", Roles: []string{"x"}}, false},
		"through the same agent":          {Principal{Subject: "a", Chain: []string{"desk"}}, Principal{Subject: "b", Chain: []string{"desk"}}, true},
		"the agent itself":                {Principal{Subject: "a", Chain: []string{"hub", "desk"}}, Principal{Subject: "desk", Kind: KindService}, true},
		"in a chain":                      {alice, Principal{Subject: "b", Chain: []string{"hub", "oidc:alice"}}, true},
		"a key and a login":               {Principal{Subject: "keys:1", Person: "alice@x"}, Principal{Subject: "oidc:7", Person: "alice@x"}, true},
		"a key with the login's subject":  {Principal{Subject: "keys:1", Person: "oidc:alice"}, alice, true},
		"a person and who acts for them":  {Principal{Subject: "keys:1", Person: "alice@x"}, Principal{Subject: "b", Chain: []string{"alice@x"}}, true},
		"a subject with a name in chains": {Principal{Subject: "keys:1", Person: "alice@x"}, Principal{Subject: "b", Chain: []string{"keys:1"}}, true},
		"two named people":                {Principal{Subject: "keys:1", Person: "alice@x"}, Principal{Subject: "keys:2", Person: "bob@x"}, false},
	} {
		if got, back := tc.p.Shares(tc.q), tc.q.Shares(tc.p); got != tc.want || back != tc.want {
			t.Errorf("%s: Shares() = %v, and the other way round %v, want %v", name, got, back, tc.want)
		}
	}
}

// TestPrincipalJSON checks the form that is on disks. When a credential ends is not part
// of it.
func TestPrincipalJSON(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		p    Principal
		want string
	}{
		{"nobody", Principal{}, `{"subject":""}`},
		{"anonymous", Anonymous(), `{"subject":"anonymous","method":"none"}`},
		{
			"all", Principal{
				Tenant: "acme", Subject: "alice", Person: "a@x", Kind: KindService, Roles: []string{"ops"}, Chain: []string{"agent"}, Method: "bearer",
				PersonSeen: true, Login: "corp:a", Mark: "1f",
			},
			`{"tenant":"acme","subject":"alice","person":"a@x","person_seen":true,"login":"corp:a","mark":"1f","kind":"service","roles":["ops"],"chain":["agent"],"method":"bearer"}`,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			stored := tc.p
			stored.Expires = time.Unix(1, 0)
			got, err := json.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("JSON = %s, want %s", got, tc.want)
			}
			var back Principal
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.p, back); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

// What would be stored as somebody else, or not at all, is refused.
func TestValidate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		p    Principal
		says string
	}{
		"nobody":            {},
		"somebody":          {p: Principal{Tenant: "acme", Subject: "José", Roles: []string{"ops"}, Chain: []string{"desk"}, Method: "key"}},
		"as long as can be": {p: Principal{Tenant: "acme", Subject: strings.Repeat("a", MaxOwner-4), Roles: []string{strings.Repeat("r", maxRest)}}},
		"subject":           {p: Principal{Subject: "Jos\xe9"}, says: "not valid UTF-8"},
		"tenant":            {p: Principal{Subject: "a", Tenant: "\xff"}, says: "not valid UTF-8"},
		"role":              {p: Principal{Subject: "a", Roles: []string{"b", "\xff"}}, says: "not valid UTF-8"},
		"chain":             {p: Principal{Subject: "a", Chain: []string{"\xff"}}, says: "not valid UTF-8"},
		"person":            {p: Principal{Subject: "a", Person: "\xff"}, says: "not valid UTF-8"},
		"a long person":     {p: Principal{Subject: "a", Person: strings.Repeat("p", maxRest+1)}, says: "have 65537 bytes"},
		"a service":         {p: Principal{Subject: "a", Kind: KindService}},
		"kind":              {p: Principal{Subject: "a", Kind: "robot"}, says: `of kind "robot"`},
		"anonymous":         {p: Anonymous()},
		"not anonymous":     {p: Principal{Subject: "anonymous", Method: "key"}, says: "what it owns was made without authentication"},
		"method":            {p: Principal{Subject: "a", Method: "\xff"}, says: "not valid UTF-8"},
		"long":              {p: Principal{Tenant: "acme", Subject: strings.Repeat("a", MaxOwner)}, says: "have 1028 bytes"},
		"many roles":        {p: Principal{Subject: "a", Roles: []string{strings.Repeat("r", maxRest)}, Method: "m"}, says: "have 65537 bytes"},
	} {
		if err := tc.p.Validate(); (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: Validate() = %v, want %q", name, err, tc.says)
		}
	}
}
