package tool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"a2a-server/internal/guard"
	"a2a-server/tool/agent"
)

// ErrUnknownTool means that the caller has no tool of that name.
var ErrUnknownTool = errors.New("there is no such tool")

// Registered is a tool with everything needed to check calls of it. It is shared and must not
// be changed.
type Registered struct {
	Tool       Tool
	Toolset    string // name of the toolset that it comes from
	Definition Definition
	// Digest is the digest of the definition (see the function [Digest]); for an [Identified]
	// tool, it covers the identity, too. An approval is valid only for the digest that it was
	// given for.
	Digest string
	Schema *Schema // of the arguments
}

// Registry holds all the tools of an agent, from several toolsets. It is safe for concurrent
// use.
//
// A toolset is called each time, because its tools may depend on the caller; as long as it returns
// the same slice, the tools resolved from it are reused, and definitions that it returns unchanged
// are not compiled again. So a toolset from [NewToolset] is resolved once.
type Registry struct {
	sets        []*Member
	definitions *definitions
	lists       cache[string, *list] // by their indexes
	indexes     atomic.Uint64        // made so far
}

// list is the result of [Registry.Tools] if every toolset answers.
type list struct {
	tools []Tool
	err   error
}

// NewRegistry returns a registry of the tools of sets, in this order. If something is
// wrong with a set, Tools and Lookup return an error. NewRegistry panics if a set is nil.
func NewRegistry(sets ...Toolset) *Registry {
	r := &Registry{definitions: &definitions{}}
	for i, s := range sets {
		if s == nil {
			panic(fmt.Sprintf("tool.NewRegistry: toolset %d is nil", i))
		}
		r.sets = append(r.sets, &Member{registry: r, set: s, name: s.Name()})
	}
	_, _ = r.Static() // Many schemas take longer to compile than a list of tools may take. Tools returns the error.
	return r
}

// Dynamic reports whether there may be more tools than Tools returns without a context,
// because the tools of a toolset may depend on the caller.
func (r *Registry) Dynamic() bool {
	return slices.ContainsFunc(r.sets, func(m *Member) bool { return !isStatic(m.set) })
}

// Tools returns the tools that ctx may use, in the order of the toolsets. If two tools
// have the same name, it returns an error that names both toolsets, and no tools. It
// leaves out a toolset that fails or panics, and a tool with a bad schema: it then
// returns the other tools, which can be used, together with an error. The slice may be
// shared and must not be changed; appending to it is fine.
func (r *Registry) Tools(ctx agent.ReadonlyContext) ([]Tool, error) { return r.list(ctx, r.sets) }

// Static returns the tools that do not depend on the caller. The error has
// their problems, and stays the same.
func (r *Registry) Static() ([]Tool, error) {
	return r.list(nil, slices.DeleteFunc(slices.Clone(r.sets), func(m *Member) bool { return !isStatic(m.set) }))
}

// list returns the tools of sets.
func (r *Registry) list(ctx agent.ReadonlyContext, sets []*Member) ([]Tool, error) {
	var errs []error
	var known [8]*index
	var buffer [64]byte
	indexes, key := known[:0], buffer[:0]
	for _, m := range sets {
		i, err := r.ask(m, ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		indexes = append(indexes, i)
		key = binary.AppendUvarint(key, i.id)
	}
	all, ok := r.lists.load(string(key))
	if !ok {
		all = r.join(indexes)
		all = r.lists.store(string(key), len(all.tools), all)
	}
	if len(errs) == 0 {
		return all.tools, all.err
	}
	return all.tools, errors.Join(append(errs, all.err)...)
}

// join returns the tools of all indexes.
func (r *Registry) join(indexes []*index) *list {
	all := &list{}
	var errs []error
	seen := map[string]*found{}
	for _, i := range indexes {
		for j := range i.found {
			f := &i.found[j]
			if first := seen[f.name]; first != nil {
				return &list{err: collision(first, f)}
			}
			seen[f.name] = f
			if _, err := f.resolve(r.definitions); err != nil {
				errs = append(errs, err)
				continue
			}
			all.tools = append(all.tools, f.tool)
		}
	}
	all.tools, all.err = slices.Clip(all.tools), errors.Join(errs...)
	return all
}

// Lookup returns the tool of that name if ctx may use it, else [ErrUnknownTool]. If two tools
// share the name, or its schema is invalid, the error names the toolsets. A toolset that fails
// causes an error only if no other has the tool.
func (r *Registry) Lookup(ctx agent.ReadonlyContext, name string) (*Registered, error) {
	var hit *found
	var errs []error
	for _, m := range r.sets {
		i, err := r.ask(m, ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		f := i.byName[name]
		switch {
		case f == nil:
		case hit != nil:
			return nil, collision(hit, f)
		case i.twice[name]:
			return nil, collision(f, f)
		default:
			hit = f
		}
	}
	if hit == nil {
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("look up tool %q: %w", name, err)
		}
		return nil, fmt.Errorf("tool %q: %w", name, ErrUnknownTool)
	}
	return hit.resolve(r.definitions)
}

// ask calls the toolset. A panic in it, or in a tool's Name, is an error; so is a tool
// without a name.
func (r *Registry) ask(m *Member, ctx agent.ReadonlyContext) (_ *index, err error) {
	defer guard.Recover(&err, fmt.Sprintf("toolset %q panicked", m.name))
	tools, err := m.set.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("toolset %q: %w", m.name, err)
	}
	if i, ok := m.cache.load(keyOf(tools)); ok {
		return i, nil
	}
	i, err := newIndex(m.name, tools)
	if err != nil {
		return nil, err
	}
	i.id = r.indexes.Add(1)
	return m.cache.store(keyOf(tools), len(tools), i), nil
}
