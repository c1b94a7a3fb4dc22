package auth_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"a2a-server/auth"
)

// actions returns every action there is.
func actions() []auth.Action {
	var all []auth.Action
	for a := auth.Create; a <= auth.Admin; a++ {
		all = append(all, a)
	}
	return all
}

// TestMay is the table of docs: what each role may do, and to what.
func TestMay(t *testing.T) {
	t.Parallel()
	requester := []auth.Action{auth.Create, auth.Read, auth.List, auth.Follow, auth.Cancel, auth.Push, auth.Delete, auth.Review, auth.Decide}
	for _, tc := range []struct {
		name  string
		p     auth.Principal
		may   []auth.Action
		whole []auth.Action // of these, to everything in the tenant
	}{
		{"nobody", auth.Principal{Tenant: "acme", Roles: auth.Roles()}, nil, nil},
		{"no role", auth.Principal{Tenant: "acme", Subject: "a"}, nil, nil},
		{"roles that are none", auth.Principal{Tenant: "acme", Subject: "a", Roles: []string{"", "Admin", "admin ", "root"}}, nil, nil},
		{"anonymous", auth.Anonymous(), requester, nil},
		{"anonymous has no other roles", auth.Principal{Subject: "anonymous", Method: "none", Tenant: "acme", Roles: auth.Roles()}, requester, nil},
		{"called anonymous", auth.Principal{Tenant: "acme", Subject: "anonymous", Method: "key"}, nil, nil},
		{"requester", with(auth.RoleRequester), requester, nil},
		{
			"viewer", with(auth.RoleViewer),
			[]auth.Action{auth.Read, auth.List, auth.Follow, auth.Review, auth.Oversee},
			[]auth.Action{auth.Read, auth.Follow, auth.Review, auth.Oversee},
		},
		{"approver", with(auth.RoleApprover), []auth.Action{auth.Review, auth.Decide}, []auth.Action{auth.Review, auth.Decide}},
		{
			"operator", with(auth.RoleOperator),
			[]auth.Action{auth.Read, auth.List, auth.Follow, auth.Cancel, auth.Delete, auth.Review, auth.Oversee},
			[]auth.Action{auth.Read, auth.Follow, auth.Cancel, auth.Delete, auth.Review, auth.Oversee},
		},
		{"admin", with(auth.RoleAdmin), []auth.Action{auth.Admin}, []auth.Action{auth.Admin}},
		{"two roles reach as far as the further one", with(auth.RoleRequester, auth.RoleApprover), requester, []auth.Action{auth.Review, auth.Decide}},
		{
			"without a tenant nothing is whole", auth.Principal{Subject: "a", Roles: []string{auth.RoleViewer}},
			[]auth.Action{auth.Read, auth.List, auth.Follow, auth.Review, auth.Oversee}, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, a := range append(actions(), 0, auth.Admin+1) {
				err := tc.p.May(a)
				if got, want := err == nil, slices.Contains(tc.may, a); got != want {
					t.Errorf("May(%v) = %v, want %v", a, err, want)
				}
				if got, want := tc.p.Whole(a), slices.Contains(tc.whole, a); got != want {
					t.Errorf("Whole(%v) = %v, want %v", a, got, want)
				}
			}
		})
	}
}

func with(roles ...string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: "a", Roles: roles}
}

// A refusal says what to ask for, and nothing about who asks.
func TestDenied(t *testing.T) {
	t.Parallel()
	err := with("secret").May(auth.Cancel)
	var denied *auth.DeniedError
	if !errors.As(err, &denied) || denied.Action != auth.Cancel {
		t.Fatalf("May() = %v, want DeniedError", err)
	}
	const want = "the credential lacks a role for this (cancel): ask the operator of the server for one of: requester, operator"
	if err.Error() != want {
		t.Errorf("error = %q, want %q", err, want)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("error = %q, which names the caller's roles", err)
	}
}

func TestHas(t *testing.T) {
	t.Parallel()
	p := with("a", "b")
	if !p.Has("a") || !p.Has("b") || p.Has("") || p.Has("c") || (auth.Principal{}).Has("a") {
		t.Error("Has() does not say which roles a principal has")
	}
}
