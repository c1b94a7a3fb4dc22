package api_test

import (
	"slices"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/client"
)

// Every list says whose rows it has, and which roles have no effect for want of a tenant.
func TestReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(alice, "/pay amount=1")
	nowhere := func(subject string, roles ...string) auth.Principal {
		p := member(subject, roles...)
		p.Tenant = ""
		return p
	}
	for name, tc := range map[string]struct {
		by   auth.Principal
		path string
		want client.Reach // its Note is what the note has
		rows int
		says bool // beside these rows
	}{
		"approver":                  {olga, "/approvals", client.Reach{Rows: client.TenantRows, Tenant: olga.Tenant, Note: "Only approvals of tasks of your tenant " + olga.Tenant + " are listed."}, 1, false},
		"approver, nothing":         {olga, "/approvals?tool=none", client.Reach{Rows: client.TenantRows, Tenant: olga.Tenant, Note: "your tenant " + olga.Tenant}, 0, true},
		"requester":                 {alice, "/approvals", client.Reach{Rows: client.OwnRows, Note: "are for the roles viewer, approver, operator"}, 1, false},
		"another requester":         {member("test:carl", auth.RoleRequester), "/tasks", client.Reach{Rows: client.OwnRows, Note: "Only your own tasks are listed; all tasks of your tenant " + olga.Tenant + " are for the roles viewer, operator"}, 0, true},
		"approver without a tenant": {nowhere("test:olga", auth.RoleApprover, auth.RoleRequester), "/approvals", client.Reach{Rows: client.OwnRows, Inert: []string{auth.RoleApprover}, Note: "set auth.tenant"}, 0, true},
		"its tasks":                 {nowhere("test:olga", auth.RoleApprover, auth.RoleRequester), "/tasks", client.Reach{Rows: client.OwnRows, Note: "viewer, operator"}, 0, true},
		"viewer without a tenant":   {nowhere("test:vera", auth.RoleOperator, auth.RoleViewer), "/grants", client.Reach{Rows: client.OwnRows, Inert: []string{auth.RoleViewer, auth.RoleOperator}, Note: "Only grants for your own tasks"}, 0, true},
		"its webhooks":              {nowhere("test:vera", auth.RoleViewer), "/webhooks", client.Reach{Rows: client.OwnRows, Inert: []string{auth.RoleViewer}, Note: "Only webhooks of"}, 0, true},
		"its messages":              {nowhere("test:vera", auth.RoleViewer), "/notifications", client.Reach{Rows: client.OwnRows, Inert: []string{auth.RoleViewer}, Note: "Only messages about"}, 0, true},
		"admin of anonymous":        {nowhere("test:root", auth.RoleAdmin), "/approvals?anonymous=true", client.Reach{Rows: client.AnonymousRows, Note: "without authentication"}, 0, true},
	} {
		page := into[struct {
			Items []any
			Reach client.Reach
		}](w.get(tc.by, tc.path).want(200))
		got := page.Reach
		if got.Rows != tc.want.Rows || got.Tenant != tc.want.Tenant || !slices.Equal(got.Inert, tc.want.Inert) || !strings.Contains(got.Note, tc.want.Note) || len(page.Items) != tc.rows || (got.NoteFor(tc.rows) != "") != tc.says {
			t.Errorf("%s: %d rows of %+v, want %d of %+v", name, len(page.Items), got, tc.rows, tc.want)
		}
	}
}
