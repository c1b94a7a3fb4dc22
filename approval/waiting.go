package approval

import (
	"cmp"
	"slices"
	"strings"

	"a2a-server/internal/visible"
)

// WaitingState is a state of a task that waits for a decision.
type WaitingState string

// The waiting states. In input-required a client is asked for a message (A2A 1.0 §4.1.3), and in
// auth-required for something outside the protocol (§7.6); in working, streams and blocking requests
// stay open until the result.
const (
	WaitsWorking WaitingState = "working"
	WaitsAuth    WaitingState = "auth_required"
	WaitsInput   WaitingState = "input_required"
)

// WaitingStates returns the waiting states, each of which interrupts a client more than the one before.
func WaitingStates() []WaitingState { return []WaitingState{WaitsWorking, WaitsAuth, WaitsInput} }

// interrupting returns the state that interrupts a client more. "" is less than all.
func interrupting(s, t WaitingState) WaitingState {
	if slices.Index(WaitingStates(), t) > slices.Index(WaitingStates(), s) {
		return t
	}
	return s
}

// Interrupting returns the state in which a task waits for pending approvals: the one that
// interrupts its client the most.
func Interrupting(pending []*Approval) (s WaitingState) {
	for _, a := range pending {
		s = interrupting(s, cmp.Or(a.Waits, WaitsInput))
	}
	return s
}

// WaitsFor returns the value of a's Waits for a client that is d now: "" if d may decide a, and the votes
// for it leave d a vote that counts.
func (a *Approval) WaitsFor(d Decider) WaitingState {
	switch {
	case a.checkPerson(d) == nil && (len(a.Votes) == 0 || a.AddsVote(d.By) && a.checkVote(Approve, d) == nil):
		return ""
	case a.AskKind == "auth":
		return WaitsAuth
	}
	return cmp.Or(a.Terms.WaitingState, WaitsWorking)
}

// Elsewhere reports whether the A2A client cannot decide, whoever it is: the terms say so, or the
// requester is none of the approvers.
func (a *Approval) Elsewhere() bool {
	now := Terms{Approvers: a.Approvers(), Needs: a.Needs()}
	return a.Terms.Elsewhere || a.Terms.FourEyes || a.AskKind == "auth" || !now.includes(a.Requester, a.facts(a.Args))
}

// Away reports whether a is left to others than the A2A client: see Waits.
func (a *Approval) Away() bool { return a.Waits != "" || a.Elsewhere() }

// Awaited returns the principals that a waits for, in words, as far as its gates name them; for
// display, in one line.
func (a *Approval) Awaited() string {
	if t := a.Tally(); t != nil && t.Missing != "" {
		switch {
		case t.Missing == "1 more":
			return a.anybody()
		case strings.HasSuffix(t.Missing, " more"):
			return t.Missing + " people"
		}
		return visible.Line(t.Missing)
	}
	by := a.Approvers()
	if by == nil || len(by.Roles)+len(by.Subjects) == 0 {
		return a.anybody()
	}
	var names []string
	for _, role := range by.Roles {
		names = append(names, "somebody with the role "+visible.Clip(role, 100))
	}
	for _, subject := range by.Subjects {
		names = append(names, visible.Clip(subject, 100))
	}
	return strings.Join(names, " or ") + by.whom()
}

// anybody returns the decider of a whose gates name no people: the requester, too, where only the way is another.
func (a *Approval) anybody() string {
	if a.Elsewhere() && len(a.Votes) == 0 && a.checkPerson(Decider{By: a.Requester, Via: ViaAPI}) == nil {
		return "a person elsewhere"
	}
	return "another person"
}
