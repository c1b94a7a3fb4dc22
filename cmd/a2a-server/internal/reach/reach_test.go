package reach_test

import (
	"fmt"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/reach"
	"a2a-server/store"
)

// A task is out of reach if its owner is not let in with its tenant, and nobody oversees that tenant.
func TestUnreached(t *testing.T) {
	t.Parallel()
	requester, approver := []string{auth.RoleRequester}, []string{auth.RoleApprover}
	alice, olga := store.Owner("", "key:alice"), store.Owner("acme", "key:olga")
	anonymous := store.Owner("", auth.Anonymous().Subject)
	for name, tc := range map[string]struct {
		callers   []config.Caller
		anonymous bool
		owner     store.Scope
		want      string // "": a caller reaches the task
	}{
		"its owner":                        {[]config.Caller{{Principal: auth.Principal{Subject: "key:alice", Roles: requester}}}, false, alice, ""},
		"an owner with a tenant by now":    {[]config.Caller{{Principal: auth.Principal{Subject: "key:alice", Tenant: "acme", Roles: requester}}}, false, alice, "without a tenant"},
		"an approver without a tenant":     {[]config.Caller{{Principal: auth.Principal{Subject: "key:bob", Roles: approver}}}, false, alice, "without a tenant"},
		"an approver of the tenant":        {[]config.Caller{{Principal: auth.Principal{Subject: "key:bob", Tenant: "acme", Roles: approver}}}, false, olga, ""},
		"a requester of the tenant":        {[]config.Caller{{Principal: auth.Principal{Subject: "key:bob", Tenant: "acme", Roles: requester}}}, false, olga, `of the tenant "acme", in which no caller may see them: add a caller with the tenant "acme" and the role viewer, `},
		"an approver of another tenant":    {[]config.Caller{{Principal: auth.Principal{Subject: "key:bob", Tenant: "corp", Roles: approver}}}, false, olga, `of the tenant "acme"`},
		"an issuer that names tenants":     {[]config.Caller{{Principal: auth.Principal{Subject: "corp:", Roles: approver}, AnyTenant: true}}, false, olga, ""},
		"its requesters":                   {[]config.Caller{{Principal: auth.Principal{Subject: "corp:", Roles: requester}, AnyTenant: true}}, false, olga, `of the tenant "acme"`},
		"its requester":                    {[]config.Caller{{Principal: auth.Principal{Subject: "corp:", Roles: requester}, AnyTenant: true}}, false, store.Owner("acme", "corp:zoe"), ""},
		"its earlier task of no tenant":    {[]config.Caller{{Principal: auth.Principal{Subject: "corp:", Roles: approver}, AnyTenant: true}}, false, store.Owner("", "corp:zoe"), "without a tenant"},
		"an issuer of one tenant":          {[]config.Caller{{Principal: auth.Principal{Subject: "corp:", Tenant: "acme", Roles: approver}}}, false, olga, ""},
		"an issuer of another tenant":      {[]config.Caller{{Principal: auth.Principal{Subject: "corp:", Tenant: "corp", Roles: approver}}}, false, store.Owner("acme", "corp:zoe"), `of the tenant "acme"`},
		"without authentication":           {nil, true, anonymous, ""},
		"a caller, without authentication": {nil, true, olga, `of the tenant "acme"`},
		"anonymous, with authentication":   {[]config.Caller{{Principal: auth.Principal{Subject: "key:alice", Roles: requester}}}, false, anonymous, "created without authentication"},
	} {
		u := reach.New(tc.callers, tc.anonymous)
		u.Add(&store.Header{Owner: tc.owner, Pending: 2})
		u.Add(&store.Header{Owner: tc.owner, Pending: 1})
		got := strings.Join(u.Warnings(), "\n")
		if (got == "") != (tc.want == "") || tc.want != "" && !strings.HasPrefix(got, "tasks out of reach: 2 (pending approvals: 3) "+tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	many := reach.New(nil, true)
	for i := range 30 {
		many.Add(&store.Header{Owner: store.Owner(fmt.Sprint("t", i), "key:a")})
	}
	if got := many.Warnings(); len(got) != 21 || got[20] != "tasks out of reach: those of 10 more tenants" {
		t.Errorf("Warnings() = %q", got)
	}
}
