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

// Expiry is the [Input] of a due row of kind [record.DueExpiry]: the deadline of an approval has
// passed.
type Expiry struct{ Row store.Due }

func (in Expiry) put(add additions, b basis) (additions, error) {
	a := b.Approval(string(in.Row.Key))
	if a == nil || a.State != approval.Pending || a.Deadline == nil || store.MillisOf(*a.Deadline) != in.Row.Time {
		return drop(add, in.Row), nil
	}
	if !expires(b, a) {
		return add, ErrNotYet
	}
	return expire(add, b, a), nil
}

// expire ends an approval whose deadline has passed, maybe with its task, or keeps it without a deadline.
func expire(add additions, b basis, a *fold.Approval) additions {
	due, passed := removed(expiry(&a.Approval)), a.Deadline
	state, resolution, kept := approval.Expire(&a.Approval, b.Now)
	if kept {
		add.settles, add.kept = true, true
		add.due = append(add.due, due)
		return changeApproval(add, b, a, event.KindKept, &event.ApprovalKept{ID: a.ID, At: b.Now}, approval.Audit{What: approval.AuditKept, Deadline: passed})
	}
	add = resolve(add, b, a, state, resolution)
	if a.Terms.OnExpiry == approval.ExpiryCancels {
		return cancelAll(add, b, "nobody answered in time", auth.Principal{})
	}
	return add
}

// Waiting is the [Input] of a due row of kind [record.DueEscalate] or [record.DueRemind]: an approval
// has been pending for a while. All that is due for the approval is done, in the order expire,
// escalate, remind: after a pause no route is told of an approval that has expired.
type Waiting struct{ Row store.Due }

func (in Waiting) put(add additions, b basis) (additions, error) {
	a := b.Approval(string(in.Row.Key))
	mine := func(due store.DueChange) bool { return due.Kind == in.Row.Kind && due.Time == in.Row.Time }
	if a == nil || a.State != approval.Pending || !slices.ContainsFunc(reminders(&a.Approval), mine) {
		add.quiet = true
		return drop(add, in.Row), nil
	}
	if b.millis() < in.Row.Time {
		return add, ErrNotYet
	}
	if approval.Overdue(&a.Approval, b.Now) {
		if !expires(b, a) {
			return add, ErrNotYet // its call may end without the answer
		}
		if add = expire(add, b, a); a.State != approval.Pending {
			return add, nil
		}
	} else {
		add.quiet = true
	}
	if at := a.EscalateAt(); !at.IsZero() && !b.Now.Before(at) {
		add = escalate(add, b, a)
	}
	if at := a.RemindAt(); !at.IsZero() && !b.Now.Before(at) {
		return remind(add, b, a), nil
	}
	return add, nil
}

// escalate asks further people about an approval, once.
func escalate(add additions, b basis, a *fold.Approval) additions {
	due, now, at, before := removed(escalation(&a.Approval)), a.Approval, b.millis().Time(), a.Waits
	now.Escalated = &at
	e := &event.ApprovalEscalated{ID: a.ID, At: at, Waits: now.WaitsFor(client(b))}
	add = tellAgain(add, b, a, due, event.KindEscalated, e, approval.AuditEscalated, task.NotifyEscalated)
	if more := len(a.Terms.Escalate.AddRoles) > 0 && a.Away() && roomToRepeat(b); e.Waits == before && !more {
		return add
	}
	add.quiet = false // the client is told, and for whom it waits
	return tellParked(add, b)
}

// remind tells the routes of an approval again that it is pending, once.
func remind(add additions, b basis, a *fold.Approval) additions {
	due := removed(reminder(&a.Approval))
	return tellAgain(add, b, a, due, event.KindReminded, &event.ApprovalReminded{ID: a.ID, At: b.millis().Time()}, approval.AuditReminded, task.NotifyReminded)
}

func tellAgain(add additions, b basis, a *fold.Approval, due store.DueChange, kind string, e any, what approval.AuditEvent, tell string) additions {
	add.due = append(add.due, due)
	add = changeApproval(add, b, a, kind, e, approval.Audit{What: what})
	return announce(add, b, &a.Approval, tell)
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
func permitted(b basis, id, digest string, by approval.Decider) (*fold.Approval, *decider, error) {
	now, err := decides(b, by.By)
	if err != nil {
		return nil, nil, err
	}
	a := b.Approval(id)
	if a == nil {
		return nil, nil, approval.Unknown(id, b.AllApprovals())
	}
	if err := askedNow(b, &a.Approval).Permits(by, b.Now); err != nil {
		return nil, nil, err
	}
	if digest != a.Digest {
		return nil, nil, approval.Changed(&a.Approval, nil)
	}
	return a, now, nil
}

func (in Extend) put(add additions, b basis) (additions, error) {
	a, by, err := permitted(b, in.Approval, in.Digest, b.decider(in.By, in.Via))
	if err != nil {
		return add, err
	}
	add.decider = by
	until, room := store.MillisOf(in.Until).Time(), openRoom(b)
	switch {
	case a.Held:
		return add, approval.NotAllowed(&a.Approval, "its call runs and waits only until its deadline; decide it now")
	case a.Deadline == nil:
		return add, approval.NotAllowed(&a.Approval, "it has no deadline to extend; it waits until it is decided")
	case !until.After(*a.Deadline):
		return add, task.Invalid("until", "is not after the deadline, %s; choose a later time", a.Deadline.Format(time.RFC3339))
	case a.Extensions >= MaxExtensions:
		return add, approval.NotAllowed(&a.Approval, fmt.Sprintf("it was extended %d times, which is the limit; decide it now", a.Extensions))
	case until.After(b.Now.Add(MaxExtension)):
		return add, task.Invalid("until", "is more than %d days from now; choose an earlier time", MaxExtension/(24*time.Hour))
	}
	before := removed(expiry(&a.Approval))
	e := &event.ApprovalExtended{ID: a.ID, Until: until, At: b.Now, By: in.By}
	add = changeApproval(add, b, a, event.KindExtended, e, approval.Audit{What: approval.AuditExtended, By: in.By, Via: in.Via})
	add.due = append(add.due, before, expiry(&a.Approval))
	add = tellParked(add, b)
	if n := add.size(); n > room {
		return add, task.Invalid("until", "cannot be written: it takes %d bytes, and the log of the task has room for %d more beside decisions and results; decide the approval now", n, max(room, 0))
	}
	return add, nil
}
