package condition

import (
	"errors"
	"maps"

	"a2a-server/auth"
)

// errSlow says that the time for a call is over.
var errSlow = errors.New("it takes too long")

// Facts are the call that conditions are about, and their time: once it is over, a condition
// fails. The facts of a call are for one goroutine.
type Facts struct {
	variables map[string]any
	clock     *clock
}

// NewFacts returns the facts of a call of a tool by an agent for a requester. args are JSON as
// package strictjson decodes it, and are not changed. over reports whether the time for all
// conditions about the call is over.
func NewFacts(args map[string]any, tool, agent string, requester auth.Principal, over func() bool) *Facts {
	if args == nil {
		args = map[string]any{}
	}
	c := &clock{over: over}
	return &Facts{map[string]any{
		"args": args, "tool": tool, "agent": agent, clockName: c,
		"caller.subject": requester.Subject, "caller.tenant": requester.Tenant, "caller.roles": requester.Roles, "caller.chain": requester.Chain,
	}, c}
}

// For returns the facts of the same call with a decider, for [CompileDecider]. They share the time of f.
func (f *Facts) For(decider auth.Principal) *Facts {
	all := maps.Clone(f.variables)
	all["decider.subject"], all["decider.tenant"], all["decider.roles"] = decider.Subject, decider.Tenant, decider.Roles
	return &Facts{all, f.clock}
}
