package tool

import (
	"slices"

	"a2a-server/tool/agent"
)

// Predicate reports whether a tool is available to the caller that ctx identifies. It is
// safe for concurrent use.
type Predicate func(ctx agent.ReadonlyContext, tool Tool) bool

// AllowAll returns a predicate that allows every tool.
func AllowAll() Predicate { return func(agent.ReadonlyContext, Tool) bool { return true } }

// DenyAll returns a predicate that allows no tool.
func DenyAll() Predicate { return func(agent.ReadonlyContext, Tool) bool { return false } }

// StringPredicate returns a predicate that allows the tools of these names.
func StringPredicate(allowedTools []string) Predicate {
	names := slices.Clone(allowedTools)
	return func(_ agent.ReadonlyContext, t Tool) bool { return slices.Contains(names, t.Name()) }
}

// Combine returns a predicate that allows the tools that all of predicates allow; without any,
// it allows everything.
func Combine(predicates ...Predicate) Predicate {
	ps := slices.Clone(predicates)
	return func(ctx agent.ReadonlyContext, t Tool) bool {
		return !slices.ContainsFunc(ps, func(p Predicate) bool { return !p(ctx, t) })
	}
}

// Or returns a predicate that allows the tools that at least one of predicates allows; without
// any, it allows nothing.
func Or(predicates ...Predicate) Predicate {
	ps := slices.Clone(predicates)
	return func(ctx agent.ReadonlyContext, t Tool) bool {
		return slices.ContainsFunc(ps, func(p Predicate) bool { return p(ctx, t) })
	}
}

// Not returns a predicate that allows the tools that p does not.
func Not(p Predicate) Predicate {
	return func(ctx agent.ReadonlyContext, t Tool) bool { return !p(ctx, t) }
}
