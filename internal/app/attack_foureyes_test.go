package app_test

import (
	"os"
	"strings"
	"testing"
)

// docs/policy.md: "policy check reports ... approvals that too few people could give". Of two people who
// may approve, and who alone may request, one is always excluded by four_eyes.
func TestAttackCheckOfFourEyes(t *testing.T) {
	t.Parallel()
	c := withPolicy(t)
	c.write("keys.yaml", `
- {id: bob, person: bob, sha256: "0000000000000000000000000000000000000000000000000000000000000001", roles: [requester, approver]}
- {id: carl, person: carl, sha256: "0000000000000000000000000000000000000000000000000000000000000002", roles: [requester, approver]}
`)
	file, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	c.write("a2a-server.yaml", strings.Replace(string(file), "  - {name: any-payment, tool: pay, action: allow}", "  []", 1))
	c.write("managed.yaml", "gates: []\n")
	c.write("rules.yaml", "gates: [{name: g, tool: pay, people: 2, four_eyes: true}]\n")
	c.want(1, "no call could run", "policy", "check")
}
