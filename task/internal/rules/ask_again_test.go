package rules_test

import (
	"context"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// Whoever is asked again for an outcome because the tool changed reads why, and a decision on
// the old question is told what has replaced it.
func TestOutcomeOfAChangedToolSaysSo(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	k.decide(id(1), approval.Approve)
	k.dies()
	k.shelf.tools[0].schema = amounts("other")
	k.mustPut(rules.Refresh{})
	if a := k.one(); !strings.Contains(a.Hint, "has changed since") || a.Supersedes != id(2) {
		t.Errorf("the outcome is asked with %q and supersedes %q, want %q", a.Hint, a.Supersedes, id(2))
	}
	wantError(t, k.answer(approval.Decision{ID: id(2), Type: approval.Approve}), approval.ReasonChanged)
}

// listener is a planner that notes how the calls of the newest step ended, and what was remarked.
type listener struct {
	steps
	last    []task.Result
	remarks []task.PlannerMessage
}

func (l *listener) Plan(ctx context.Context, p *task.Progress) (*task.Step, error) {
	if n := len(p.Steps); n > 0 {
		l.last = p.Steps[n-1].Calls
	}
	l.remarks = p.Remarks
	return l.steps.Plan(ctx, p)
}

// The note of an edit is its editor's, word for word, also when another one approves it.
func TestNoteOfAnEditIsItsEditors(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"one\ntwo", ""} {
		for _, later := range []string{"against my advice", ""} {
			l := &listener{steps: steps{list: []*task.Step{{Calls: []task.PlannedCall{call("pay", 1)}}}}}
			k := newDesk(t, func(r *rules.Rules) {
				r.Planner = l
				r.Policy = policy(t, approval.Gate{Tool: "pay", Name: "large", When: over(1000), Terms: approval.Terms{FourEyes: true}}, approval.Gate{Tool: "pay", Name: "any"})
			}, &fake{name: "pay", schema: amounts("")})
			k.beginAs()
			e := edit(id(1), `{"amount":5000}`)
			e.Reason = own
			if err := k.answer(e); err != nil {
				t.Fatal(err)
			}
			dora := bob
			dora.Subject = "dora"
			k.mustPut(by(dora, approval.Decision{ID: id(2), Type: approval.Approve, Reason: later}))
			k.returns("c1.1", `{}`)
			if r := l.last[0]; r.Decision != approval.Edit || r.Note != own {
				t.Errorf("after %q, the edit is told as %s with the note %q, want %q", later, r.Decision, r.Note, own)
			}
		}
	}
}
