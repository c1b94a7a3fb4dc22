package auth

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrincipal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		p        Principal
		zero     bool
		involves []string
		not      []string
	}{
		{"nobody", Principal{}, true, nil, []string{"alice"}},
		{"nobody of a tenant", Principal{Tenant: "acme", Roles: []string{"ops"}}, true, nil, []string{"acme", "ops"}},
		{"anonymous", Anonymous(), false, []string{"anonymous"}, []string{"", "none", "alice"}},
		{"somebody", Principal{Subject: "alice", Roles: []string{"ops"}}, false, []string{"alice"}, []string{"", "bob", "ops", "Alice", "alic"}},
		{"on behalf of others", Principal{Subject: "agent", Chain: []string{"desk", "alice"}}, false, []string{"agent", "desk", "alice"}, []string{"bob"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.p.IsZero(); got != tc.zero {
				t.Errorf("IsZero() = %v, want %v", got, tc.zero)
			}
			for _, s := range tc.involves {
				if !tc.p.Involves(s) {
					t.Errorf("Involves(%q) = false, want true", s)
				}
			}
			for _, s := range tc.not {
				if tc.p.Involves(s) {
					t.Errorf("Involves(%q) = true, want false", s)
				}
			}
		})
	}
}

// TestPrincipalJSON holds the form that is on disks.
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
			"all", Principal{Tenant: "acme", Subject: "agent", Roles: []string{"ops"}, Chain: []string{"alice"}, Method: "bearer"},
			`{"tenant":"acme","subject":"agent","roles":["ops"],"chain":["alice"],"method":"bearer"}`,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tc.p)
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
		"as long as can be": {p: Principal{Tenant: "acme", Subject: strings.Repeat("a", MaxOwner-4), Roles: []string{strings.Repeat("r", MaxRest)}}},
		"subject":           {p: Principal{Subject: "Jos\xe9"}, says: "not valid UTF-8"},
		"tenant":            {p: Principal{Subject: "a", Tenant: "\xff"}, says: "not valid UTF-8"},
		"role":              {p: Principal{Subject: "a", Roles: []string{"b", "\xff"}}, says: "not valid UTF-8"},
		"chain":             {p: Principal{Subject: "a", Chain: []string{"\xff"}}, says: "not valid UTF-8"},
		"method":            {p: Principal{Subject: "a", Method: "\xff"}, says: "not valid UTF-8"},
		"long":              {p: Principal{Tenant: "acme", Subject: strings.Repeat("a", MaxOwner)}, says: "have 1028 bytes"},
		"many roles":        {p: Principal{Subject: "a", Roles: []string{strings.Repeat("r", MaxRest)}, Method: "m"}, says: "have 65537 bytes"},
	} {
		if err := tc.p.Validate(); (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: Validate() = %v, want %q", name, err, tc.says)
		}
	}
}
