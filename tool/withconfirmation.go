package tool

import (
	"fmt"
	"slices"
	"strings"

	"a2a-server/tool/agent"
)

// A ConfirmationOption says which tools [WithConfirmation] gates, and when. Options are
// cumulative: a call has to be approved if any of them says so.
type ConfirmationOption func(*confirmation)

type confirmation struct {
	names    []string // that there have to be
	matching []func(name string) bool
	gates    []GateFunc
	hints    []HintFunc
}

// ConfirmAll gates every call of every tool. It is the default of WithConfirmation.
func ConfirmAll() ConfirmationOption {
	return ConfirmMatching(func(string) bool { return true })
}

// ConfirmNone gates nothing. Gates that the tools themselves declare still apply.
func ConfirmNone() ConfirmationOption { return func(*confirmation) {} }

// ConfirmNamed gates every call of the tools of these names. If the toolset is static and
// lacks any of them, its Tools returns an error: a misspelled name must not leave a tool
// without its gate.
func ConfirmNamed(names ...string) ConfirmationOption {
	names = slices.Clone(names)
	return func(c *confirmation) {
		c.names = append(c.names, names...)
		c.matching = append(c.matching, func(name string) bool { return slices.Contains(names, name) })
	}
}

// ConfirmMatching gates every call of the tools with names that match. A nil match matches
// all.
func ConfirmMatching(match func(name string) bool) ConfirmationOption {
	if match == nil {
		return ConfirmAll()
	}
	return func(c *confirmation) { c.matching = append(c.matching, match) }
}

// ConfirmWhen makes gate decide on each call of every tool. A nil gate requires approval every
// time, as does a gate that fails.
func ConfirmWhen(gate GateFunc) ConfirmationOption {
	if gate == nil {
		return ConfirmAll()
	}
	return func(c *confirmation) { c.gates = append(c.gates, gate) }
}

// ConfirmHint adds a text to the question about each gated call; see [Hinter]. It gates nothing.
func ConfirmHint(hint HintFunc) ConfirmationOption {
	return func(c *confirmation) { c.hints = append(c.hints, hint) }
}

// WithConfirmation returns a toolset with the tools of ts that requires approval: of all
// calls, or of the calls that opts select. It gates tools of every kind; use [As] to find
// their abilities. The tools themselves are not changed. It never removes a gate.
func WithConfirmation(ts Toolset, opts ...ConfirmationOption) Toolset {
	c := &confirmed{Toolset: ts}
	if len(opts) == 0 {
		opts = []ConfirmationOption{ConfirmAll()}
	}
	for _, o := range opts {
		o(&c.confirmation)
	}
	return c
}

// confirmed is a toolset of gated tools.
type confirmed struct {
	Toolset
	confirmation

	cache cache[sliceKey, []Tool] // wrapped, by the slice that Toolset returned
}

func (c *confirmed) isStatic() bool { return isStatic(c.Toolset) }

func (c *confirmed) Tools(ctx agent.ReadonlyContext) ([]Tool, error) {
	tools, err := c.Toolset.Tools(ctx)
	if err != nil {
		return nil, err
	}
	if wrapped, ok := c.cache.load(keyOf(tools)); ok {
		return wrapped, nil
	}
	wrapped := make([]Tool, len(tools))
	for i, t := range tools {
		if t == nil {
			continue // the registry reports it
		}
		wrapped[i] = c.wrap(t)
	}
	for _, name := range c.names {
		if c.isStatic() && !slices.ContainsFunc(tools, func(t Tool) bool { return t != nil && t.Name() == name }) {
			return nil, fmt.Errorf("toolset %q has no tool %q to require confirmation for; check its spelling", c.Name(), name)
		}
	}
	return c.cache.store(keyOf(tools), len(tools), wrapped), nil
}

func (c *confirmed) wrap(t Tool) Tool {
	name := t.Name()
	approval := slices.ContainsFunc(c.matching, func(match func(string) bool) bool { return match(name) })
	if !approval && len(c.gates) == 0 {
		return t
	}
	return &gated{Tool: t, approval: approval, gates: c.gates, hints: c.hints}
}

// gated is a tool with additional gates. It runs nothing itself; [As] finds the abilities of
// the wrapped tool.
type gated struct {
	Tool
	approval bool
	gates    []GateFunc
	hints    []HintFunc
}

func (g *gated) Unwrap() Tool           { return g.Tool }
func (g *gated) RequiresApproval() bool { return g.approval || g.Tool.RequiresApproval() }

// HasGate reports whether there are added gates; see [Gater].
func (g *gated) HasGate() bool { return len(g.gates) > 0 }

// Gate implements [Gater] with the added gates; Unwrap leads to the gates of the tool itself.
func (g *gated) Gate(ctx agent.ReadonlyContext, args map[string]any) (ask bool, err error) {
	for _, gate := range g.gates {
		a, err := gate(ctx, args)
		if err != nil {
			return true, err
		}
		ask = ask || a
	}
	return ask, nil
}

// Hint implements [Hinter] with the added texts, a line each.
func (g *gated) Hint(ctx agent.ReadonlyContext, args map[string]any) (string, error) {
	var hints []string
	for _, hint := range g.hints {
		h, err := hint(ctx, args)
		if err != nil {
			return "", err
		}
		if h != "" {
			hints = append(hints, h)
		}
	}
	return strings.Join(hints, "\n"), nil
}
