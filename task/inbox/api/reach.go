package api

import (
	"strings"

	"a2a-server/auth"
	"a2a-server/client"
)

// reach says which rows a list of things has for the caller, such as "approvals of", which tasks follow.
func (c Caller) reach(a auth.Action, things string) *client.Reach {
	r := &client.Reach{Rows: client.OwnRows, Inert: c.By.Inert(a)}
	only := "your own tasks are listed"
	switch {
	case c.By.IsAnonymous(), c.By.IsPersona(): // all rows that there are
		return &client.Reach{Rows: client.AnonymousRows}
	case c.Anonymous:
		r.Rows, r.Inert, only = client.AnonymousRows, nil, "tasks that were created without authentication are listed"
	case c.By.Whole(a):
		r.Rows, r.Tenant, only = client.TenantRows, c.By.Tenant, "tasks of your tenant "+c.By.Tenant+" are listed"
	case len(r.Inert) > 0:
		only += ", because your credential has no tenant, and without a tenant these roles have no effect: " + strings.Join(r.Inert, ", ") + ". Ask the operator of the server to set auth.tenant, or the tenant of your credential"
	case c.By.Tenant == "":
		only += "; tasks of other callers are for a credential with a tenant and one of the roles " + strings.Join(auth.WholeRoles(a), ", ")
	default:
		only += "; all tasks of your tenant " + c.By.Tenant + " are for the roles " + strings.Join(auth.WholeRoles(a), ", ")
	}
	r.Note = strings.Join(strings.Fields("Only "+things+" "+only), " ") + "."
	return r
}
