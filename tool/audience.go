package tool

import (
	"encoding/binary"
	"slices"

	"a2a-server/tool/agent"
)

// An Audience says which callers may use tools: callers with one of the roles, and the callers
// listed. The zero Audience is empty.
type Audience struct {
	Roles []string
	// Callers are authenticated principals: user, as [agent.ReadonlyContext].UserID names
	// them, in any tenant, or tenant/user. The anonymous caller never matches.
	Callers []string
}

// Includes reports whether the caller that ctx identifies is in the audience. Without a
// context there is no caller.
func (a *Audience) Includes(ctx agent.ReadonlyContext) bool {
	if ctx == nil {
		return false
	}
	for _, role := range ctx.Roles() {
		if slices.Contains(a.Roles, role) {
			return true
		}
	}
	user := ctx.UserID()
	if user == "" || len(a.Callers) == 0 {
		return false
	}
	tenant := ctx.Tenant()
	return slices.Contains(a.Callers, user) || tenant != "" && slices.Contains(a.Callers, tenant+"/"+user)
}

// For returns a toolset that has the tools of ts for the callers of a, and none for other
// callers. ts is asked only for them. The tools themselves are not changed.
func For(ts Toolset, a Audience) Toolset {
	return &reserved{Toolset: ts, audience: Audience{slices.Clone(a.Roles), slices.Clone(a.Callers)}}
}

type reserved struct {
	Toolset
	audience Audience
}

func (r *reserved) Tools(ctx agent.ReadonlyContext) ([]Tool, error) {
	if !r.audience.Includes(ctx) {
		return nil, nil
	}
	return r.Toolset.Tools(ctx)
}

// RolePredicate reports whether a caller with these roles may use a tool. Its answer
// depends on nothing else, and roles must not be changed. It is safe for concurrent use.
type RolePredicate func(roles []string, t Tool) bool

// FilterRoles returns a toolset with the tools of ts that p allows. It is [Filter] for
// predicates that depend only on roles: p is called once for each tool and list of roles, and
// the same slice is returned for both as long as ts returns the same slice.
func FilterRoles(ts Toolset, p RolePredicate) Toolset { return &filteredByRoles{Toolset: ts, allow: p} }

type filteredByRoles struct {
	Toolset
	allow RolePredicate
	cache sliceCache[*textCache[[]Tool]]
}

func (f *filteredByRoles) Tools(ctx agent.ReadonlyContext) ([]Tool, error) {
	all, err := f.Toolset.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var roles []string
	if ctx != nil {
		roles = ctx.Roles()
	}
	var buffer [256]byte
	key := buffer[:0]
	for _, role := range roles {
		key = append(binary.AppendUvarint(key, uint64(len(role))), role...)
	}
	byRoles, ok := f.cache.load(all)
	if !ok {
		byRoles = f.cache.store(all, &textCache[[]Tool]{})
	}
	if allowed, ok := byRoles.load(key); ok {
		return allowed, nil
	}
	allowed, err := f.filter(roles, all)
	if err != nil {
		return nil, err
	}
	return byRoles.store(key, len(allowed), allowed), nil
}

func (f *filteredByRoles) filter(roles []string, all []Tool) (allowed []Tool, err error) {
	defer recovered(&err, "the predicate of toolset", f.Name())
	for _, t := range all {
		if f.allow(roles, t) {
			allowed = append(allowed, t)
		}
	}
	return slices.Clip(allowed), nil
}
