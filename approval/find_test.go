package approval

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What an answer reaches that names a call.
func TestMatchByCall(t *testing.T) {
	t.Parallel()
	yes := func(name string) Decision { return Decision{ID: name, ByCall: true, Type: Approve} }
	no := func(name string) Decision { return Decision{ID: name, ByCall: true, Type: Reject} }
	c1, c2 := call("c1.1", "x"), call("c1.2", "y")
	approved := endedAs(Approved, Resolution{Decision: Approve})
	rejected := endedAs(Rejected, Resolution{Decision: Reject})
	superseded := endedAs(Superseded, Resolution{})
	edited := endedAs(Edited, Resolution{Decision: Edit, Args: json.RawMessage(`{"a":1}`)})
	outcome, question := kind(KindOutcome), kind(KindQuestion)
	two := []*Approval{pending("t.a1", c1), pending("t.a2", c2)}

	for _, tc := range []matchCase{
		{name: "by the id of the call", answers: []Decision{yes("c1.2")}, approvals: two, want: []string{"t.a2"}},
		{name: "by the alias", answers: []Decision{no("y"), yes("x")}, approvals: two, want: []string{"t.a2", "t.a1"}},
		{name: "by the id of the approval", answers: []Decision{yes("t.a2")}, approvals: two, want: []string{"t.a2"}},
		{name: "what a running call asks", answers: []Decision{yes("c1.1")}, approvals: []*Approval{pending("t.a1", c1, askKind(askConfirm))}, want: []string{"t.a1"}},
		{name: "beside what the tool wants to know", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1), pending("t.a2", c1, question)}, want: []string{"t.a1"}},
		{name: "by all that it is called, once", answers: []Decision{yes("c1.1"), yes("x"), yes("t.a1")}, approvals: two, want: []string{"t.a1"}},
		{name: "by all that it is called, in two ways", answers: []Decision{yes("c1.1"), no("x")}, approvals: two, reason: ReasonMalformed, words: []string{"twice"}},

		{name: "the id of a call by a shape that names approvals", answers: []Decision{{ID: "c1.2", Type: Approve}}, approvals: two, reason: ReasonUnknown, words: []string{"t.a1, t.a2"}},
		{name: "an alias by a shape that names approvals", answers: []Decision{{ID: "y", Type: Approve}}, approvals: two, reason: ReasonUnknown, words: []string{"t.a1, t.a2"}},
		{name: "no call", answers: []Decision{yes("c1.3")}, approvals: two, reason: ReasonUnknown, words: []string{"t.a1, t.a2"}},
		{name: "a call that nobody was asked about", answers: []Decision{yes("c1.3")}, approvals: two, others: [][2]string{{"c1.3", ""}}, reason: ReasonUnknown},

		// One call's name is another's, whoever came first and whatever became of it.
		{name: "an alias that is the id of another call", answers: []Decision{yes("c1.2")},
			approvals: []*Approval{pending("t.a1", call("c1.1", "c1.2")), pending("t.a2", call("c1.2", ""))}, reason: ReasonMalformed, words: []string{"t.a1, t.a2"}},
		{name: "an alias that is the id of a call that nobody was asked about", answers: []Decision{yes("c1.2")},
			approvals: []*Approval{pending("t.a1", call("c1.1", "c1.2"))}, others: [][2]string{{"c1.2", ""}}, reason: ReasonUnknown, words: []string{"t.a1"}},
		{name: "an alias in the form of our ids", answers: []Decision{yes("c7.7")}, approvals: []*Approval{pending("t.a1", call("c1.1", "c7.7"))}, reason: ReasonUnknown},
		{name: "an alias in the form of the id of an approval", answers: []Decision{yes("T.A9")}, approvals: []*Approval{pending("t.a1", call("c1.1", "T.A9"))}, reason: ReasonUnknown},
		{name: "an alias that is the id of an approval", answers: []Decision{yes("t.a2")},
			approvals: []*Approval{pending("t.a1", call("c1.1", "t.a2")), pending("t.a2", c2)}, want: []string{"t.a2"}},
		{name: "an alias of two calls that wait", answers: []Decision{yes("x")},
			approvals: []*Approval{pending("t.a1", c1), pending("t.a2", call("c1.2", "x"))}, reason: ReasonMalformed, words: []string{"several calls", "t.a1, t.a2"}},
		{name: "an alias of a call that is over and of one that waits", answers: []Decision{yes("x")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", call("c1.2", "x"))}, reason: ReasonMalformed, words: []string{"t.a2"}},
		{name: "an alias that a call had which nobody was asked about", answers: []Decision{yes("x")}, approvals: two, others: [][2]string{{"c0.1", "x"}},
			reason: ReasonMalformed, words: []string{"several calls", "t.a1, t.a2"}},
		{name: "a shared alias beside the id of the approval", answers: []Decision{{ID: "t.a1", Type: Approve}, yes("x")}, approvals: two, others: [][2]string{{"c0.1", "x"}},
			reason: ReasonMalformed},

		// What came of a call is not whether it may run.
		{name: "what came of a call that was approved: the same again", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, outcome)}, want: []string{"=t.a1"}},
		{name: "what came of a call that was approved: by its alias", answers: []Decision{yes("x")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, outcome)}, want: []string{"=t.a1"}},
		{name: "what came of a call that was approved: rejected", answers: []Decision{no("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, outcome)}, reason: ReasonConflict, words: []string{"t.a1 was already approved"}},
		{name: "what came of a call that was edited", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, edited), pending("t.a2", c1, outcome)}, reason: ReasonConflict, words: []string{"edited"}},
		{name: "what came of a call that nobody was asked about", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, outcome)}, reason: ReasonNotAllowed, words: []string{"t.a1", "by the id of the approval"}},
		{name: "what a tool wants to know", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, question)}, reason: ReasonNotAllowed, words: []string{"t.a1"}},

		// A call that was decided is decided.
		{name: "decided, the same again", answers: []Decision{no("c1.1")}, approvals: []*Approval{pending("t.a1", c1, rejected)}, want: []string{"=t.a1"}},
		{name: "decided, otherwise", answers: []Decision{yes("c1.1")}, approvals: []*Approval{pending("t.a1", c1, rejected)}, reason: ReasonConflict, words: []string{"rejected", "bob"}},
		{name: "expired", answers: []Decision{yes("c1.1")}, approvals: []*Approval{pending("t.a1", c1, endedAs(Expired, Resolution{}))}, reason: ReasonExpired},
		{name: "canceled", answers: []Decision{yes("c1.1")}, approvals: []*Approval{pending("t.a1", c1, endedAs(Canceled, Resolution{}))}, reason: ReasonConflict},
		{name: "approved, and it asks while it runs", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, askKind(askConfirm))}, want: []string{"=t.a1"}},
		{name: "approved, and it asks while it runs: rejected", answers: []Decision{no("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, askKind(askConfirm))}, reason: ReasonConflict},
		{name: "approved and then rejected: the first again", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, askKind(askConfirm), rejected)}, want: []string{"=t.a1"}},
		{name: "approved and then rejected: the second again", answers: []Decision{no("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, askKind(askConfirm), rejected)}, want: []string{"=t.a2"}},
		{name: "approved and then rejected: both again", answers: []Decision{yes("c1.1"), no("x")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, askKind(askConfirm), rejected)}, reason: ReasonMalformed, words: []string{"twice"}},
		{name: "two questions at once", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, askKind(askConfirm)), pending("t.a2", c1, askKind(askConfirm))}, reason: ReasonMalformed, words: []string{"t.a1, t.a2"}},

		// What was shown under the name was replaced.
		{name: "replaced", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, superseded), pending("t.a2", c1, replaces("t.a1"))}, reason: ReasonChanged, words: []string{"t.a1 was replaced by t.a2", "by its id: t.a2"}},
		{name: "replaced, by the alias", answers: []Decision{no("x")},
			approvals: []*Approval{pending("t.a1", c1, superseded), pending("t.a2", c1, replaces("t.a1"))}, reason: ReasonChanged},
		{name: "replaced after it was approved", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, approved), pending("t.a2", c1, replaces("t.a1"))}, reason: ReasonChanged},
		{name: "replaced twice", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, superseded), pending("t.a2", c1, superseded, replaces("t.a1")), pending("t.a3", c1, replaces("t.a2"))}, reason: ReasonChanged, words: []string{"t.a3"}},
		{name: "replaced, and the new one is decided", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, superseded), pending("t.a2", c1, approved, replaces("t.a1"))}, reason: ReasonChanged, words: []string{"read the task"}},
		{name: "replaced by one that is not here", answers: []Decision{yes("c1.1")}, approvals: []*Approval{pending("t.a1", c1, superseded)}, reason: ReasonConflict},
		{name: "replaced in a circle", answers: []Decision{yes("c1.1")},
			approvals: []*Approval{pending("t.a1", c1, superseded, replaces("t.a2")), pending("t.a2", c1, superseded, replaces("t.a1"))}, reason: ReasonConflict},
		{name: "replaced, by its id", answers: []Decision{yes("t.a2")},
			approvals: []*Approval{pending("t.a1", c1, superseded), pending("t.a2", c1, replaces("t.a1"))}, want: []string{"t.a2"}},
		{name: "replaced after an outcome was decided", answers: []Decision{yes("c1.1"), yes("x")},
			approvals: []*Approval{pending("t.a1", c1, outcome, approved), pending("t.a2", c1, replaces("t.a1"))}, reason: ReasonChanged},
	} {
		names := namesOf(tc.approvals)
		for _, c := range tc.others {
			names.Add(c[0], c[1])
		}
		tc.run(t, names)
	}
}

