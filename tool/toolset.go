package tool

import (
	"fmt"
	"slices"

	"a2a-server/internal/guard"
	"a2a-server/tool/agent"
)

// A Toolset is a named group of tools. Which tools it has may depend on the caller. It is
// safe for concurrent use.
type Toolset interface {
	// Name is the name of the toolset, for messages to people.
	Name() string
	// Tools returns the tools that ctx may use, in a stable order. Neither its callers nor the
	// toolset may change the slice, ever: a [Registry] caches by a slice's address and length.
	// So return the same slice as long as the tools are the same, and another slice when they
	// are not.
	Tools(ctx agent.ReadonlyContext) ([]Tool, error)
}

// NewToolset returns a toolset that always has exactly these tools. It is static:
// a [Registry] resolves it once.
func NewToolset(name string, tools ...Tool) Toolset {
	return &static{name: name, tools: slices.Clone(tools)}
}

type static struct {
	name  string
	tools []Tool
}

func (s *static) Name() string                                { return s.name }
func (s *static) Tools(agent.ReadonlyContext) ([]Tool, error) { return s.tools, nil }
func (s *static) isStatic() bool                              { return true }

// isStatic reports whether ts always has the same tools, whatever the context. Only
// toolsets of this package can say so.
func isStatic(ts Toolset) bool {
	s, ok := ts.(interface{ isStatic() bool })
	return ok && s.isStatic()
}

// Filter returns a toolset with the tools of ts that p allows. p is called each time,
// because its answer may depend on the context; [For] is faster. If p panics, Tools returns an error and no tools.
func Filter(ts Toolset, p Predicate) Toolset { return &filtered{Toolset: ts, allow: p} }

type filtered struct {
	Toolset
	allow Predicate
}

func (f *filtered) Tools(ctx agent.ReadonlyContext) (_ []Tool, err error) {
	all, err := f.Toolset.Tools(ctx)
	if err != nil {
		return nil, err
	}
	defer guard.Recover(&err, fmt.Sprintf("the predicate of toolset %q panicked", f.Name()))
	var allowed []Tool
	for _, t := range all {
		if f.allow(ctx, t) {
			allowed = append(allowed, t)
		}
	}
	return allowed, nil
}
