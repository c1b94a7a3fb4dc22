package approval

import (
	"fmt"
	"slices"
	"strings"

	"a2a-server/internal/visible"
)

// Words returns the terms of a call's approval in words, a line each: which decisions, who may
// decide, until when, and how it is shown.
func (t Terms) Words() []string {
	var all []string
	add := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	add(true, "decisions: %s", join(AllowedDecisions(KindCall, t), ", "))
	if len(t.Needs) > 0 {
		add(true, "votes: %s", listNeeds(t.Needs, "different people"))
	} else if named := t.Approvers.String(); named != "" {
		add(true, "approvers: %s", named)
	}
	add(t.Human, "not a program")
	add(t.FourEyes, "not the requester, nor parties that act for it")
	add(t.Elsewhere, "not the A2A client")
	add(t.NoText, "not by text")
	add(t.Destructive, "destructive: a word approves it only with its code")
	switch {
	case t.Expires <= 0:
		add(true, "no deadline")
	case t.OnExpiry == ExpiryKeeps:
		add(true, "deadline after %s, then it stays pending", Span(t.Expires))
	case t.OnExpiry == ExpiryCancels:
		add(true, "deadline after %s, then the task is canceled", Span(t.Expires))
	default:
		add(true, "deadline after %s, then it is rejected", Span(t.Expires))
	}
	add(t.Remind > 0, "reminder after %s", Span(t.Remind))
	if e := &t.Escalate; e.After > 0 {
		also := []string{}
		for _, role := range e.AddRoles {
			also = append(also, "role "+role+" may decide, too")
		}
		if len(e.Notify) > 0 {
			also = append(also, "announced on "+strings.Join(e.Notify, ", "))
		}
		add(true, "escalation after %s: %s", Span(e.After), visible.Line(strings.Join(also, "; ")))
	}
	if g := t.Grants; g != nil {
		text := join(g.Scopes, ", ") + " for at most " + Span(g.Longest())
		if g.Uses > 0 {
			text += fmt.Sprintf(", %d uses", g.Uses)
		}
		if len(g.Vary) > 0 {
			text += ", any " + visible.Line(strings.Join(g.Vary, " "))
		}
		add(true, "grants: %s", text)
	}
	add(t.CancelsTask, "a rejection cancels the task")
	add(t.Risk != "", "risk: %s", t.Risk)
	add(len(t.Mask) > 0, "masked: %s", visible.Line(strings.Join(t.Mask, ", ")))
	add(t.MaskTask, "the task is kept from all but its requester and the deciders")
	add(t.WaitingState != "" && t.WaitingState != WaitsWorking, "the task waits in %s", strings.ReplaceAll(string(t.WaitingState), "_", "-"))
	add(len(t.Notify) > 0, "announced on: %s", visible.Line(strings.Join(t.Notify, ", ")))
	return all
}

// Beyond returns in words what t, which is no looser than u, demands in addition; empty: nothing.
func (t Terms) Beyond(u Terms) []string {
	t.WaitingState, u.WaitingState = "", "" // no demand
	said := u.Words()
	more := slices.DeleteFunc(t.Words(), func(line string) bool { return slices.Contains(said, line) })
	if t.Grants == nil && u.Grants != nil {
		more = append(more, "no grants")
	}
	return more
}

// Voters returns the fewest people who together meet all needs of a call's approval, and each need
// in words, such as "2 of role finance".
func (t Terms) Voters() (fewest int, needs []string) {
	all := t.demands()
	for i, n := range all {
		fewest, needs = max(fewest, n.People), append(needs, missing(all[i:i+1]))
	}
	return fewest, needs
}

// whom returns " for whom" and the condition of s on a line; "": it has none.
func (s *Approvers) whom() string {
	if s.When == "" {
		return ""
	}
	return " for whom " + visible.Line(strings.Join(strings.Fields(s.When), " "))
}

// String returns the roles and subjects of s, and its condition, on a line; "": it names none.
func (s *Approvers) String() string {
	if s == nil || len(s.Roles)+len(s.Subjects) == 0 {
		return ""
	}
	var names []string
	for _, r := range s.Roles {
		names = append(names, "role "+visible.Line(r))
	}
	for _, name := range s.Subjects {
		names = append(names, visible.Line(name))
	}
	return strings.Join(names, " or ") + s.whom()
}