// namesOf are the names of the calls that approvals are about.
func namesOf(approvals []*Approval) Names {
	names := Names{}
	seen := map[string]bool{}
	for _, a := range approvals {
		if !seen[a.Call] {
			seen[a.Call] = true
			names.Add(a.Call, a.Alias)
		}
	}
	return names
}

func TestMatchWithoutNamesReachesNoCall(t *testing.T) {
	t.Parallel()
	approvals := []*Approval{pending("t.a1", call("c1.1", "x"))}
	for _, name := range []string{"c1.1", "x"} {
		_, err := Match([]Decision{{ID: name, ByCall: true, Type: Approve}}, approvals, nil)
		wantError(t, err, ReasonUnknown, "t.a1")
	}
}

// The name of a call reaches an approval after a restoration only if the call was planned after it.
func TestNameOfACallFromBeforeARestoration(t *testing.T) {
	t.Parallel()
	for name, reaches := range map[string]bool{"c1.1": false, "x": false, "c2.1-k3x7qf": true, "c2.1-aaaaaa": false} {
		id := name
		if id == "x" {
			id = "c1.1"
		}
		_, err := Find(Decision{ID: name, ByCall: true}, []*Approval{pending("t.a2-k3x7qf", call(id, "x"))})
		if (err == nil) != reaches || err != nil && (err.Reason != ReasonNotAllowed || !strings.Contains(err.Message, "answer by the id of the approval")) {
			t.Errorf("Find(%s) = %v, want that it is found: %t", name, err, reaches)
		}
	}
}

