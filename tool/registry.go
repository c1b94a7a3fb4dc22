package tool

import (
	"errors"
	"fmt"
	"slices"

	"a2a-server/tool/agent"
)

// ErrUnknownTool means that the caller has no tool of that name.
var ErrUnknownTool = errors.New("there is no such tool")

// Entry is a tool with everything needed to check calls of it. It is shared and must not
// be changed.
type Entry struct {
	Tool       Tool
	Toolset    string // name of the toolset that it comes from
	Definition Definition
	// Digest is the hexadecimal SHA-256 of the RFC 8785 form of name, description and
	// parameters. An approval is valid only for the definition with the digest that it
	// was given for.
	Digest string
	Schema *Schema // of the arguments
}

// Registry holds all the tools of an agent, from several toolsets. It is safe for
// concurrent use.
//
// A toolset from [NewToolset], with or without confirmations added, is resolved once. Any
// other is called each time, because its tools may depend on the caller; definitions that
// it returns unchanged are not compiled again.
type Registry struct {
	sets   []*member
	static map[string]*found // tools of static toolsets, by name
	cache  *definitions
	// dynamic reports whether any toolset has to be called each time. If not, Tools
	// returns all and allErr to every caller.
	dynamic bool
	all     []Tool
	allErr  error
}

// member is a toolset in a registry.
type member struct {
	set    Toolset
	name   string
	static bool
	// Of a static toolset:
	found []*found
	err   error
}

// found is a tool, or the reason why it cannot be used.
type found struct {
	name, toolset string
	tool          Tool
	entry         *Entry
	err           error
}

// NewRegistry returns a registry of the tools of sets, in this order. If something is
// wrong with a set, Tools and Lookup return an error. NewRegistry panics if a set is nil.
func NewRegistry(sets ...Toolset) *Registry {
	r := &Registry{static: map[string]*found{}, cache: newDefinitions()}
	for i, s := range sets {
		if s == nil {
			panic(fmt.Sprintf("tool.NewRegistry: toolset %d is nil", i))
		}
		m := &member{set: s, name: s.Name(), static: isStatic(s)}
		r.sets = append(r.sets, m)
		if !m.static {
			r.dynamic = true
			continue
		}
		m.found, m.err = m.ask(nil)
		for _, f := range m.found {
			r.resolve(f)
			if first := r.static[f.name]; first != nil {
				first.err = collision(first, f)
				continue
			}
			r.static[f.name] = f
		}
	}
	if !r.dynamic {
		r.all, r.allErr = r.list(nil)
	}
	return r
}

// Dynamic reports whether there may be more tools than Tools returns without a context,
// because a toolset has to be called each time.
func (r *Registry) Dynamic() bool { return r.dynamic }

// Tools returns the tools that ctx may use, in the order of the toolsets. If two tools
// have the same name, it returns an error that names both toolsets, and no tools. It
// leaves out a toolset that fails or panics, and a tool with a bad schema: it then
// returns the other tools, which can be used, together with an error. The slice may be
// shared and must not be changed; appending to it is fine.
func (r *Registry) Tools(ctx agent.ReadonlyContext) ([]Tool, error) {
	if !r.dynamic {
		return slices.Clip(r.all), r.allErr
	}
	return r.list(ctx)
}

func (r *Registry) list(ctx agent.ReadonlyContext) ([]Tool, error) {
	var tools []Tool
	var errs []error
	seen := map[string]*found{}
	for _, m := range r.sets {
		all, err := m.tools(ctx)
		if err != nil {
			errs = append(errs, err)
		}
		for _, f := range all {
			if first := seen[f.name]; first != nil {
				return nil, collision(first, f)
			}
			seen[f.name] = f
			if f.entry == nil {
				r.resolve(f)
			}
			if f.err != nil {
				errs = append(errs, f.err)
				continue
			}
			tools = append(tools, f.tool)
		}
	}
	return tools, errors.Join(errs...)
}

// Lookup returns the tool of that name if ctx may use it, else [ErrUnknownTool]. If two
// tools share the name, or its schema is invalid, the error names the toolsets. A toolset
// that fails causes an error only if no other one has the tool.
func (r *Registry) Lookup(ctx agent.ReadonlyContext, name string) (*Entry, error) {
	hit := r.static[name]
	if hit != nil && (hit.err != nil || !r.dynamic) {
		return hit.entry, hit.err
	}
	var errs []error
	for _, m := range r.sets {
		if m.static {
			errs = append(errs, m.err)
			continue
		}
		all, err := m.tools(ctx)
		errs = append(errs, err)
		for _, f := range all {
			if f.name != name {
				continue
			}
			if hit != nil {
				return nil, collision(hit, f)
			}
			hit = f
		}
	}
	if hit == nil {
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("look up tool %q: %w", name, err)
		}
		return nil, fmt.Errorf("tool %q: %w", name, ErrUnknownTool)
	}
	if hit.entry == nil {
		r.resolve(hit)
	}
	return hit.entry, hit.err
}

func collision(a, b *found) error {
	if a.toolset == b.toolset {
		return fmt.Errorf("toolset %q has two tools called %q; rename one, or leave it out", a.toolset, a.name)
	}
	return fmt.Errorf("toolsets %q and %q both have a tool called %q; rename one, or leave it out", a.toolset, b.toolset, a.name)
}

// tools returns what the toolset has for ctx.
func (m *member) tools(ctx agent.ReadonlyContext) ([]*found, error) {
	if m.static {
		return m.found, m.err
	}
	return m.ask(ctx)
}

// ask calls the toolset. A panic in it, or in a tool's Name, is an error; so is a tool
// without a name.
func (m *member) ask(ctx agent.ReadonlyContext) (_ []*found, err error) {
	defer recovered(&err, "toolset %q", m.name)
	tools, err := m.set.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("toolset %q: %w", m.name, err)
	}
	all := make([]*found, len(tools))
	for i, t := range tools {
		if t == nil {
			return nil, fmt.Errorf("toolset %q: tool %d is nil", m.name, i)
		}
		all[i] = &found{name: t.Name(), toolset: m.name, tool: t}
		if all[i].name == "" {
			return nil, fmt.Errorf("toolset %q: tool %d has no name", m.name, i)
		}
	}
	return all, nil
}

// resolve sets f.entry or f.err.
func (r *Registry) resolve(f *found) {
	d, err := r.cache.of(f.tool)
	if err != nil {
		f.err = fmt.Errorf("toolset %q: tool %q: %w", f.toolset, f.name, err)
		return
	}
	f.entry = &Entry{Tool: f.tool, Toolset: f.toolset, Definition: d.Definition, Digest: d.digest, Schema: d.schema}
}
