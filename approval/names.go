package approval

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"a2a-server/internal/visible"
)

// Names counts the calls of a task for each id and alias, past and present. The caller adds
// every call of the task, also calls that ended or were never asked about; a name that is
// missing reaches no call, and nil reaches none.
type Names map[string]int

// Add counts the id and alias of a call. A dropped alias does not count.
func (n Names) Add(call, alias string) {
	n[call]++
	if alias != "" && alias != call {
		n[alias]++
	}
}

// LooksLikeOurID reports whether a person could mistake s for an id of the server: of a call,
// "c<digits>.<digits>", or of an approval, which ends in ".a<digits>", either with a mark (see
// [Mark]) or without. Case, invisible characters, surrounding punctuation and look-alikes do not matter. Callers may not use such
// a name for a call.
func LooksLikeOurID(s string) bool {
	s = strings.Map(func(r rune) rune { // of the form without look-alikes
		switch {
		case r == ' ' || visible.Invisible(r):
			return -1
		case unicode.IsDigit(r):
			return '0'
		case unicode.Is(unicode.Pd, r):
			return '-'
		default:
			return unicode.ToLower(r)
		}
	}, norm.NFKC.String(s))
	head, number, ok := cutLast(s, ".")
	if !ok {
		return false
	}
	number, _, _ = strings.Cut(number, "-")
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

// digits reports whether LooksLikeOurID reads s as digits.
func digits(s string) bool { return s != "" && strings.Trim(s, "0") == "" }
