package rules

import (
	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
)

// ProviderTimeout is the [Input] of a due row of kind [task.DueProviderTimeout]: the
// confirmation provider has not answered an approval in time.
type ProviderTimeout struct{ Row store.Due }

func (in ProviderTimeout) put(d *Draft) error {
	if err := d.drop(in.Row); err != nil {
		return err
	}
	return d.open(string(in.Row.Key), "the confirmation provider has not answered in time")
}

// ProviderFailed is the [Input] that says that the confirmation provider has not answered
// an approval, and will not.
type ProviderFailed struct {
	Approval string // id
	Why      string // for people
}

func (in ProviderFailed) put(d *Draft) error {
	if err := d.open(in.Approval, in.Why); err != nil {
		return err
	}
	if d.Empty() {
		return ErrNoChange
	}
	return nil
}

// open ends the provider's exclusive time to decide an approval.
func (d *asking) open(id, why string) error {
	a := d.f.Approval(id)
	if a == nil || a.State != approval.Pending || a.Opened {
		return nil
	}
	if err := d.add(event.KindOpened, &event.ApprovalOpened{ID: id, Why: why}); err != nil {
		return err
	}
	if d.rules.ProviderWait > 0 {
		d.due = append(d.due, removed(d.rules.silence(&a.Approval)))
	}
	return d.tellParked()
}

// ProviderMayAnswer reports whether a confirmation provider may answer an approval: it is
// none of the approvers that a rule names, no person, and does not know that a call may have run
// before a restoration.
func ProviderMayAnswer(a *approval.Approval) bool {
	return a.Kind == approval.KindCall && !a.Elsewhere() && a.Terms.Approvers == nil && !a.Terms.Strict() && !a.OfRestoredCall()
}

// offers reports whether an approval is left to the confirmation provider first.
func (r *Rules) offers(a *approval.Approval) bool { return r.ProviderWait > 0 && ProviderMayAnswer(a) }

// silence is the due row for the end of the provider's time.
func (r *Rules) silence(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(a.Asked.Add(r.ProviderWait)), Kind: task.DueProviderTimeout, Key: []byte(a.ID)}
}
