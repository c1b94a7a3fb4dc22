package approval

import (
	"strconv"
	"strings"
	"testing"
)

func TestReadWord(t *testing.T) {
	t.Parallel()
	yes, no := Word{Type: Approve}, Word{Type: Reject}
	coded, refused := Word{Type: Approve, Code: "k7m2qzxd"}, Word{Type: Reject, Code: "k7m2qzxd"}
	because := func(reason string) Word { return Word{Type: Reject, Reason: reason} }
	tests := []struct {
		want  Word
		texts []string
	}{
		{yes, []string{"approve", "approved", "yes", "y", "confirm", "true", "ok", "Okay", " YES\n", "Approve", "\v\fCONFIRM\r\n", "Yes.", "OK!", "yes .", `"yes"`, "'Approve.'", "`ok`"}},
		{no, []string{"deny", "denied", "reject", "rejected", "no", "n", "false", "\tNo ", "DENIED", "No.", "no!", "no:", `"no"`, "nope", "Nah.", "no thanks", "No thank you!"}},
		{coded, []string{"approve k7m2qzxd", "Approve K7M2QZXD.", "yes  k7m2qzxd", `"approve k7m2qzxd"`, "ok k7m2qzxd!"}},
		{refused, []string{"no k7m2qzxd", "No  K7M2QZXD!", "`reject k7m2qzxd`", "deny k7m2qzxd:"}},
		{Word{Type: Reject, Reason: "too much: no", Code: "k7m2qzxd"}, []string{"no k7m2qzxd: too much: no", "NO k7m2qzxd :too much: no"}},
		{because("too much"), []string{"no: too much", "Reject:too much", "DENY :  too much\n", `"no: too much"`}},
		{because("wrong person"), []string{"no, wrong person", "No: wrong person", "nope, wrong person"}},
		{Word{Type: Approve, Reason: "looks fine"}, []string{"yes: looks fine", "Approve : looks fine"}},
		{Word{Type: Approve, Reason: "thanks", Code: "k7m2qzxd"}, []string{"approve k7m2qzxd: thanks"}},
		{because("zu teuer. Nein!"), []string{"no: zu teuer. Nein!"}},
		{because("für Bob,\nnot for Eve: no"), []string{"no: für Bob,\nnot for Eve: no"}},
		{Word{}, []string{"", " ", `"`, `""`, "yes please", "yes?", "yes, do it", "yes continue", "ok transfer", "yes: only 50", "yes: but tell him", "yes: if he agrees", "yes: don't", "yes: 7", "yes: ½", "yes: fifty", "yes: as long as Bob agrees", "yes: assuming the invoice is right", "yes: subject to audit", "yes: tomorrow",
			"yes: seventeen", "yes: hundreds", "yes: as soon as Bob agrees", "yes: in case he agrees", "yes: on Monday", "yes: depending on Bob", "yes: conditionally", "yes: reduce it",
			"approve: k7m2qzxd", "not approve", "don't approve", "1", "cancel", "cancel: no",
			"approve k7m2qzx", "approve k7m2qzxdd", "approve k7m2qz0d", "approve k7m2qzxd now", "approve\nk7m2qzxd", "no k7m2qzx", "no k7m2qzxd now: too much", "no too: much", "I say no: too much",
			"да", "ye\u017f", "o\u212a", "y\u200bes", "уes", "CONF\u0130RM", "conf\u0131rm", "\uff59\uff45\uff53", "yes\u00a0", "\u2003no", "no\ufe0f", "yes\u0085", "\ufeffyes", "yes\xff", "yes\x00",
			"yes\u3002", "no\uff1a too much", "n\u043e: too much", "\u201cyes\u201d"}},
	}
	for _, tc := range tests {
		for _, text := range tc.texts {
			w, ok := ReadWord(text)
			if !ok {
				w = Word{}
			}
			if w != tc.want || ok != (tc.want != Word{}) {
				t.Errorf("ReadWord(%q) = %+v, %v, want %+v", text, w, ok, tc.want)
			}
		}
	}
}

func TestNewCode(t *testing.T) {
	t.Parallel()
	for i := range 100 { // of a fifth of all ids the first try has no digit
		code := NewCode(strconv.Itoa(i))
		if w, ok := ReadWord("approve " + code); !ok || w.Code != code || !strings.ContainsAny(code, "234567") {
			t.Errorf("ReadWord(approve %s) = %+v, %v, want the code, with a digit", code, w, ok)
		}
	}
	a, b := NewCode("1"), NewCode("2")
	if a == b || a != NewCode("1") {
		t.Errorf("the codes of two ids are %s and %s, and that of the first again is %s", a, b, NewCode("1"))
	}
}

