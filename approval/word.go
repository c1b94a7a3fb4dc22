package approval

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"a2a-server/tool"
)

// A Word is a decision as a person types it.
type Word struct {
	Type   DecisionType // Approve or Reject
	Reason string       // as it was typed
	Code   string       // of the question, in lower case
}

// RemarkKey is the metadata key, with the value true, of a message that decides nothing, whatever
// its text says: the message of a client that has other ways to decide, such as buttons.
const RemarkKey = "urn:a2a-server:remark"

// MaxWrongCodes is how many wrong codes are typed for an approval before no word that needs a
// code decides it any longer.
const MaxWrongCodes = 5

// codeLength is the length of a code, in characters: almost 40 random bits. At least one is a
// digit, so that no word of a language looks like a code.
const codeLength = 8

// space is the white space that may be around a word.
const space = " \t\n\v\f\r"

// NewCode returns a code for an approval. id is a new, unguessable id that has not been shown.
func NewCode(id string) string {
	for sum := sha256.Sum256([]byte("code of an approval\x00" + id)); ; sum = sha256.Sum256(sum[:]) {
		if code := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:codeLength]); isCode(code) {
			return code
		}
	}
}

// NeedsCode reports whether a is asked with a code. A word does not say which question it answers:
// it may be about an earlier question of the task, also of its planner, or from before a restoration. So
// only a question that comes before any further message has none, unless it is destructive; once another
// question follows, no word answers it any longer.
func (a *Approval) NeedsCode() bool {
	return a.takesWord() && (a.Terms.Destructive || !a.isFirst())
}

// isFirst reports whether a is the first question of its task, before any further message, and the only one.
func (a *Approval) isFirst() bool { return !a.Later && a.ID == ID(a.Task, 1, "" /* mark */) }

// takesWord reports whether a word may answer a, with a code or without.
func (a *Approval) takesWord() bool { return a.Kind == KindCall && !a.Terms.NoText && !a.Elsewhere() }

// WrongCode reports whether ans was typed with a code other than a's.
func (a *Approval) WrongCode(ans Decision) bool {
	return a.State == Pending && ans.Code != "" && ans.Code != a.Code
}

// ReadWord reads text as a decision. The text must begin with a word, in any case, in quotes or not: a
// word of approval or rejection, with or without a code after a space. A colon may separate it from a
// reason, and a comma a rejection from a reason of one line; the reason of an approval must have no
// condition. A full stop or exclamation mark may end the word or code. A word has ASCII letters only,
// because Unicode maps and resembles others to them; a reason may be any text.
//
// [WordTarget] finds the approval that a word answers.
func ReadWord(text string) (w Word, ok bool) {
	text = strings.Trim(text, space)
	if n := len(text) - 1; n > 0 && text[0] == text[n] && strings.ContainsRune("\"'`", rune(text[0])) {
		text = text[1:n]
	}
	said, reason, comma := text, "", false
	if i := strings.IndexAny(text, ",:"); i >= 0 {
		said, reason, comma = text[:i], strings.Trim(text[i+1:], space), text[i] == ','
	} else {
		said = strings.TrimRight(said, ".!")
	}
	if strings.ContainsFunc(said, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return Word{}, false
	}
	said = strings.ToLower(strings.TrimRight(said, " "))
	if said == "no thanks" || said == "no thank you" {
		said = "no"
	}
	said, code, coded := strings.Cut(said, " ")
	code = strings.TrimLeft(code, " ")
	if coded && !isCode(code) {
		return Word{}, false
	}
	switch said {
	case "approve", "approved", "yes", "y", "ok", "okay", "confirm", "true":
		return Word{Type: Approve, Reason: reason, Code: code}, !comma && !limited(reason)
	case "deny", "denied", "reject", "rejected", "no", "n", "nope", "nah", "false":
		return Word{Type: Reject, Reason: reason, Code: code}, !comma || !strings.ContainsAny(reason, "\n{")
	default:
		return Word{}, false
	}
}

// limited reports whether words that follow a yes may change or limit it: they have a number, or a
// word that does so in English. Then the yes is none, because the call would run as it was shown.
func limited(words string) bool {
	return strings.ContainsFunc(words, unicode.IsNumber) || slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(words), func(r rune) bool { return !unicode.IsLetter(r) }), func(word string) bool {
		return slices.Contains(limiting, word)
	})
}

