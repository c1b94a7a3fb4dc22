package approval

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"a2a-server/internal/visible"
)

// Names says how many calls of a task are called so, or ever were: by the id of the
// call, or by the alias that its caller gave it. Whoever has the task adds all of its
// calls, those too that nobody was asked about and those that have ended; a name that is
// not in it reaches no call, so that whoever passes nil lets nobody name one.
type Names map[string]int

// Add counts what one call is called. An alias that was dropped is none.
func (n Names) Add(call, alias string) {
	n[call]++
	if alias != "" && alias != call {
		n[alias]++
	}
}

// LooksLikeOurID reports whether a person could mistake s for one of our ids: that of a call,
// "c<digits>.<digits>", or that of an approval, which ends in ".a<digits>". The case of
// letters does not matter, nor does what is invisible, stands around it or only looks alike. No caller may
// call a call so: it would pass for another one.
func LooksLikeOurID(s string) bool {
	s = strings.Map(func(r rune) rune { // of the form without look-alikes
		switch {
		case r == ' ' || visible.Invisible(r):
			return -1
		case unicode.IsDigit(r):
			return '0'
		default:
			return unicode.ToLower(r)
		}
	}, norm.NFKC.String(s))
	head, number, ok := cutLast(s, ".")
	if !ok {
		return false
	}
	step, isCall := strings.CutPrefix(head, "c")
	approval, isApproval := strings.CutPrefix(number, "a")
	return isCall && digits(step) && digits(number) || isApproval && digits(approval)
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// digits reports whether s is what LooksLikeOurID reads as digits.
func digits(s string) bool { return s != "" && strings.Trim(s, "0") == "" }
