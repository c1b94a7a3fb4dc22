package approval

import (
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Considered is what a gate says about a call.
type Considered struct {
	Gate    int // in [Policy.Gates]; -1: the tool's own gate
	Action  Action
	Applies bool
	Why     string // in words
}

// Explain is [Policy.Judge], and returns what each gate about the tool says: first the gates
// with its exact name, then the others, then the tool's own gate.
func (p *Policy) Explain(ctx agent.ReadonlyContext, t tool.Tool, args map[string]any) (Verdict, []Considered) {
	var all []Considered
	v := p.judge(ctx, t, args, func(c Considered) { all = append(all, c) })
	return v, all
}

// explain tells the observer of j about a gate.
func (j *judgement) explain(g *gate, applies bool, why string) {
	if j.tell != nil {
		j.tell(Considered{Gate: g.at, Action: g.action, Applies: applies, Why: why})
	}
}
