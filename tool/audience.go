package tool

import (
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

// includes reports whether the caller that ctx identifies is in the audience. Without a
// context there is no caller.
func (a *Audience) includes(ctx agent.ReadonlyContext) bool {
	if ctx == nil {
		return false
	}
	if slices.ContainsFunc(ctx.Roles(), func(role string) bool { return slices.Contains(a.Roles, role) }) {
		return true
	}
	user, tenant := ctx.UserID(), ctx.Tenant()
	return user != "" && (slices.Contains(a.Callers, user) || tenant != "" && slices.Contains(a.Callers, tenant+"/"+user))
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
	if !r.audience.includes(ctx) {
		return nil, nil
	}
	return r.Toolset.Tools(ctx)
}
