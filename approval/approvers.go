package approval

import (
	"slices"

	"a2a-server/auth"
)

// Approvers are those whom a rule lets answer: whoever has one of the roles, and whoever is
// one of the subjects.
type Approvers struct {
	Roles    []string `json:"roles,omitempty"`
	Subjects []string `json:"subjects,omitempty"` // as authenticated, such as "corp:alice"
}

// Include reports whether p is one of the approvers. Without a rule (nil), everybody is; of
// an empty one, nobody.
func (s *Approvers) Include(p auth.Principal) bool {
	return s == nil || slices.ContainsFunc(s.Roles, p.Has) || slices.Contains(s.Subjects, p.Subject)
}

// clone returns a copy that shares nothing with s.
func (s *Approvers) clone() *Approvers {
	if s == nil {
		return nil
	}
	return &Approvers{slices.Clone(s.Roles), slices.Clone(s.Subjects)}
}

// problem says what is wrong with s, or "".
func (s *Approvers) problem() string {
	switch {
	case s == nil:
		return ""
	case len(s.Roles)+len(s.Subjects) == 0:
		return "Approvers names nobody: name a role or a subject, or leave it out"
	case slices.Contains(s.Roles, "") || slices.Contains(s.Subjects, ""):
		return "Approvers has an empty name: remove it"
	}
	return ""
}