func TestTextCounts(t *testing.T) {
	t.Parallel()
	done := endedAs(Approved, Resolution{Decision: Approve})
	tests := []struct {
		name      string
		approvals []*Approval
		want      string
		rejects   string // what a word that rejects answers, when that is more
	}{
		{"none", nil, "", ""},
		{"one", []*Approval{pending("t.a1")}, "t.a1", ""},
		{"one that asks while it runs", []*Approval{pending("t.a1", askKind(askConfirm))}, "t.a1", ""},
		{"one left", []*Approval{pending("t.a1"), pending("t.a2", done), pending("t.a3", done)}, "t.a1", ""},
		{"a later question", []*Approval{pending("t.a1", done), pending("t.a2")}, "", ""},
		{"two", []*Approval{pending("t.a2"), pending("t.a1")}, "", ""},
		{"F23 a question", []*Approval{pending("t.a1", kind(KindQuestion))}, "", ""},
		{"F23 beside a question", []*Approval{pending("t.a2", kind(KindQuestion)), pending("t.a1")}, "", ""},
		{"outcome", []*Approval{pending("t.a1", kind(KindOutcome))}, "", ""},
		{"destructive", []*Approval{pending("t.a1", terms(Terms{Destructive: true}))}, "", "t.a1"},
		{"destructive, two", []*Approval{pending("t.a2"), pending("t.a1", terms(Terms{Destructive: true}))}, "", ""},
		{"destructive, switched off", []*Approval{pending("t.a1", terms(Terms{Destructive: true, NoText: true}))}, "", ""},
		{"destructive, elsewhere", []*Approval{pending("t.a1", terms(Terms{Destructive: true, Elsewhere: true}))}, "", ""},
		{"destructive outcome", []*Approval{pending("t.a1", kind(KindOutcome), terms(Terms{Destructive: true}))}, "", ""},
		{"switched off", []*Approval{pending("t.a1", terms(Terms{NoText: true}))}, "", ""},
		{"elsewhere", []*Approval{pending("t.a1", terms(Terms{Elsewhere: true}))}, "", ""},
		{"four eyes", []*Approval{pending("t.a1", terms(Terms{FourEyes: true}))}, "", ""},
		{"all decided", []*Approval{pending("t.a1", done)}, "", ""},
		{"asked after a restoration", []*Approval{pending("t.a2-k3x7qf")}, "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for verb, want := range map[DecisionType]string{Approve: tc.want, Reject: max(tc.want, tc.rejects)} {
				got := ""
				a, why := WordTarget(tc.approvals, Word{Type: verb})
				if a != nil {
					got = a.ID
				}
				if got != want || (why == "") != (a != nil) {
					t.Errorf("WordTarget(%s) = %q, %q, want %q", verb, got, why, want)
				}
			}
		})
	}
}

// A word that names no approval answers a later question of its task, and one that was asked after a
// restoration, only with its code; a word for an id needs none.
func TestWordForALaterQuestion(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"t.a2", "t.a1-k3x7qf"} {
		a := pending(id, func(a *Approval) { a.Code = "k7m2qzxd" })
		if !a.NeedsCode() {
			t.Errorf("%s needs no code", id)
		}
		for _, verb := range []DecisionType{Approve, Reject} {
			if got, why := WordTarget([]*Approval{a}, Word{Type: verb, Code: a.Code}); got != a {
				t.Errorf("%s: %s with its code does not count: %s", id, verb, why)
			}
			if got, _ := WordTarget([]*Approval{a}, Word{Type: verb}); got != nil {
				t.Errorf("%s: WordTarget(%s) answers it", id, verb)
			}
			if why := a.RefusesWord(Word{Type: verb}, true /* named */); why != "" {
				t.Errorf("%s: RefusesWord(%s) = %q", id, verb, why)
			}
		}
	}
}

// A word approves a destructive call only with the code that it was asked with.
func TestCodeOfADestructiveCall(t *testing.T) {
	t.Parallel()
	destructive := func(code string, wrong int) *Approval {
		return pending("t.a1", terms(Terms{Destructive: true}), func(a *Approval) { a.Code, a.WrongCodes = code, wrong })
	}
	coded := Word{Type: Approve, Code: "k7m2qzxd"}
	for _, tc := range []struct {
		name string
		a    *Approval
		w    Word
		why  string // "": the word counts
	}{
		{"its code", destructive("k7m2qzxd", 0), coded, ""},
		{"its code, the last time", destructive("k7m2qzxd", MaxWrongCodes-1), coded, ""},
		{"its code, after too many others", destructive("k7m2qzxd", MaxWrongCodes), coded, "after 5 wrong codes"},
		{"no code", destructive("k7m2qzxd", 0), Word{Type: Approve}, "the code of this question"},
		{"it has no code", destructive("", 0), Word{Type: Approve}, "marked as destructive, and this question has no code"},
		{"it has no code, a code", destructive("", 0), coded, "has no code"},
		{"a code for a call that has none", pending("t.a1"), coded, "has no code"},
		{"rejected", destructive("k7m2qzxd", MaxWrongCodes), Word{Type: Reject}, ""},
		{"not allowed", pending("t.a1", terms(Terms{Gate: "r", Allowed: []DecisionType{Edit, Reject}})), Word{Type: Approve}, `approve is not among the decisions that the gate "r" allows`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if why := tc.a.RefusesWord(tc.w, true /* named */); (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
				t.Errorf("RefusesWord(%+v) = %q, want %q in it", tc.w, why, tc.why)
			}
		})
	}
}
