package approval

import (
	"encoding/json"
	"slices"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/tool"
)

// factsOf returns the facts of a call for its conditions, which have judgeTime from now on.
func factsOf(args map[string]any, name, agent string, requester auth.Principal) *condition.Facts {
	end := time.Now().Add(judgeTime)
	return condition.NewFacts(args, name, agent, requester, func() bool { return time.Now().After(end) })
}

// facts returns the call of a, with these arguments, for the conditions on its deciders. It is nil
// if the terms have none, or the arguments cannot be read.
func (a *Approval) facts(args json.RawMessage) *condition.Facts {
	if !a.Terms.conditional() {
		return nil
	}
	decoded, err := tool.DecodeArgs(args)
	if err != nil {
		return nil
	}
	return factsOf(decoded, a.Tool, a.Agent, a.Requester)
}

// conditional reports whether the terms have a condition on deciders.
func (t *Terms) conditional() bool {
	has := func(s *Approvers) bool { return s != nil && s.When != "" }
	return has(t.Approvers) || slices.ContainsFunc(t.Needs, func(n Need) bool { return has(n.Approvers) })
}

// holds reports whether the condition of s is true for a decider about a call.
func (s *Approvers) holds(by auth.Principal, call *condition.Facts) bool {
	if s == nil || s.When == "" {
		return true
	}
	c, err := condition.CompileDecider(s.When)
	if err != nil || call == nil {
		return false
	}
	is, err := safely(func() (bool, error) { return c.Match(call.For(by)) })
	return is && err == nil
}

// DecidableBy reports whether a grant of this decider may cover c, whose arguments may differ from
// those of the approved call: the condition on deciders is true, with the roles of then.
func (c *GrantedCall) DecidableBy(by auth.Principal) bool {
	return c.Verdict.Terms.Approvers.holds(by, factsOf(c.Args, c.Tool, c.Agent, c.Requester))
}
