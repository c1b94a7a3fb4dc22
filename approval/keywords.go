package approval

import (
	"strings"
	"unicode/utf8"
)

// Keyword reads text as a decision: the whole of it, without ASCII space around it and
// with A to Z read as a to z, has to be one of the listed words. Everything else is no
// decision, and so is a text with anything beyond ASCII in it: there are letters that
// Unicode turns into those of a keyword, and letters that only look like them. Whether a
// text counts at all is for [TextCounts] to say.
func Keyword(text string) (Verb, bool) {
	text = strings.Trim(text, " \t\n\v\f\r")
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return "", false
	}
	switch strings.ToLower(text) {
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
