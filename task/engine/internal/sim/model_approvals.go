package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/record"
)

type modelApproval struct {
	approval.Approval
	used   bool
	holder holder // if it holds its call
	void   bool   // asked before a restoration

	terms   string   // as they were asked, as JSON
	wants   []demand // of the gates when it was asked; one of them counts
	backers []backer // who have approved it
}

func (a *modelApproval) String() string {
	if a == nil {
		return "never asked"
	}
	return string(a.State)
}

// newest returns the newest approval of a kind of a call that no running tool asked.
func (t *modelTask) newest(call string, kind approval.Kind) *modelApproval {
	for i := len(t.approvals) - 1; i >= 0; i-- {
		if a := t.approvals[i]; a.Call == call && a.Kind == kind && a.Ask == "" {
			return a
		}
	}
	return nil
}

func (t *modelTask) approval(id string) *modelApproval {
	for _, a := range t.approvals {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// pending returns the pending approvals.
func (t *modelTask) pending() []*approval.Approval {
	var all []*approval.Approval
	for _, a := range t.approvals {
		if a.State == approval.Pending {
			all = append(all, &a.Approval)
		}
	}
	return all
}

func (m *model) asked(t *modelTask, p *Process, a *modelApproval) {
	if t.approval(a.ID) != nil {
		m.fail(t, "an approval is asked once", "%s is asked again", a.ID)
	}
	if a.Ask == "" {
		for _, o := range t.approvals {
			if o.Call == a.Call && o.Ask == "" && o.State == approval.Pending {
				m.fail(t, "a call is asked for once at a time", "%s is asked while %s waits", a.ID, o.ID)
			}
		}
	}
	for _, o := range t.approvals {
		if a.Digest != "" && o.Digest == a.Digest && (o.Kind != a.Kind || o.AskKind != a.AskKind || !bytes.Equal(o.Payload, a.Payload)) {
			m.fail(t, "questions about different things have different digests", "%s has that of %s", a.ID, o.ID)
		}
		if a.Ask != "" && o.Call == a.Call && o.Ask == a.Ask && o.State == approval.Pending {
			m.fail(t, "a question is asked once at a time", "%s is asked while %s waits for the same answer", a.ID, o.ID)
		}
	}
	if c := t.calls[a.Call]; c != nil && c.canceled {
		m.fail(t, "nobody is asked about a canceled call", "%s, of %s", a.ID, c)
	}
	if others := a.Terms.FourEyes || a.Terms.Elsewhere || a.AskKind == "auth"; others && a.Waits == "" {
		m.fail(t, "a client that may not decide is not asked", "%s waits for it", a.ID)
	}
	askedFor(m, t, p, a)
	t.approvals = append(t.approvals, a)
	if a.Held {
		m.askedHeld(t, p, a)
	}
}

// extended checks that only a pending approval that holds no call gets a later deadline, and
// that it was judged before the old deadline. Its commit may be later, as that of a decision
// may.
func (m *model) extended(t *modelTask, v *event) {
	a := t.approval(v.ID)
	until, err := time.Parse(time.RFC3339, *v.Until)
	if err != nil {
		m.fail(t, "events can be read", "the new deadline of %s: %v", v.ID, err)
		return
	}
	judged := v.At != nil && !v.At.After(m.s.now)
	if a == nil || a.State != approval.Pending || a.Held || a.Deadline == nil || !until.After(*a.Deadline) || !judged || !v.At.Before(*a.Deadline) {
		m.fail(t, "what is pending gets a later deadline, in time", "%s, %s, judged at %v, at %s until %s", v.ID, a, v.At, m.s.now, until)
		return
	}
	a.Deadline = &until
}

// reminds gives a quarter of the runs reminders and escalations. The choices are in a lane of their own.
func reminds(w *world, terms *approval.Terms) {
	if besides(w, 4) != 2 {
		return
	}
	most := int(cmp.Or(terms.Expires, 300*time.Millisecond) / time.Millisecond)
	terms.Remind = time.Duration(1+besides(w, most-1)) * time.Millisecond
	terms.Escalate = approval.Escalation{After: time.Duration(1+besides(w, most-1)) * time.Millisecond, AddRoles: []string{"treasury"}}
}

// toldAgain checks a reminder or an escalation: it is of a pending approval that is not overdue, at
// its time or later, once, and an escalation comes before a reminder if both are due.
func (m *model) toldAgain(t *modelTask, kind string, v *event) {
	a := t.approval(v.ID)
	if a == nil || v.At == nil || a.State != approval.Pending || a.Deadline != nil && !v.At.Before(*a.Deadline) {
		m.fail(t, "nobody is reminded of what has ended", "%s of %s, %s, at %v", kind, v.ID, a, v.At)
		return
	}
	due := func(after time.Duration, done *time.Time) time.Time {
		if after <= 0 || done != nil {
			return time.Time{}
		}
		return a.Asked.Add(after)
	}
	escalate := due(a.Terms.Escalate.After, a.Escalated)
	at, done := due(a.Terms.Remind, a.Reminded), &a.Reminded
	if kind == "approval.escalated" {
		at, done = escalate, &a.Escalated
		a.Waits = v.Waits
	} else if !escalate.IsZero() && !v.At.Before(escalate) {
		m.fail(t, "an approval is escalated before a reminder", "%s at %s, its escalation was due at %s", a.ID, v.At, escalate)
	}
	if at.IsZero() || v.At.Before(at) {
		m.fail(t, "a reminder and an escalation come once, in time", "%s of %s at %s, due at %s", kind, a.ID, v.At, at)
	}
	*done = v.At
	m.tools.coverage.Count(kind)
}

func (m *model) resolved(t *modelTask, p *Process, v *event) {
	a := t.approval(v.ID)
	if a == nil || a.State != approval.Pending {
		m.fail(t, "an approval is resolved once", "%s is resolved as %s, and was %s", v.ID, v.State, a)
		return
	}
	if err := json.Unmarshal(v.State, &a.State); err != nil {
		m.fail(t, "events can be read", "the state of %s: %v", a.ID, err)
	}
	r := v.Resolution
	a.Resolution = &r
	switch a.State { //nolint:exhaustive // the others let nothing run
	case approval.Approved:
		a.backedBy(r.By, a.Digest)
		needsPeople(m, t, a, a.Digest)
	case approval.Edited:
		a.backedBy(r.By, r.Digest)
		needsPeople(m, t, a, r.Digest)
	}
	if !a.Held && a.State == approval.Expired && (a.Deadline == nil || m.s.now.Before(*a.Deadline)) {
		m.fail(t, "an approval expires at its newest deadline", "%s at %s, its deadline is %v", a.ID, m.s.now, a.Deadline)
	}
	if a.Held {
		m.resolvedHeld(t, p, a)
	}
}

// rows checks that the rows of approvals agree with the log.
func (m *model) rows(t *modelTask, b *store.Batch) {
	newest := map[string]int{} // an approval that is requested and resolved at once has two rows
	for i := range b.Rows {
		newest[b.Rows[i].Kind+string(b.Rows[i].Key)] = i
	}
	for i := range b.Rows {
		row := &b.Rows[i]
		if row.Kind != "approval" || row.Delete || newest[row.Kind+string(row.Key)] != i {
			continue
		}
		var a approval.Approval
		if err := json.Unmarshal(row.Value, &a); err != nil {
			m.fail(t, "rows can be read", "%v", err)
			return
		}
		want := []string{record.IndexSettled, record.IndexTool, record.IndexDigest}
		if a.State == approval.Pending {
			want = []string{record.IndexPending, record.IndexOwn, record.IndexDeadline, record.IndexDeadline, record.IndexEqual}
		}
		if a.Hides() {
			want = append(want, record.IndexHides)
		}
		var in []string
		for _, key := range row.Index {
			in = append(in, key.Index)
		}
		o := t.approval(a.ID)
		if o != nil && (string(mustJSON(a.Terms)) != o.terms || (a.Deadline == nil) != (o.Deadline == nil) || a.Deadline != nil && !a.Deadline.Equal(*o.Deadline)) {
			m.fail(t, "an approval keeps its terms", "the row of %s has deadline %v and terms %s, it was asked with %s, until %v", a.ID, a.Deadline, mustJSON(a.Terms), o.terms, o.Deadline)
		}
		if o == nil || o.State != a.State || len(o.Votes) != len(a.Votes) || (o.Reminded == nil) != (a.Reminded == nil) || (o.Escalated == nil) != (a.Escalated == nil) || !slices.Equal(in, want) {
			m.fail(t, "rows say what the log says", "the row of %s says %s in the indexes %q, the log %s", a.ID, a.State, in, o)
		}
	}
}

// besides is a choice in a lane of its own.
func besides(w *world, n int) int {
	before := w.choices.lane[Script]
	w.choices.Lane(Script, w.cfg.Actions+2)
	defer w.choices.Lane(Script, before)
	return w.choices.Choose(Script, n)
}

// voted checks a vote: it is of a pending approval, in time, and the first of its person for a need: another
// login of the person, or a role that was added since, may meet a need that the first vote did not meet.
func (m *model) voted(t *modelTask, v *event) {
	a := t.approval(v.ID)
	if a == nil || a.State != approval.Pending || len(a.Terms.Needs) == 0 {
		m.fail(t, "what is pending gets votes", "%s is %s", v.ID, a)
		return
	}
	for _, o := range a.Votes {
		again := !slices.ContainsFunc(v.Vote.Meets, func(need int) bool { return !slices.Contains(o.Meets, need) })
		if again && personOf(o.By) == personOf(v.Vote.By) && o.Digest == v.Vote.Digest {
			m.fail(t, "a person has one vote", "%s votes again for %s", o.By.Subject, a.ID)
		}
	}
	if a.Deadline != nil && !v.Vote.At.Before(*a.Deadline) {
		m.fail(t, "a vote is in time", "for %s at %s, whose deadline was %s", a.ID, v.Vote.At, a.Deadline)
	}
	a.Votes, a.Waits = append(a.Votes, v.Vote), v.Waits
	a.backedBy(v.Vote.By, v.Vote.Digest)
	m.tools.coverage.Count("a person votes")
}

// edited reports whether the approval has ended by an edit of which others are asked.
func (a *modelApproval) edited(x *verdict) bool {
	return a.State == approval.Superseded && a.Resolution.Decision == approval.Edit && string(mustJSON(x.args)) == string(a.Resolution.Args)
}

// ackedVote checks an acknowledged approve or edit of an approval that needs votes. It reports
// whether a needs votes.
func ackedVote(w *world, x *verdict, a *modelApproval, by auth.Principal) bool {
	if len(a.Terms.Needs) == 0 || x.decision != approval.Approve && x.decision != approval.Edit {
		return false
	}
	voted := slices.ContainsFunc(a.Votes, func(v approval.Vote) bool { return personOf(v.By) == personOf(by) })
	if a.State != approval.Approved && !voted && (x.decision != approval.Edit || !a.edited(x)) {
		w.s.Fail("an acknowledged vote is durable", "%s of %s by %s: it is %s, %+v", x.decision, a.ID, by.Subject, a.State, a.Votes)
	}
	return true
}
