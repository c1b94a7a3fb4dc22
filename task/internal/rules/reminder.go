package rules

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Waiting is the [Input] of a due row of kind [task.DueEscalate] or [task.DueRemind]: an approval
// has been pending for a while. All that is due for the approval is done, in the order expire,
// escalate, remind: after a pause nobody is told of an approval that has expired.
type Waiting struct{ Row store.Due }

func (in Waiting) put(d *Draft) error {
	a := d.f.Approval(string(in.Row.Key))
	mine := func(due store.DueChange) bool { return due.Kind == in.Row.Kind && due.Time == in.Row.Time }
	if a == nil || a.State != approval.Pending || !slices.ContainsFunc(reminders(&a.Approval), mine) {
		d.quiet = true
		return d.drop(in.Row)
	}
	if d.now() < in.Row.Time {
		return ErrNotYet
	}
	if approval.Overdue(&a.Approval, d.at.Now) {
		if !d.expires(a) {
			return ErrNotYet // its call may end without the answer
		}
		if _, err := d.expire(a); err != nil || a.State != approval.Pending {
			return err
		}
	} else {
		d.quiet = true
	}
	if at := a.EscalateAt(); !at.IsZero() && !d.at.Now.Before(at) {
		if err := d.escalate(a); err != nil {
			return err
		}
	}
	if at := a.RemindAt(); !at.IsZero() && !d.at.Now.Before(at) {
		return d.remind(a)
	}
	return nil
}

// escalate asks others about an approval, too, once.
func (d *asking) escalate(a *fold.Approval) error {
	due := removed(escalation(&a.Approval))
	return d.tellAgain(a, due, event.KindEscalated, &event.ApprovalEscalated{ID: a.ID, At: d.now().Time()}, approval.AuditEscalated, task.NotifyEscalated)
}

// remind tells the routes of an approval again that it is pending, once.
func (d *asking) remind(a *fold.Approval) error {
	due := removed(reminder(&a.Approval))
	return d.tellAgain(a, due, event.KindReminded, &event.ApprovalReminded{ID: a.ID, At: d.now().Time()}, approval.AuditReminded, task.NotifyReminded)
}

func (d *asking) tellAgain(a *fold.Approval, due store.DueChange, kind string, e any, what approval.AuditEvent, tell string) error {
	d.due = append(d.due, due)
	if err := d.add(kind, e); err != nil {
		return err
	}
	if err := d.putApproval(a); err != nil {
		return err
	}
	if err := d.announce(&a.Approval, tell); err != nil {
		return err
	}
	return d.record(approval.Audit{What: what, Approval: a.ID, Call: a.Call, Tool: a.Tool, Digest: a.Digest, Gate: a.Terms.Gate, Deadline: a.Deadline})
}

// reminders are the due rows of an approval that is not escalated, or not reminded of, yet.
func reminders(a *approval.Approval) (due []store.DueChange) {
	if !a.EscalateAt().IsZero() {
		due = append(due, escalation(a))
	}
	if !a.RemindAt().IsZero() {
		due = append(due, reminder(a))
	}
	return due
}

func escalation(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(a.EscalateAt()), Kind: task.DueEscalate, Key: []byte(a.ID)}
}

func reminder(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(a.RemindAt()), Kind: task.DueRemind, Key: []byte(a.ID)}
}

// escalatesTo reports whether an event is an escalation that names a route, which is then told
// whatever events it takes.
func escalatesTo(a *approval.Approval, r *task.Route, event string) bool {
	return event == task.NotifyEscalated && !r.Requester && slices.Contains(a.Terms.Escalate.Notify, r.Name)
}
