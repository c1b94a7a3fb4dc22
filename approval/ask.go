package approval

import (
	"errors"

	"a2a-server/tool"
)

// Ask returns the verdict that asks about a call though no gate does, because
// something that the policy does not know of went wrong: what says it.
func (p *Policy) Ask(t tool.Tool, args map[string]any, what string) Verdict {
	j := judgement{policy: p, tool: t, args: args, name: t.Name(), toolAsks: true}
	j.problem("a check before the policy", errors.New(what))
	v := j.ask()
	v.Terms.Destructive = true // nobody knows what the check would have said, so text is no answer
	return v
}

// AskTerms returns the terms of what a running tool asks by itself.
func (p *Policy) AskTerms() Terms {
	terms := withDefaults(Terms{}, p.defaults)
	terms.Rule = RuleTool
	return terms
}
