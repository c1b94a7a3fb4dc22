package approval

import (
	"encoding/json"
	"testing"
)

// The name of a call does not reach a question that has replaced another one, whatever
// kind that was.
func TestNameAfterAnOutcomeWasReplaced(t *testing.T) {
	t.Parallel()
	all := []*Approval{
		{ID: "t.a1", Kind: KindOutcome, State: Approved, Call: "c1.1", Alias: "x", Resolution: &Resolution{Verb: Approve}},
		{ID: "t.a2", Kind: KindCall, State: Pending, Call: "c1.1", Alias: "x", Supersedes: "t.a1"},
	}
	names := Names{}
	names.Add("c1.1", "x")
	for _, name := range []string{"x", "c1.1"} {
		d, err := Match([]Answer{{ID: name, ByCall: true, Verb: Approve}}, all, names)
		if err == nil {
			t.Errorf("%s reaches %s, which has replaced %s", name, d[0].Approval.ID, d[0].Approval.Supersedes)
		}
	}
}

// A decision that says more than what was decided is not the same decision again.
func TestRepeatedDecisionThatSaysMore(t *testing.T) {
	t.Parallel()
	all := []*Approval{{ID: "t.a1", Kind: KindCall, State: Approved, Call: "c1.1", Resolution: &Resolution{Verb: Approve}}}
	for name, ans := range map[string]Answer{
		"arguments": {ID: "t.a1", Verb: Approve, Args: json.RawMessage(`{"amount":1000}`)},
		"response":  {ID: "t.a1", Verb: Approve, Response: json.RawMessage(`"no"`)},
	} {
		if d, err := Match([]Answer{ans}, all, nil); err == nil && d[0].Settled {
			t.Errorf("approve with %s is taken for the approve that was decided", name)
		}
	}
	rejected := []*Approval{{ID: "t.a1", Kind: KindCall, State: Rejected, Call: "c1.1", Resolution: &Resolution{Verb: Reject}}}
	if d, err := Match([]Answer{{ID: "t.a1", Verb: Reject, Args: json.RawMessage(`{}`), Payload: json.RawMessage(`1`)}}, rejected, nil); err == nil && d[0].Settled {
		t.Error("reject with arguments and a payload is taken for the reject that was decided")
	}
}

// What is an id of ours but for compatibility characters is none that a caller may give.
func TestOurIDCompatibilityForms(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"c1\u20241", "c1\uff0e1", "\uff431.1", "\u217d1.1", "c1.\u2081", "c1.\u00b9", "t.\uff411"} {
		if !LooksLikeOurID(s) {
			t.Errorf("%s (%+q) is taken as an alias", s, s)
		}
	}
}
