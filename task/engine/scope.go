package engine

import (
	"a2a-server/auth"
	"a2a-server/store"
)

// ScopeFor returns the scope in which a principal may do an action: its whole tenant, or its
// own resources. It is the only way from a principal to the resources it may use. A read in a
// scope costs the same for a foreign task and a missing task. It is the zero scope, which
// contains nothing, if the principal is invalid or may not do the action.
func ScopeFor(p auth.Principal, a auth.Action) store.Scope {
	switch {
	case p.IsZero() || p.May(a) != nil || p.Validate() != nil:
		return store.Scope{}
	case p.Whole(a):
		return store.Tenant(p.Tenant)
	}
	return ownerOf(p)
}

// SameScope reports whether two principals may do an action with the same objects.
func SameScope(p, q auth.Principal, a auth.Action) bool { return ScopeFor(p, a) == ScopeFor(q, a) }

// scopeIn returns ScopeFor, or if anonymous is set, the scope of resources created without
// authentication. Their creator is unknown, so every action on them takes [auth.Admin].
func scopeIn(p auth.Principal, a auth.Action, anonymous bool) store.Scope {
	switch {
	case !anonymous:
		return ScopeFor(p, a)
	case ScopeFor(p, auth.Admin) == (store.Scope{}):
		return store.Scope{}
	}
	return ownerOf(auth.Anonymous())
}

// ownerOf returns the owner of the resources that a principal creates, which is charged for
// its usage too. It gives no right to anything: see [ScopeFor].
func ownerOf(p auth.Principal) store.Scope { return store.Owner(p.Tenant, p.Subject) }
