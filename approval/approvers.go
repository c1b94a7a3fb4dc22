package approval

import (
	"slices"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/internal/guard"
)

// Approvers restricts decisions to principals with a role in Roles or a subject in Subjects, and of
// these to those for whom When is true.
type Approvers struct {
	Roles []string `json:"roles,omitempty" yaml:"roles" fill:"a name, or remove it"`
	// Subjects are authenticated subjects, such as "corp:alice" (in any tenant) or
	// "acme/corp:alice" (in the tenant before the slash).
	Subjects []string `json:"subjects,omitempty" yaml:"subjects" fill:"a name, or remove it"`
	// When is a condition on the decider and the arguments of the call, see
	// [condition.CompileDecider]; "": none. If it fails, it is not true.
	When string `json:"when,omitempty" yaml:"when" as:"decider"`
	// Escalated are the roles that are added when the approval is escalated. A gate does not set
	// it: see [Escalation].
	Escalated []string `json:"escalated,omitempty"`
}

// Include reports whether s includes p as a decider about a call, which only When looks at; without
// facts When is not true. Nil includes every principal, an empty one no principal.
func (s *Approvers) Include(p auth.Principal, call *condition.Facts) bool {
	if s == nil {
		return true
	}
	named := slices.ContainsFunc(s.Roles, p.Has) ||
		slices.Contains(s.Subjects, p.Subject) || p.Tenant != "" && slices.Contains(s.Subjects, p.Tenant+"/"+p.Subject)
	return named && s.holds(p, call)
}

// same reports whether both name the same roles and subjects, now and later, in the same order.
func (s *Approvers) same(o Approvers) bool {
	return slices.Equal(s.Roles, o.Roles) && slices.Equal(s.Subjects, o.Subjects) && slices.Equal(s.Escalated, o.Escalated) && s.When == o.When
}

// clone returns a copy that shares nothing with s.
func (s *Approvers) clone() *Approvers {
	if s == nil {
		return nil
	}
	return &Approvers{Roles: slices.Clone(s.Roles), Subjects: slices.Clone(s.Subjects), When: s.When, Escalated: slices.Clone(s.Escalated)}
}

// problem returns the mistake in s, or "".
func (s *Approvers) problem() string {
	switch {
	case s == nil:
		return ""
	case s.Escalated != nil:
		return "Approvers.Escalated is only for merged terms: set Escalate.AddRoles"
	case len(s.Roles)+len(s.Subjects) == 0:
		return "Approvers is empty: name a role or a subject, or leave it out"
	case slices.Contains(s.Roles, "") || slices.Contains(s.Subjects, ""):
		return "Approvers has an empty name: remove it"
	case s.When != "":
		if _, err := condition.CompileDecider(s.When); err != nil {
			return "Approvers.When: " + err.Error()
		}
	}
	return ""
}

// factsOf returns the facts of a call for its conditions, which have judgeTime from now on.
func factsOf(args map[string]any, name, agent string, requester auth.Principal) *condition.Facts {
	end := time.Now().Add(judgeTime)
	return condition.NewFacts(args, name, agent, requester, func() bool { return time.Now().After(end) })
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
	is, err := guard.Call(func() (bool, error) { return c.Match(call.For(by)) })
	return is && err == nil
}
