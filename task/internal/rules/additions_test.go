package rules

import (
	"strings"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// An event that cannot be written refuses the whole draft, with the first error, and the rules that follow decide
// as if it were written.
func TestAdditionThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	never := time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC) // has no form in JSON
	d := newDraft(&Rules{Presenter: plainPresenter{}}, At{}, fold.New(store.TaskID{1}, "c"), 0)
	d.added.event(d.basis, event.KindPlanned, &event.StepPlanned{Step: 1, Until: &never})
	d.added.event(d.basis, event.KindElapsed, &event.WaitElapsed{Step: 1})
	d.added.record(d.basis, approval.Audit{What: approval.AuditAsked, Deadline: &never})
	if s := d.Fold().Step(); s == nil || !s.Done {
		t.Errorf("the step is %+v, want it done", s)
	}
	if err := d.GoLive(); err == nil || !strings.HasPrefix(err.Error(), "encode event "+event.KindPlanned) {
		t.Errorf("GoLive() = %v, want the error of the first event", err)
	}
	if len(d.Audited()) != 1 {
		t.Errorf("Audited() = %v, want the entry", d.Audited())
	}
}
