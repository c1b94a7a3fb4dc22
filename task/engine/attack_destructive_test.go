package engine_test

import (
	"testing"

	"a2a-server/approval"
	"a2a-server/tool"
)

// The program's own word that a tool of a server is destructive counts, whatever its server says.
type careful struct{ tool.Tool }

func (c careful) Unwrap() tool.Tool             { return c.Tool }
func (c careful) Annotations() tool.Annotations { return tool.Annotations{Destructive: true} }

func TestNoGrantsForAToolThatTheProgramCallsDestructive(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Policy = policy(t, approval.Gate{Tool: "*", Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: approval.GrantScopes()}}})
		w.startTools(careful{&claims{fake{name: "wire"}, []string{"not destructive"}}})
		one := w.pendingOf(alice, w.send(w.calls("wire", args{})))
		if !one.Terms.Destructive || one.Grantable() {
			t.Errorf("destructive %t, grantable %t, want a destructive call without grants", one.Terms.Destructive, one.Grantable())
		}
	})
}
