package approval

import "testing"

func TestKeyword(t *testing.T) {
	t.Parallel()
	tests := []struct {
		verb  Verb
		texts []string
	}{
		{Approve, []string{"approve", "approved", "yes", "y", "confirm", "true", " YES\n", "Approve", "\v\fCONFIRM\r\n"}},
		{Reject, []string{"deny", "denied", "reject", "rejected", "no", "n", "false", "\tNo ", "DENIED"}},
		{"", []string{"", " ", "yes please", "yes.", "not approve", "don't approve", "ok", "1", "да", "ye\u017f", "y\u200bes", "уes",
			"CONF\u0130RM", "conf\u0131rm", "\uff59\uff45\uff53", "yes\u00a0", "\u2003no", "no\ufe0f", "yes\u0085", "\ufeffyes", "yes\xff", "yes\x00"}},
	}
	for _, tc := range tests {
		for _, text := range tc.texts {
			verb, ok := Keyword(text)
			if verb != tc.verb || ok != (tc.verb != "") {
				t.Errorf("Keyword(%q) = %q, %v, want %q", text, verb, ok, tc.verb)
			}
		}
	}
}

func TestTextCounts(t *testing.T) {
	t.Parallel()
	done := endedAs(Approved, Resolution{Verb: Approve})
	tests := []struct {
		name      string
		approvals []*Approval
		want      string
		rejects   string // what a word that rejects answers, when that is more
	}{
		{"none", nil, "", ""},
		{"one", []*Approval{pending("t.a1")}, "t.a1", ""},
		{"one that asks while it runs", []*Approval{pending("t.a1", askKind(AskConfirm))}, "t.a1", ""},
		{"one left", []*Approval{pending("t.a1", done), pending("t.a2"), pending("t.a3", done)}, "t.a2", ""},
		{"two", []*Approval{pending("t.a1"), pending("t.a2")}, "", ""},
		{"F23 a question", []*Approval{pending("t.a1", kind(KindQuestion))}, "", ""},
		{"F23 beside a question", []*Approval{pending("t.a1"), pending("t.a2", kind(KindQuestion))}, "", ""},
		{"outcome", []*Approval{pending("t.a1", kind(KindOutcome))}, "", ""},
		{"destructive", []*Approval{pending("t.a1", terms(Terms{Destructive: true}))}, "", "t.a1"},
		{"destructive, two", []*Approval{pending("t.a1", terms(Terms{Destructive: true})), pending("t.a2")}, "", ""},
		{"destructive, switched off", []*Approval{pending("t.a1", terms(Terms{Destructive: true, NoText: true}))}, "", ""},
		{"destructive, elsewhere", []*Approval{pending("t.a1", terms(Terms{Destructive: true, Elsewhere: true}))}, "", ""},
		{"destructive outcome", []*Approval{pending("t.a1", kind(KindOutcome), terms(Terms{Destructive: true}))}, "", ""},
		{"switched off", []*Approval{pending("t.a1", terms(Terms{NoText: true}))}, "", ""},
		{"elsewhere", []*Approval{pending("t.a1", terms(Terms{Elsewhere: true}))}, "", ""},
		{"four eyes", []*Approval{pending("t.a1", terms(Terms{FourEyes: true}))}, "", ""},
		{"all decided", []*Approval{pending("t.a1", done)}, "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for verb, want := range map[Verb]string{Approve: tc.want, Reject: max(tc.want, tc.rejects)} {
				got := ""
				a, why := KeywordTarget(tc.approvals, verb)
				if a != nil {
					got = a.ID
				}
				if got != want || (why == "") != (a != nil) {
					t.Errorf("KeywordTarget(%s) = %q, %q, want %q", verb, got, why, want)
				}
			}
		})
	}
}