// limiting are the words of a condition, or of a number; "don't" is don and t.
var limiting = []string{
	"adjust", "after", "although", "assume", "assumed", "assuming", "before", "but", "cancel", "cap", "case", "change", "condition", "conditional", "conditionally", "conditions", "contingent",
	"delay", "depending", "depends", "don", "dont", "double", "edit", "except", "far", "first", "friday", "given", "half", "hold", "however", "if", "instead", "just", "later", "less", "limit",
	"long", "lower", "make", "max", "maximum", "maybe", "minimum", "minus", "monday", "more", "never", "next", "no", "not", "once", "only", "or", "partial", "partially", "partly", "pending",
	"percent", "postpone", "provided", "providing", "rather", "reduce", "reject", "same", "saturday", "should", "soon", "split", "stop", "subject", "sunday", "suppose", "supposing", "t",
	"then", "though", "thursday", "till", "tomorrow", "tonight", "triple", "tuesday", "twice", "unless", "until", "up", "use", "wait", "wednesday", "when", "whenever", "while", "with",
	"without", "wrong",
	"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
	"nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "dozen", "hundred", "hundreds", "thousand", "thousands", "million", "millions", "quarter",
	"third",
}

// RefusesText returns why no text answers a, be it a word or JSON, as the rest of a sentence;
// "": its gate accepts text.
func (a *Approval) RefusesText() string {
	if !a.Terms.NoText {
		return ""
	}
	return fmt.Sprintf("the gate %s does not accept text", quote(a.Terms.Gate))
}

func isCode(s string) bool {
	return len(s) == codeLength && strings.ContainsAny(s, "234567") && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '2' || r > '7') })
}

// WordTarget returns the approval that a word answers, or else the reason why it answers none,
// as the rest of a sentence. The word answers an approval if no other is pending, of any kind
// ("yes" next to an open question may mean the question), and if it takes the word, see
// [Approval.RefusesWord]. Approvals that are not pending are ignored.
func WordTarget(approvals []*Approval, w Word) (target *Approval, why string) {
	switch target, several := onlyPending(approvals); {
	case several:
		return nil, "more than one question is open, and a word does not say which one it answers"
	case target == nil:
		return nil, "no question is open"
	default:
		if why = target.RefusesWord(w, false /* named */); why != "" {
			return nil, why
		}
		return target, ""
	}
}

// onlyPending returns the pending approval; nil: there is none, or there are several.
func onlyPending(approvals []*Approval) (only *Approval, several bool) {
	for _, a := range approvals {
		switch {
		case a.State != Pending:
		case only != nil:
			return nil, true
		default:
			only = a
		}
	}
	return only, false
}

// TextTarget returns the approval that plain text answers, whatever the text says; nil: none. It
// is a question that a tool asked to have answered in words, if nothing else is pending, its gate
// accepts text, and it is not left to others than this conversation. Such an answer authorizes nothing. After a
// restoration from a backup the text may have been sent before, about another question, and
// answers none.
func TextTarget(approvals []*Approval) *Approval {
	one, _ := onlyPending(approvals)
	if one == nil || one.Kind != KindQuestion || one.AskKind != string(tool.AskQuestion) || one.Schema != nil || one.Away() ||
		one.Terms.NoText || one.restored() || !slices.Contains(one.Decisions(), Respond) {
		return nil
	}
	return one
}

// RefusesWord returns why a word does not answer a, as the rest of a sentence; "": it does,
// unless its code is wrong. The approval must be about a call, its gate must allow text, and
// the conversation must be able to decide it. named says that the word came with the id of a. If not,
// it needs the code of a, unless a is the first and only question of its task. A word approves a call that
// is marked as destructive only with the code.
func (a *Approval) RefusesWord(w Word, named bool) string {
	switch {
	case a.Elsewhere():
		return "somebody outside this conversation decides"
	case a.Terms.NoText:
		return a.RefusesText()
	case a.Kind == KindOutcome:
		return "the question is what happened to a call, and a word cannot answer that"
	case a.Kind != KindCall:
		return "a tool asks a question, and a word is not an answer to it"
	case !slices.Contains(a.Decisions(), w.Type):
		return fmt.Sprintf("%s is not among the decisions that the gate %s allows", w.Type, quote(a.Terms.Gate))
	case a.Code == "" && w.Code != "":
		return "this question has no code"
	case (named || a.isFirst()) && (w.Type == Reject || !a.Terms.Destructive):
		return ""
	}
	why := "a word may be about another question of this task"
	if a.Terms.Destructive {
		why = "the call is marked as destructive"
	}
	switch {
	case a.Code == "":
		return why + ", and this question has no code"
	case a.WrongCodes >= MaxWrongCodes:
		return fmt.Sprintf("%s, and after %d wrong codes no word %ss it any longer", why, MaxWrongCodes, w.Type)
	case w.Code == "":
		return fmt.Sprintf("%s, and only the word with the code of this question %ss it", why, w.Type)
	}
	return ""
}
