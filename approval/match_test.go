package approval

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	yes := func(id string) Decision { return Decision{ID: id, Type: Approve} }
	no := func(id string) Decision { return Decision{ID: id, Type: Reject} }
	edit := func(id, args string) Decision { return Decision{ID: id, Type: Edit, Args: json.RawMessage(args)} }
	respond := func(id, v string) Decision { return Decision{ID: id, Type: Respond, Response: json.RawMessage(v)} }
	approved := endedAs(Approved, Resolution{Decision: Approve})
	rejected := endedAs(Rejected, Resolution{Decision: Reject})
	two := []*Approval{pending("t.a1"), pending("t.a2")}
	successor := func(a *Approval) { a.Supersedes = "t.a1"; a.Digest = "d2" }

	for _, tc := range []matchCase{
		{name: "no answer", approvals: two},
		{name: "by id", answers: []Decision{yes("t.a2")}, approvals: two, want: []string{"t.a2"}},
		{name: "several, in their order", answers: []Decision{no("t.a2"), yes("t.a1")}, approvals: two, want: []string{"t.a2", "t.a1"}},

		{name: "unknown", answers: []Decision{yes("zz")}, approvals: two, reason: ReasonUnknown, words: []string{`"zz"`, "t.a1, t.a2"}},
		{name: "unknown and nothing pending", answers: []Decision{yes("zz")}, approvals: []*Approval{pending("t.a1", approved)}, reason: ReasonUnknown, words: []string{"read the task"}},
		{name: "no id", answers: []Decision{yes("")}, approvals: []*Approval{pending("t.a1", call("", ""))}, reason: ReasonUnknown},
		{name: "no id, by the call", answers: []Decision{{ByCall: true, Type: Approve}}, approvals: []*Approval{pending("t.a1", call("", ""))}, reason: ReasonUnknown},
		{name: "one of two is unknown", answers: []Decision{yes("t.a1"), yes("zz")}, approvals: two, reason: ReasonUnknown},
		{name: "hidden characters are shown", answers: []Decision{yes("z\u202ez")}, approvals: two, reason: ReasonUnknown, words: []string{`z\u202ez`}},

		{name: "F7 twice the same", answers: []Decision{yes("t.a1"), yes("t.a1")}, approvals: two, want: []string{"t.a1"}},
		{name: "twice the same, written differently", answers: []Decision{edit("t.a1", `{"a":1,"b":2}`), edit("t.a1", `{"b":2, "a":1.0}`)}, approvals: two, want: []string{"t.a1"}},
		{name: "twice, decisions differ", answers: []Decision{yes("t.a1"), no("t.a1")}, approvals: two, reason: ReasonMalformed, words: []string{"twice", "decide each approval once"}},
		{name: "twice, arguments differ", answers: []Decision{edit("t.a1", `{"a":1}`), edit("t.a1", `{"a":2}`)}, approvals: two, reason: ReasonMalformed},
		{name: "twice, arguments of one missing", answers: []Decision{edit("t.a1", `{"a":1}`), edit("t.a1", ``)}, approvals: two, reason: ReasonMalformed},
		{name: "twice, arguments broken", answers: []Decision{edit("t.a1", `{`), edit("t.a1", `[`)}, approvals: two, reason: ReasonMalformed},
		{name: "twice, digests differ", answers: []Decision{{ID: "t.a1", Type: Approve, Digest: "a"}, {ID: "t.a1", Type: Approve, Digest: "b"}}, approvals: two, reason: ReasonMalformed},
		{name: "twice, payloads differ", answers: []Decision{{ID: "t.a1", Type: Approve, Payload: json.RawMessage(`1`)}, {ID: "t.a1", Type: Approve, Payload: json.RawMessage(`2`)}}, approvals: two, reason: ReasonMalformed},

		{name: "F7 approved again", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", approved)}, want: []string{"=t.a1"}},
		{name: "one settled and one new", answers: []Decision{yes("t.a1"), yes("t.a2")}, approvals: []*Approval{pending("t.a1", approved), pending("t.a2")}, want: []string{"=t.a1", "t.a2"}},
		{name: "approved after rejected", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", rejected)}, reason: ReasonConflict, words: []string{"rejected", "bob", "2026-03-01T12:01:00.000Z"}},
		{name: "rejected after approved", answers: []Decision{no("t.a1")}, approvals: []*Approval{pending("t.a1", approved)}, reason: ReasonConflict},
		{name: "F7 the same edit again", answers: []Decision{edit("t.a1", `{"a": 1}`)}, approvals: []*Approval{pending("t.a1", endedAs(Edited, Resolution{Decision: Edit, Args: json.RawMessage(`{"a":1}`)}))}, want: []string{"=t.a1"}},
		{name: "another edit", answers: []Decision{edit("t.a1", `{"a":2}`)}, approvals: []*Approval{pending("t.a1", endedAs(Edited, Resolution{Decision: Edit, Args: json.RawMessage(`{"a":1}`)}))}, reason: ReasonConflict},
		{name: "approved after edited", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", endedAs(Edited, Resolution{Decision: Edit, Args: json.RawMessage(`{"a":1}`)}))}, reason: ReasonConflict},
		{name: "the same response again", answers: []Decision{respond("t.a1", `1.0`)}, approvals: []*Approval{pending("t.a1", endedAs(Responded, Resolution{Decision: Respond, Response: json.RawMessage(`1`)}))}, want: []string{"=t.a1"}},
		{name: "another response", answers: []Decision{respond("t.a1", `2`)}, approvals: []*Approval{pending("t.a1", endedAs(Responded, Resolution{Decision: Respond, Response: json.RawMessage(`1`)}))}, reason: ReasonConflict},
		{name: "approved again, of what was shown", answers: []Decision{{ID: "t.a1", Type: Approve, Digest: "d1"}}, approvals: []*Approval{pending("t.a1", approved, func(a *Approval) { a.Digest = "d1" })}, want: []string{"=t.a1"}},
		{name: "approved again, of something else", answers: []Decision{{ID: "t.a1", Type: Approve, Digest: "d2"}}, approvals: []*Approval{pending("t.a1", approved, func(a *Approval) { a.Digest = "d1" })}, reason: ReasonConflict},
		{name: "approved with another payload", answers: []Decision{{ID: "t.a1", Type: Approve, Payload: json.RawMessage(`1`)}}, approvals: []*Approval{pending("t.a1", approved)}, reason: ReasonConflict},
		{name: "canceled again", answers: []Decision{{ID: "t.a1", Type: Cancel}}, approvals: []*Approval{pending("t.a1", endedAs(Canceled, Resolution{Decision: Cancel}))}, want: []string{"=t.a1"}},
		{name: "canceled with its task", answers: []Decision{{ID: "t.a1", Type: Cancel}}, approvals: []*Approval{pending("t.a1", func(a *Approval) { a.State, a.Resolution = Canceled, &Resolution{Via: ViaSystem} })}, want: []string{"=t.a1"}},
		{name: "canceled with its call", answers: []Decision{{ID: "t.a1", Type: Cancel}}, approvals: []*Approval{pending("t.a1", endedAs(Canceled, Resolution{}))}, reason: ReasonConflict},
		{name: "approved after canceled", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", endedAs(Canceled, Resolution{}))}, reason: ReasonConflict, words: []string{"canceled"}},
		{name: "rejected after expired", answers: []Decision{no("t.a1")}, approvals: []*Approval{pending("t.a1", endedAs(Expired, Resolution{}))}, reason: ReasonExpired},
		{name: "superseded", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", endedAs(Superseded, Resolution{})), pending("t.a2", successor)}, reason: ReasonChanged, words: []string{"t.a2"}},
		{name: "superseded by one that is not here", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", endedAs(Superseded, Resolution{}))}, reason: ReasonConflict},
		{name: "state that is none", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", endedAs("odd", Resolution{}))}, reason: ReasonConflict},
		{name: "state without a resolution", answers: []Decision{yes("t.a1")}, approvals: []*Approval{pending("t.a1", func(a *Approval) { a.State = Approved })}, reason: ReasonConflict, words: []string{"is approved"}},
		{name: "approved again, with arguments", answers: []Decision{{ID: "t.a1", Type: Approve, Args: json.RawMessage(`{"a":1}`)}}, approvals: []*Approval{pending("t.a1", approved)}, reason: ReasonConflict},
		{name: "approved again, with a response", answers: []Decision{{ID: "t.a1", Type: Approve, Response: json.RawMessage(`"no"`)}}, approvals: []*Approval{pending("t.a1", approved)}, reason: ReasonConflict},
		{name: "rejected again, with more", answers: []Decision{{ID: "t.a1", Type: Reject, Args: json.RawMessage(`{}`), Payload: json.RawMessage(`1`)}}, approvals: []*Approval{pending("t.a1", rejected)}, reason: ReasonConflict},
	} {
		tc.run(t, nil)
	}
}

// matchCase is a case of Match. want lists ids of approvals, with "=" before those that are
// settled.
type matchCase struct {
	name      string
	answers   []Decision
	approvals []*Approval
	others    [][2]string // calls that nobody was asked about, with their aliases
	want      []string
	reason    Reason
	words     []string
}

func (tc *matchCase) run(t *testing.T, names Names) {
	t.Run(tc.name, func(t *testing.T) {
		t.Parallel()
		decisions, err := Match(tc.answers, tc.approvals, names)
		wantError(t, err, tc.reason, tc.words...)
		var got []string
		for _, d := range decisions {
			id := d.Approval.ID
			if d.Settled {
				id = "=" + id
			}
			got = append(got, id)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Match() (-want +got):\n%s", diff)
		}
	})
}

func TestMatchSaysAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := Match(
		[]Decision{{ID: "zz", Type: Approve}, {ID: "t.a1", Type: Approve}},
		[]*Approval{pending("t.a1", endedAs(Rejected, Resolution{Decision: Reject}))}, nil)
	wantError(t, err, ReasonUnknown, `"zz"`, "t.a1 was already rejected")
}

func TestMatchMergesWhatOneShapeLacks(t *testing.T) {
	t.Parallel()
	decisions, err := Match(
		[]Decision{{ID: "t.a1", Type: Reject, Digest: "d1"}, {ID: "t.a1", Type: Reject, Reason: "too much"}, {ID: "t.a1", Type: Reject, Payload: json.RawMessage(`1`)}},
		[]*Approval{pending("t.a1")}, nil)
	if err != nil || len(decisions) != 1 {
		t.Fatalf("Match() = %v, %v, want one decision", decisions, err)
	}
	want := Decision{ID: "t.a1", Type: Reject, Digest: "d1", Reason: "too much", Payload: json.RawMessage(`1`)}
	if diff := cmp.Diff(want, decisions[0].Decision); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestErrorMetadata(t *testing.T) {
	t.Parallel()
	a := pending("t.a1", endedAs(Rejected, Resolution{Decision: Reject}))
	ended := map[string]string{
		metaApproval: "t.a1", metaState: "rejected", metaDecision: "reject", metaBy: "bob", metaAt: "2026-03-01T12:01:00.000Z",
	}
	tests := []struct {
		name string
		err  *Error
		want map[string]string
	}{
		{"unknown", Unknown("zz", []*Approval{pending("t.a1"), a, pending("t.a2")}), map[string]string{metaPending: "t.a1,t.a2"}},
		{"malformed", Malformed("t.a1", "mend it", Violation{"x", "is bad"}), map[string]string{metaApproval: "t.a1"}},
		{"not allowed", NotAllowed(pending("t.a1"), "no"), map[string]string{metaApproval: "t.a1", metaAllowed: "approve,edit,reject,cancel"}},
		{"conflict", Conflict(a), ended},
		{"decided", Decided(a), ended},
		{"expired by nobody at no time", tooLate(pending("t.a1", func(a *Approval) { a.State = Expired; a.Resolution = &Resolution{} })), map[string]string{metaApproval: "t.a1", metaState: "expired"}},
		{"too late", tooLate(pending("t.a1", deadline(asked()))), map[string]string{metaApproval: "t.a1", metaState: "pending", metaDeadline: "2026-03-01T12:00:00.000Z"}},
		{"changed", Changed(pending("t.a1"), nil), map[string]string{metaApproval: "t.a1", metaState: "pending", metaDigest: "d1"}},
		{"changed to another", Changed(pending("t.a1"), pending("t.a2")), map[string]string{metaApproval: "t.a1", metaState: "pending", metaSuccessor: "t.a2", metaDigest: "d1"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.err.Metadata); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if tc.err.Error() != tc.err.Message || tc.err.Message == "" {
				t.Errorf("Error() = %q, want the message %q", tc.err.Error(), tc.err.Message)
			}
		})
	}
}
