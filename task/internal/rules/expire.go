package rules

import (
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Expiry is the [Input] of a due row of kind [task.DueExpiry]: the deadline of an approval has
// passed.
type Expiry struct{ Row store.Due }

func (in Expiry) put(d *Draft) error {
	a := d.f.Approval(string(in.Row.Key))
	if a == nil || a.State != approval.Pending || a.Deadline == nil || store.MillisOf(*a.Deadline) != in.Row.Time {
		return d.drop(in.Row)
	}
	if !d.expires(a) {
		return ErrNotYet
	}
	_, err := d.expire(a)
	return err
}

// expires reports whether an approval is overdue. A question of a running call whose expiry
// would cancel the task does not expire unless it holds the call: the call may no longer need
// the answer.
func (d *Draft) expires(a *fold.Approval) bool {
	if c := d.f.Call(a.Call); a.Ask != "" && !a.Held && a.Terms.OnExpiry == approval.ExpiryCancels && c != nil && c.State == fold.CallRunning {
		return false
	}
	return approval.Overdue(&a.Approval, d.at.Now)
}

// expire ends an approval whose deadline has passed, or keeps it without a deadline. ended
// reports whether the task has ended with it.
func (d *Draft) expire(a *fold.Approval) (ended bool, err error) {
	due, passed := removed(expiry(&a.Approval)), a.Deadline
	state, resolution, kept := approval.Expire(&a.Approval, d.at.Now)
	if kept {
		d.settles = true
		d.due = append(d.due, due)
		if err := d.add(event.KindKept, &event.ApprovalKept{ID: a.ID, At: d.at.Now}); err != nil {
			return false, err
		}
		if err := d.putApproval(a); err != nil {
			return false, err
		}
		return false, d.record(approval.Audit{What: approval.AuditKept, Approval: a.ID, Call: a.Call, Tool: a.Tool, Digest: a.Digest, Gate: a.Terms.Rule, Deadline: passed})
	}
	if err := d.resolve(a, state, resolution); err != nil {
		return false, err
	}
	if a.Terms.OnExpiry == approval.ExpiryCancels {
		return true, d.cancelAll("nobody answered in time", auth.Principal{})
	}
	return false, nil
}

// drop removes a due row that is no longer needed.
func (d *Draft) drop(row store.Due) error {
	d.due = append(d.due, store.DueChange{Time: row.Time, Kind: row.Kind, Key: row.Key, Delete: true})
	return nil
}

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
func (d *Draft) open(id, why string) error {
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
