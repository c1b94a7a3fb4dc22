package approval

import "strings"

// Keyword reads text as a decision: the whole of it, without space around it and in
// any case, has to be one of the listed words. Everything else is no decision.
// Whether a text counts at all is for [TextCounts] to say.
func Keyword(text string) (Verb, bool) {
	// ToLower and not a full case fold: look-alikes such as U+017F stay what they are.
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "approve", "approved", "yes", "y", "confirm", "true":
		return Approve, true
	case "deny", "denied", "reject", "rejected", "no", "n", "false":
		return Reject, true
	default:
		return "", false
	}
}

// TextCounts returns the approval that a keyword answers, or nil. There is one only
// when exactly one approval is pending, of whatever kind ("yes" next to an open
// question may mean the question), it is of [KindCall], and its terms neither
// mark it destructive, nor switch text off, nor send it elsewhere. Approvals that are
// not pending are not looked at.
func TextCounts(approvals []*Approval) *Approval {
	var one *Approval
	for _, a := range approvals {
		if a.State != Pending {
			continue
		}
		if one != nil {
			return nil
		}
		one = a
	}
	if one == nil || one.Kind != KindCall || one.Terms.Destructive || one.Terms.NoText || one.Elsewhere() {
		return nil
	}
	return one
}
