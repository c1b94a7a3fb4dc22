package app_test

import "testing"

const attackRoutes = `
policy: {files: [rules.yaml]}
auth: {keys: {file: keys.yaml}, default_roles: [requester, approver], tenant: acme}
notify: [{name: oncall, kind: slack, url: {env: HOOK}}, {name: ops, kind: slack, all: true, url: {env: HOOK}, events: [asked]}]
tools:
  - {command: pay, description: pays, run: [echo, "{to}"], args: {to: {type: string}}}
`

// A reminder after the escalation reminds the routes of the escalation, and a reminder of calls about which
// two gates ask the routes of both.
func TestAttackCheckOfReminders(t *testing.T) {
	t.Parallel()
	for name, gates := range map[string]string{
		"the route of the escalation": "- {name: g, tool: pay, expires: 24h, remind: 8h, escalate: {after: 4h, notify: [oncall]}}",
		"the route of another gate":   "- {name: g, tool: pay, expires: 24h, remind: 8h}\n  - {name: h, tool: pay, expires: 24h, notify: [oncall]}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withFile(t, attackRoutes)
			c.write("keys.yaml", "[]\n")
			c.write("rules.yaml", "gates:\n  "+gates+"\n")
			c.want(0, "the policy has no problems", "policy", "check")
		})
	}
}
