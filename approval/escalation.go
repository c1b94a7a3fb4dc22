package approval

import (
	"fmt"
	"slices"
	"time"
)

// An Escalation says who is asked, too, when an approval has been pending for a while. It happens
// once. It adds deciders and changes nothing else: not the call, its digest, the number of people,
// or the way to decide. The zero Escalation does nothing.
type Escalation struct {
	// After is the time after asking, in ns.
	After time.Duration `json:"after" yaml:"after" or:"never" doc:"When others are asked, too, once, after asking."`
	// Notify lists routes that are told, whatever events they take.
	Notify []string `json:"notify,omitempty" yaml:"notify" text:"route" doc:"Routes that are told then, whatever their events are."`
	// AddRoles are the roles whose principals may decide then, beside the approvers that the same
	// gate names. They grant no right to decide, see [auth.Decide]. The approvers of other gates
	// stay as they are: an escalation loosens no other gate.
	AddRoles []string `json:"addRoles,omitempty" yaml:"add_roles" fill:"a name" doc:"Roles that may decide then, beside the gate's approvers, if they have the right."`
}

// clone returns a copy that shares nothing with e.
func (e Escalation) clone() Escalation {
	return Escalation{e.After, slices.Clone(e.Notify), slices.Clone(e.AddRoles)}
}

// IsZero reports whether e is the zero Escalation.
func (e Escalation) IsZero() bool { return e.After == 0 && len(e.Notify)+len(e.AddRoles) == 0 }

// Late returns which of remind and escalate.after never come, because the approval has ended before.
func (t *Terms) Late() (keys []string) {
	if t.Expires <= 0 || t.OnExpiry == ExpiryKeeps {
		return nil
	}
	if t.Remind >= t.Expires {
		keys = append(keys, "remind")
	}
	if t.Escalate.After >= t.Expires {
		keys = append(keys, "escalate.after")
	}
	return keys
}

// timeProblems returns the mistakes in the times of t after which somebody is told.
func (t *Terms) timeProblems() (problems []string) {
	check := func(what string, after time.Duration) {
		if after < time.Millisecond {
			problems = append(problems, fmt.Sprintf("%s %v is less than a millisecond", what, after))
		}
	}
	if t.Remind != 0 {
		check("remind", t.Remind)
	}
	e := t.Escalate
	if e.IsZero() {
		return problems
	}
	check("escalation after", e.After)
	if len(e.Notify)+len(e.AddRoles) == 0 {
		problems = append(problems, "the escalation tells nobody: set Notify or AddRoles")
	}
	for _, name := range e.Notify {
		if err := CheckNotify(name); err != nil {
			problems = append(problems, fmt.Sprintf("the escalation's Notify: %s %v", quote(name), err))
		}
	}
	if slices.Contains(e.AddRoles, "") {
		problems = append(problems, "the escalation's AddRoles has an empty name: remove it")
	}
	return problems
}

// escalation merges the escalations of terms: the earliest counts, and all that have its time are
// one. It takes the roles of the others from their needs in asked, whose places are those of all: an
// escalation widens the approvers of its own gates only.
func escalation(all []Terms, asked [][]Need) (first Escalation) {
	for i := range all {
		first.After = sooner(first.After, all[i].Escalate.After)
	}
	for i := range all {
		if e := all[i].Escalate; e.After == first.After {
			first.Notify, first.AddRoles = Union(first.Notify, e.Notify), Union(first.AddRoles, e.AddRoles)
			continue
		}
		for n := range asked[i] {
			if who := asked[i][n].Approvers.clone(); who != nil {
				who.Escalated = nil
				asked[i][n].Approvers = who
			}
		}
	}
	return first
}

// widened returns s with the roles that an escalation adds.
func (s *Approvers) widened() *Approvers {
	if s == nil || len(s.Escalated) == 0 {
		return s
	}
	return &Approvers{Roles: Union(s.Roles, s.Escalated), Subjects: s.Subjects, When: s.When}
}
