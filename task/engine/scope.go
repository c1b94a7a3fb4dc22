package engine

import (
	"a2a-server/auth"
	"a2a-server/store"
)

// ScopeFor returns the scope in which a principal may do an action: what its whole tenant
// owns, or what it owns itself. It is the only way from a principal to what it may touch.
// As it is one scope, a read in it costs the same whether a task is somebody else's or does
// not exist. It is the zero scope, which contains nothing, if the principal is invalid or
// may not do the action.
func ScopeFor(p auth.Principal, a auth.Action) store.Scope {
	switch {
	case p.IsZero() || p.May(a) != nil || p.Validate() != nil:
		return store.Scope{}
	case p.Whole(a):
		return store.Tenant(p.Tenant)
	}
	return ownerOf(p)
}

// scopeIn returns ScopeFor, or if anonymous is set, the scope of what was made without
// authentication. Whatever the action, that takes [auth.Admin]: nobody knows who made it.
func scopeIn(p auth.Principal, a auth.Action, anonymous bool) store.Scope {
	switch {
	case !anonymous:
		return ScopeFor(p, a)
	case ScopeFor(p, auth.Admin) == (store.Scope{}):
		return store.Scope{}
	}
	return ownerOf(auth.Anonymous())
}

// ownerOf returns the owner of what a principal creates, to whom the use of resources is
// charged too. It gives no right to anything: see [ScopeFor].
func ownerOf(p auth.Principal) store.Scope { return store.Owner(p.Tenant, p.Subject) }
