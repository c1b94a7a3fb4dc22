package engine_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/approval/condition"
)

// docs/approvals.md: "A call asks all the same if ... a gate that asks ... differs". An approver who lets
// the amount vary does so within the condition of the gate: of a gate that asks about amounts below 10,
// and not of the gate of the same name that asks about amounts below 1,000.
func TestAttackGrantOfAGateThatDiffers(t *testing.T) {
	for name, change := range map[string]func(g *approval.Gate){
		"when": func(g *approval.Gate) { g.Condition = condition.MustCompile("args.amount < 1000") },
		"who": func(g *approval.Gate) {
			g.Condition, g.Who = condition.MustCompile("args.amount < 1000"), &approval.Who{Callers: []string{"ali*"}}
		},
	} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			if _, memory := w.disk.(*memDisk); memory {
				return // it does not outlive a restart
			}
			g := mails(approval.GrantTerms{Vary: []string{"/amount"}})
			g.Condition = condition.MustCompile("args.amount < 10")
			w.mailing(g)
			w.grantOf(alice, w.mail(alice, "c", args{"amount": 1}), approval.GrantRequest{Scope: approval.GrantTime})
			change(&g)
			w.cfg.Policy = policy(t, g)
			w.restart()
			w.wantAsked(w.mail(alice, "c", args{"amount": 999}), true)
		})
	}
}
