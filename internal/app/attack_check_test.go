package app_test

import (
	"path/filepath"
	"testing"

	"a2a-server/auth/apikey"
)

// policy check reports approvals that nobody could give (docs/policy.md): more people than there are, subjects
// that nobody has, roles of callers who may not decide, and a gate that allows no decision with which a call runs.
func TestAttackCheckOfApprovalsThatNobodyCouldGive(t *testing.T) {
	t.Parallel()
	for name, gate := range map[string]string{
		"two people of one":          "{name: g, tool: pay, people: 2}",
		"two of a role that one has": "{name: g, tool: pay, people: 2, approvers: {roles: [finance]}}",
		"a subject that nobody has":  "{name: g, tool: pay, approvers: {subjects: [\"key:nobody\"]}}",
		"a role without the right":   "{name: g, tool: pay, approvers: {roles: [legal]}}",
		"only reject":                "{name: g, tool: pay, allowed: [reject]}",
		"four eyes of one":           "{name: g, tool: pay, four_eyes: true, approvers: {subjects: [\"key:ann\"]}}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withFile(t, `
auth: {keys: {file: keys.yaml}, tenant: acme}
tools:
  - {command: pay, description: pays, run: [echo]}
gates:
  - `+gate+"\n")
			for _, key := range []apikey.Key{
				{ID: "ann", Roles: []string{"requester"}}, {ID: "bob", Roles: []string{"approver", "finance"}}, {ID: "carl", Roles: []string{"viewer", "legal"}},
			} {
				if _, err := apikey.Add(filepath.Join(c.folder, "keys.yaml"), key, false /* replace */); err != nil {
					t.Fatal(err)
				}
			}
			c.want(1, "g", "policy", "check")
		})
	}
}