func TestReplacedNamesTheSuccessor(t *testing.T) {
	t.Parallel()
	approvals := []*Approval{pending("t.a1", call("c", ""), endedAs(Superseded, Resolution{})), pending("t.a2", call("c", ""), replaces("t.a1"))}
	_, err := Find(Decision{ID: "c", ByCall: true}, approvals)
	want := map[string]string{metaApproval: "t.a1", metaState: "superseded", metaSuccessor: "t.a2", metaDigest: "d1", metaPending: "t.a2"}
	if diff := cmp.Diff(want, err.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestLooksLikeOurID(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"c1.1", "c12.345", "C1.2", "t.a1", "019b7c00-0000-7000-8000-000000000001.a12", "T.A1", ".a1", "a.b.a1", "c1.a1",
		"c1.1-k3x7qf", "C1.2-K3X7QF", "t.a1-k3x7qf", "t.a1\u2011k3x7qf", "c1.1-", "c1.1-k3-x7",
		" c1.1 ", "c1.1\n", "c\u200b1.1", "c1.1\ufe0f", "t.\u00a0a1", "c\u0661.\u0662", "\u202ec1.1",
		"c1\u20241", "c1\uff0e1", "\uff431.1", "\u217d1.1", "c1.\u2081", "c1.\u00b9", "t.\uff411", // compatibility forms
	} {
		if !LooksLikeOurID(s) {
			t.Errorf("LooksLikeOurID(%q) = false, want true", s)
		}
	}
	for _, s := range []string{
		"", "c", "c1", "c1.", "c.1", ".", "1.1", "cc1.1", "c1.1.1", "c1.1x", "c1.1x-k3x7qf", "c1-k3x7qf.1", "xc1.1", "c1,1", "a1", "t.a", "t.a1b", "t.b1", "a1.t", "t.1a",
		"adk-961c85e9-2c9b-4c9e-9d2e-7f2f9d0c4b11", "call_abc123", "toolu_01A09q90qw90lq917835lq9", "注文.一",
	} {
		if LooksLikeOurID(s) {
			t.Errorf("LooksLikeOurID(%q) = true, want false", s)
		}
	}
}

// Whatever approvals a task has: what a name reaches is pending, of kind call, the only
// such approval that its call ever had, and of the only call that is called so. All else
// that a name is matched with is settled, and has no effect. And Match never finds
// anything else than Find.
func TestNameReachesOnlyWhatWasShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names, aliases := Names{}, map[string]string{}
		calls := []string{"c1.1", "c1.2", "c2.1", "c2.2"}
		for _, c := range calls {
			aliases[c] = rapid.SampledFrom([]string{"", "x", "y", "c1.2", "t.a1"}).Draw(t, "alias")
			names.Add(c, aliases[c])
		}
		var approvals []*Approval
		for i := range rapid.IntRange(1, 6).Draw(t, "approvals") {
			c := rapid.SampledFrom(calls[:3]).Draw(t, "call")
			a := pending("t.a"+string(rune('1'+i)), call(c, aliases[c]))
			a.Kind = rapid.SampledFrom([]Kind{KindCall, KindCall, KindOutcome, KindQuestion}).Draw(t, "kind")
			if s := rapid.SampledFrom([]State{Pending, Pending, Approved, Rejected, Expired, Superseded}).Draw(t, "state"); s != Pending {
				endedAs(s, Resolution{})(a)
			}
			if i > 0 && rapid.Bool().Draw(t, "supersedes") {
				a.Supersedes = approvals[rapid.IntRange(0, i-1).Draw(t, "old")].ID
			}
			approvals = append(approvals, a)
		}
		ans := Decision{
			ID:     rapid.SampledFrom(append([]string{"x", "y", "t.a1", "t.a9", ""}, calls...)).Draw(t, "name"),
			ByCall: true, Type: rapid.SampledFrom([]DecisionType{Approve, Reject}).Draw(t, "verb"),
		}
		decisions, err := Match([]Decision{ans}, approvals, names)
		found, _ := Find(ans, approvals)
		if err != nil {
			return
		}
		a := decisions[0].Approval
		switch {
		case a.ID == ans.ID:
			return
		case found == nil || found.Call != a.Call:
			t.Fatalf("Match() found %s, and Find() %v", a.ID, found)
		case names[ans.ID] != 1 || a.Call != ans.ID && LooksLikeOurID(ans.ID):
			t.Fatalf("%q, which is what %d calls are called, reached %s", ans.ID, names[ans.ID], a.ID)
		case a.Kind != KindCall:
			t.Fatalf("%q reached %s, of kind %s", ans.ID, a.ID, a.Kind)
		}
		if decisions[0].Settled {
			if a.State == Pending {
				t.Fatalf("%s is settled and pending", a.ID)
			}
			return
		}
		rivals := slices.ContainsFunc(approvals, func(b *Approval) bool { return b != a && b.Call == a.Call && b.Kind == KindCall })
		if a.State != Pending || rivals {
			t.Fatalf("%q reached %s, %s, whose call has other approvals: %v", ans.ID, a.ID, a.State, rivals)
		}
	})
}
