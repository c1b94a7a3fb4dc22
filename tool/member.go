package tool

import (
	"errors"
	"slices"

	"a2a-server/tool/agent"
)

// Member is a toolset of a [Registry].
type Member struct {
	registry *Registry
	set      Toolset
	name     string
	cache    cache[sliceKey, *index]
}

// Members returns the toolsets of r, in their order, for callers that list them separately:
// concurrently, or without toolsets that hang.
func (r *Registry) Members() []*Member { return slices.Clone(r.sets) }

// Name returns the name of the toolset.
func (m *Member) Name() string { return m.name }

// Entries returns the tools of the toolset that ctx may use. If the toolset fails or panics,
// it returns nil and an error. It leaves out tools with a bad schema, and tools that share a
// name: it then returns the rest, which is not nil, and an error.
func (m *Member) Entries(ctx agent.ReadonlyContext) ([]*Registered, error) {
	i, err := m.registry.ask(m, ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	entries := make([]*Registered, 0, len(i.found))
	for j := range i.found {
		f := &i.found[j]
		e, err := f.resolve(m.registry.definitions)
		if i.twice[f.name] {
			e, err = nil, collision(f, f)
			if i.byName[f.name] != f {
				continue // it was said of the first
			}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries = append(entries, e)
	}
	return entries, errors.Join(errs...)
}

// JoinEntries returns the tools of several toolsets, in this order, without tools that share a
// name; the error names their toolsets.
func JoinEntries(lists ...[]*Registered) ([]*Registered, error) {
	all := slices.Concat(lists...)
	first, twice := make(map[string]*Registered, len(all)), map[string]bool{}
	var errs []error
	for _, e := range all {
		name := e.Definition.Name
		switch other := first[name]; {
		case other == nil:
			first[name] = e
		case !twice[name]:
			twice[name] = true
			errs = append(errs, collision(&found{name: name, toolset: other.Toolset}, &found{toolset: e.Toolset}))
		}
	}
	return slices.DeleteFunc(all, func(e *Registered) bool { return twice[e.Definition.Name] }), errors.Join(errs...)
}
