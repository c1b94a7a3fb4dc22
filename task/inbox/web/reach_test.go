package web_test

import (
	"testing"

	"a2a-server/auth"
)

// A caller whose roles have no effect without a tenant reads so on each list, and an empty list says whose rows it has.
func TestListsSayWhoseRows(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.asks("transfer_money", map[string]any{"amount": 5, "to": "dave"})
	by := auth.Principal{Subject: "vera", Roles: []string{auth.RoleViewer, auth.RoleApprover}, Method: "test"}
	for _, path := range []string{"/ui/", "/ui/tasks", "/ui/grants", "/ui/history"} {
		w.has(w.get(by, path), 200, []string{`id="reach"`, "your credential has no tenant", "set auth.tenant"})
	}
	w.has(w.get(bob, "/ui/"), 200, nil, `id="reach"`)
	w.has(w.get(bob, "/ui/?tool=none"), 200, []string{"Only approvals of tasks of your tenant acme"})
}
