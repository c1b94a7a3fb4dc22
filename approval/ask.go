package approval

import (
	"errors"

	"a2a-server/tool"
)

// Ask returns a verdict that asks about a call although no gate does. what, unless it is empty,
// describes a component outside the policy that has failed. Like Judge it never panics.
func (p *Policy) Ask(t tool.Tool, args map[string]any, what string) (v Verdict) {
	j := judgement{policy: p, tool: t, args: args, toolAsks: true}
	defer func() {
		if r := recover(); r != nil {
			v = j.broken(r)
		}
	}()
	j.name = t.Name()
	if p == nil {
		return j.broken("there is no policy; and before that: " + what)
	}
	j.mask, j.keeps = p.Mask(j.name)
	if what == "" {
		v = j.ask()
		v.Terms.Gate = GateDefault
		return v
	}
	j.problem("a check before the policy", errors.New(what))
	v = j.ask()
	v.Terms.Destructive = true // the result of the check is unknown, so a keyword must not approve
	return v
}

// AskTerms returns the terms of a question that a running tool asks.
func (p *Policy) AskTerms() Terms {
	terms := together(nil, true /* own */, p.defaults)
	terms.Gate = GateTool
	return terms
}

// Heeds reports whether the gate that a tool itself declares counts: see [PolicyConfig.IgnoreDeclared].
func (p *Policy) Heeds(t tool.Tool) bool {
	return p == nil || !p.ignoreDeclared || tool.IsDecision(t)
}

// Always reports whether every call of t needs approval, whatever its arguments are. It is for
// lists of tools; for a single call, use Judge. Like Judge it never panics.
func (p *Policy) Always(t tool.Tool) (always bool) {
	defer func() { always = recover() != nil || always }()
	if p == nil {
		return true
	}
	ownGate := p.Heeds(t)
	exact, others := p.index.of(t.Name())
	for _, g := range exact {
		if g.Conditional() {
			continue
		}
		always = always || g.Action == ActionAsk
		ownGate = ownGate && g.Action != ActionAllow
	}
	for _, g := range others {
		always = always || !g.Conditional() && g.Action == ActionAsk
	}
	if ownGate {
		for t := range tool.Chain(t) {
			always = always || t.RequiresApproval()
		}
	}
	return always
}
