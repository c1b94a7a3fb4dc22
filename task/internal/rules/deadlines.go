package rules

import (
	"fmt"
	"slices"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Expiry is the [Input] of a due row of kind [task.DueExpiry]: the deadline of an approval has
// passed.
type Expiry struct{ Row store.Due }

func (in Expiry) put(d *Draft) error {
	a := d.f.Approval(string(in.Row.Key))
	if a == nil || a.State != approval.Pending || a.Deadline == nil || store.MillisOf(*a.Deadline) != in.Row.Time {
		d.drop(in.Row)
		return nil
	}
	if !expires(d.basis, a) {
		return ErrNotYet
	}
	d.expire(a)
	return nil
}

// expire ends an approval whose deadline has passed, or keeps it without a deadline. ended
// reports whether the task has ended with it.
func (d *Draft) expire(a *fold.Approval) (ended bool) {
	due, passed := removed(expiry(&a.Approval)), a.Deadline
	state, resolution, kept := approval.Expire(&a.Approval, d.at.Now)
	if kept {
		d.settles, d.kept = true, true
		d.due = append(d.due, due)
		d.changed(a, event.KindKept, &event.ApprovalKept{ID: a.ID, At: d.at.Now}, approval.Audit{What: approval.AuditKept, Deadline: passed})
		return false
	}
	d.resolve(a, state, resolution)
	if a.Terms.OnExpiry == approval.ExpiryCancels {
		d.cancelAll("nobody answered in time", auth.Principal{})
		return true
	}
	return false
}

// Waiting is the [Input] of a due row of kind [task.DueEscalate] or [task.DueRemind]: an approval
// has been pending for a while. All that is due for the approval is done, in the order expire,
// escalate, remind: after a pause no route is told of an approval that has expired.
type Waiting struct{ Row store.Due }

func (in Waiting) put(d *Draft) error {
	a := d.f.Approval(string(in.Row.Key))
	mine := func(due store.DueChange) bool { return due.Kind == in.Row.Kind && due.Time == in.Row.Time }
	if a == nil || a.State != approval.Pending || !slices.ContainsFunc(reminders(&a.Approval), mine) {
		d.quiet = true
		d.drop(in.Row)
		return nil
	}
	if d.at.millis() < in.Row.Time {
		return ErrNotYet
	}
	if approval.Overdue(&a.Approval, d.at.Now) {
		if !expires(d.basis, a) {
			return ErrNotYet // its call may end without the answer
		}
		if d.expire(a); a.State != approval.Pending {
			return nil
		}
	} else {
		d.quiet = true
	}
	if at := a.EscalateAt(); !at.IsZero() && !d.at.Now.Before(at) {
		d.escalate(a)
	}
	if at := a.RemindAt(); !at.IsZero() && !d.at.Now.Before(at) {
		d.remind(a)
		return nil
	}
	return nil
}

// escalate asks further people about an approval, once.
func (d *Draft) escalate(a *fold.Approval) {
	due, now, at, before := removed(escalation(&a.Approval)), a.Approval, d.at.millis().Time(), a.Waits
	now.Escalated = &at
	e := &event.ApprovalEscalated{ID: a.ID, At: at, Waits: now.WaitsFor(client(d.basis))}
	d.tellAgain(a, due, event.KindEscalated, e, approval.AuditEscalated, task.NotifyEscalated)
	if more := len(a.Terms.Escalate.AddRoles) > 0 && a.Away() && roomToRepeat(d.basis); e.Waits == before && !more {
		return
	}
	d.quiet = false // the client is told, and for whom it waits
	d.tellParked()
}

// remind tells the routes of an approval again that it is pending, once.
func (d *Draft) remind(a *fold.Approval) {
	due := removed(reminder(&a.Approval))
	d.tellAgain(a, due, event.KindReminded, &event.ApprovalReminded{ID: a.ID, At: d.at.millis().Time()}, approval.AuditReminded, task.NotifyReminded)
}

func (d *Draft) tellAgain(a *fold.Approval, due store.DueChange, kind string, e any, what approval.AuditEvent, tell string) {
	d.due = append(d.due, due)
	d.changed(a, kind, e, approval.Audit{What: what})
	d.announce(&a.Approval, tell)
}

// The bounds of an [Extend]. Each extension repeats the whole question to the client.
const (
	MaxExtension  = 90 * 24 * time.Hour // from now
	MaxExtensions = 20                  // of one approval
)

// Extend is the [Input] that moves the deadline of a pending approval to a later time. It
// needs the same permission as a decision. Digest is the digest that was shown.
type Extend struct {
	By       auth.Principal
	Via      string // a Via constant of package approval
	Approval string // id
	Digest   string
	Until    time.Time
}

// permitted returns a pending approval that a decider may decide, and has seen with this digest.
func (d *Draft) permitted(id, digest string, by approval.Decider) (*fold.Approval, error) {
	if err := d.decides(by.By); err != nil {
		return nil, err
	}
	a := d.f.Approval(id)
	if a == nil {
		return nil, approval.Unknown(id, d.f.AllApprovals())
	}
	if err := askedNow(d.basis, &a.Approval).Permits(by, d.at.Now); err != nil {
		return nil, err
	}
	if digest != a.Digest {
		return nil, approval.Changed(&a.Approval, nil)
	}
	return a, nil
}

func (in Extend) put(d *Draft) error {
	a, err := d.permitted(in.Approval, in.Digest, d.rules.decider(in.By, in.Via))
	if err != nil {
		return err
	}
	until, room := store.MillisOf(in.Until).Time(), openRoom(d.basis)
	switch {
	case a.Held:
		return approval.NotAllowed(&a.Approval, "its call runs and waits only until its deadline; decide it now")
	case a.Deadline == nil:
		return approval.NotAllowed(&a.Approval, "it has no deadline to extend; it waits until it is decided")
	case !until.After(*a.Deadline):
		return task.Invalid("until", "is not after the deadline, %s; choose a later time", a.Deadline.Format(time.RFC3339))
	case a.Extensions >= MaxExtensions:
		return approval.NotAllowed(&a.Approval, fmt.Sprintf("it was extended %d times, which is the limit; decide it now", a.Extensions))
	case until.After(d.at.Now.Add(MaxExtension)):
		return task.Invalid("until", "is more than %d days from now; choose an earlier time", MaxExtension/(24*time.Hour))
	}
	before := removed(expiry(&a.Approval))
	e := &event.ApprovalExtended{ID: a.ID, Until: until, At: d.at.Now, By: in.By}
	d.changed(a, event.KindExtended, e, approval.Audit{What: approval.AuditExtended, By: in.By, Via: in.Via})
	d.due = append(d.due, before, expiry(&a.Approval))
	d.tellParked()
	if n := d.size(); n > room {
		return task.Invalid("until", "cannot be written: it takes %d bytes, and the log of the task has room for %d more beside decisions and results; decide the approval now", n, max(room, 0))
	}
	return nil
}
