package engine_test

import (
	"errors"
	"slices"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// colleague returns alice's colleague, with other roles.
func colleague(roles ...string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: "colleague", Roles: roles, Method: "test"}
}

func TestScopeFor(t *testing.T) {
	t.Parallel()
	own, whole, none := store.Owner("acme", "colleague"), store.Tenant("acme"), store.Scope{}
	for _, tc := range []struct {
		name                                            string
		p                                               auth.Principal
		create, read, list, follow, cancel, decide, see store.Scope
	}{
		{"nobody", auth.Principal{}, none, none, none, none, none, none, none},
		{"no role", colleague(), none, none, none, none, none, none, none},
		{"another role", colleague("ops"), none, none, none, none, none, none, none},
		{"not UTF-8", auth.Principal{Tenant: "acme", Subject: "\xff", Roles: auth.Roles()}, none, none, none, none, none, none, none},
		{"called anonymous", auth.Principal{Subject: "anonymous", Roles: auth.Roles(), Method: "key"}, none, none, none, none, none, none, none},
		{"requester", colleague(auth.RoleRequester), own, own, own, own, own, own, own},
		{"viewer", colleague(auth.RoleViewer), none, whole, own, whole, none, none, whole},
		{"approver", colleague(auth.RoleApprover), none, none, none, none, none, whole, whole},
		{"operator", colleague(auth.RoleOperator), none, whole, own, whole, whole, none, whole},
		{"admin", colleague(auth.RoleAdmin), none, none, none, none, none, none, none},
		{"all", colleague(auth.Roles()...), own, whole, own, whole, whole, whole, whole},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for action, want := range map[auth.Action]store.Scope{
				auth.Create: tc.create, auth.Read: tc.read, auth.List: tc.list, auth.Follow: tc.follow,
				auth.Cancel: tc.cancel, auth.Decide: tc.decide, auth.Review: tc.see, 0: none,
			} {
				if got := engine.ScopeFor(tc.p, action); got != want {
					t.Errorf("ScopeFor(%v) = %v, want %v", action, got, want)
				}
			}
		})
	}
	anonymous, alone := auth.Anonymous(), auth.Principal{Subject: "a", Roles: []string{auth.RoleViewer}}
	if got := engine.ScopeFor(anonymous, auth.Decide); got != store.Owner("", "anonymous") {
		t.Errorf("ScopeFor of anonymous = %v, want its own", got)
	}
	if got := engine.ScopeFor(alone, auth.Read); got != store.Owner("", "a") {
		t.Errorf("ScopeFor without a tenant = %v, want their own", got)
	}
}

// Approvals are reviewed in the tenant by those whose role reaches so far, and what was made
// without authentication by an admin only.
func TestApprovalsInScope(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg = engine.Config{}
	w.start()
	mine, theirs := string(w.ask(alice, 1))+".a1", string(w.ask(auth.Anonymous(), 2))+".a1"
	plain := w.engine.Approvals()
	for _, tc := range []struct {
		name   string
		by     auth.Principal
		in     *engine.Approvals
		sees   string
		denied bool
	}{
		{"owner", alice, plain, mine, false},
		{"owner, of anonymous", alice, plain.OfAnonymous(), "", true},
		{"anonymous", auth.Anonymous(), plain, theirs, false},
		{"anonymous, of anonymous", auth.Anonymous(), plain.OfAnonymous(), "", true},
		{"requester", colleague(auth.RoleRequester), plain, "", false},
		{"approver", colleague(auth.RoleApprover), plain, mine, false},
		{"approver, of anonymous", colleague(auth.RoleApprover), plain.OfAnonymous(), "", true},
		{"viewer", colleague(auth.RoleViewer), plain, mine, false},
		{"operator", colleague(auth.RoleOperator), plain, mine, false},
		{"admin", colleague(auth.RoleAdmin), plain, "", true},
		{"admin, of anonymous", colleague(auth.RoleAdmin), plain.OfAnonymous(), theirs, false},
		{"admin without a tenant, of anonymous", auth.Principal{Subject: "root", Roles: []string{auth.RoleAdmin}}, plain.OfAnonymous(), theirs, false},
		{"approver of another tenant", auth.Principal{Tenant: "other", Subject: "a", Roles: auth.Roles()}, plain, "", false},
		{"approver without a tenant", auth.Principal{Subject: "a", Roles: []string{auth.RoleApprover}}, plain, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			page, err := tc.in.List(w.ctx(), tc.by, engine.ApprovalQuery{})
			if tc.denied {
				wantDenied(t, err)
				for _, id := range []string{mine, theirs, "nothing"} {
					_, err := tc.in.Get(w.ctx(), tc.by, id)
					wantDenied(t, err)
					wantDenied(t, tc.in.Decide(w.ctx(), tc.by, approval.Answer{ID: id, Verb: approval.Approve}))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range page.Approvals {
				got = append(got, a.ID)
			}
			if want := slices.DeleteFunc([]string{tc.sees}, func(s string) bool { return s == "" }); !slices.Equal(got, want) {
				t.Errorf("List() = %v, want %v", got, want)
			}
			for _, id := range []string{mine, theirs} {
				_, err := tc.in.Get(w.ctx(), tc.by, id)
				var unknown *approval.Error
				if seen := err == nil; seen != (id == tc.sees) || !seen && (!errors.As(err, &unknown) || unknown.Reason != approval.ReasonUnknown) {
					t.Errorf("Get(%s) = %v", id, err)
				}
			}
		})
	}
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	if _, denied := errors.AsType[*auth.DeniedError](err); !denied {
		t.Errorf("error = %v, want a *DeniedError", err)
	}
}

// Whoever may cancel in the tenant does, and gets the task.
func TestCancelInScope(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg = engine.Config{}
	w.start()
	id := mustID(w.ask(alice, 1))
	for _, roles := range [][]string{nil, {auth.RoleRequester}, {auth.RoleViewer}, {auth.RoleApprover}, {auth.RoleAdmin}} {
		if err := w.engine.Cancel(w.ctx(), colleague(roles...), id); !errors.Is(err, task.ErrTaskNotFound) {
			t.Errorf("Cancel() of %v = %v, want not found", roles, err)
		}
	}
	a := w.engine.Answer(colleague(auth.RoleOperator))
	defer a.Release()
	v, err := a.Cancel(w.ctx(), id)
	if err != nil || !v.State().Terminal() {
		t.Fatalf("Cancel() of an operator = %v, %v", v, err)
	}
	if v, err := a.Get(w.ctx(), id.String()); err != nil || !v.State().Terminal() {
		t.Errorf("Get() = %v, %v", v, err)
	}
}
