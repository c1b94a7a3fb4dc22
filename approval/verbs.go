package approval

import "slices"

// AskConfirm is the AskKind of an approval that a running tool asks for. Its
// arguments are in use already, so that they cannot be edited.
const AskConfirm = "confirm"

// AllowedVerbs returns the decisions that an approval of kind k with terms t accepts, in
// the order in which they are offered. A question of a running tool accepts fewer: see
// [Approval.Verbs].
func AllowedVerbs(k Kind, t Terms) []Verb {
	var verbs []Verb
	switch k {
	case KindCall:
		verbs = []Verb{Approve, Edit, Reject, Cancel}
	case KindOutcome:
		verbs = []Verb{Approve, Respond, Reject, Cancel}
	case KindQuestion:
		verbs = []Verb{Respond, Reject, Cancel}
	}
	if t.Allowed != nil {
		verbs = slices.DeleteFunc(verbs, func(v Verb) bool { return !slices.Contains(t.Allowed, v) })
	}
	return verbs
}

// Verbs returns the decisions that a takes, in the order in which they are offered.
func (a *Approval) Verbs() []Verb {
	verbs := AllowedVerbs(a.Kind, a.Terms)
	if a.AskKind == AskConfirm {
		verbs = slices.DeleteFunc(verbs, func(v Verb) bool { return v == Edit })
	}
	return verbs
}

// known reports whether v is a decision at all.
func (v Verb) known() bool {
	return slices.Contains([]Verb{Approve, Edit, Reject, Respond, Cancel}, v)
}
