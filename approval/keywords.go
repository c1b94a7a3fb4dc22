package approval

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Keyword reads text as a decision: the whole of it, without ASCII space around it and
// with A to Z read as a to z, has to be one of the listed words. Everything else is no
// decision, and so is a text with anything beyond ASCII in it: there are letters that
// Unicode turns into those of a keyword, and letters that only look like them. Whether a
// text counts at all is for [KeywordTarget] to say.
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

// KeywordTarget returns the approval that a keyword which reads as verb answers, or says why
// it answers none, as the rest of a sentence. There is one only when exactly one approval
// is pending, of whatever kind ("yes" next to an open question may mean the question), it
// is of [KindCall], and its terms neither switch text off, nor send it elsewhere, nor mark
// it destructive: such a call a word may reject, and never approve. Approvals that are not
// pending are not looked at.
func KeywordTarget(approvals []*Approval, verb Verb) (one *Approval, why string) {
	for _, a := range approvals {
		if a.State != Pending {
			continue
		}
		if one != nil {
			return nil, "more than one question is open, and a word does not say which one it answers"
		}
		one = a
	}
	switch {
	case one == nil:
		return nil, "no question is open"
	case one.Elsewhere():
		return nil, "somebody outside this conversation decides"
	case one.Kind == KindOutcome:
		return nil, "the question is what happened to a call, and a word cannot answer that"
	case one.Kind != KindCall:
		return nil, "a tool asks a question, and a word is not an answer to it"
	case one.Terms.NoText:
		return nil, fmt.Sprintf("the rule %s does not accept keywords", quote(one.Terms.Rule))
	case one.Terms.Destructive && verb != Reject:
		return nil, "the call is marked as destructive, and a word never approves such a call"
	}
	return one, ""
}
