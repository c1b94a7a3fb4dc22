package condition

import (
	"errors"

	"cel.dev/cel-go/cel"

	"a2a-server/auth"
)

// errSlow says that the time for a call is over.
var errSlow = errors.New("it takes too long")

// Facts are the call that conditions are about, and their time: once it is over, a condition
// fails. The facts of a call are for one goroutine.
type Facts struct {
	args        map[string]any
	tool, agent string
	caller      auth.Principal
	decider     auth.Principal // of conditions of CompileDecider
	clock       clock
}

// NewFacts returns the facts of a call of a tool by an agent for a requester. args are JSON as
// package strictjson decodes it, and are not changed. over reports whether the time for all
// conditions about the call is over.
func NewFacts(args map[string]any, tool, agent string, requester auth.Principal, over func() bool) *Facts {
	if args == nil {
		args = map[string]any{}
	}
	return &Facts{args: args, tool: tool, agent: agent, caller: requester, clock: clock{over: over}}
}

// ResolveName returns a variable of conditions.
func (f *Facts) ResolveName(name string) (any, bool) {
	switch name {
	case "args":
		return f.args, true
	case "tool":
		return f.tool, true
	case "agent":
		return f.agent, true
	case "caller.subject":
		return f.caller.Subject, true
	case "caller.tenant":
		return f.caller.Tenant, true
	case "caller.roles":
		return f.caller.Roles, true
	case "caller.chain":
		return f.caller.Chain, true
	case "decider.subject":
		return f.decider.Subject, true
	case "decider.tenant":
		return f.decider.Tenant, true
	case "decider.roles":
		return f.decider.Roles, true
	case clockName:
		return &f.clock, true
	}
	return nil, false
}

// Parent returns nil: no other variables exist.
func (*Facts) Parent() cel.Activation { return nil }
