package fold

import (
	"slices"
	"time"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
)

// Restorations are the restorations from a backup that a task has been through, oldest first.
type Restorations []event.TaskRestored

// Has reports whether a restoration is among them.
func (r Restorations) Has(id string) bool { return slices.Contains(r.IDs(), id) }

// IDs returns the ids of the restorations.
func (r Restorations) IDs() []string {
	var ids []string
	for i := range r {
		ids = append(ids, r[i].ID)
	}
	return ids
}

// Mark returns the mark of the newest restoration, see [approval.Mark]; "" if there was none.
func (r Restorations) Mark() string {
	if len(r) == 0 {
		return ""
	}
	return approval.Mark(r[len(r)-1].ID)
}

// Moment returns the moment of the newest backup of them.
func (r Restorations) Moment() string { return r[len(r)-1].Moment.UTC().Format(time.RFC3339) }

// restored folds that the store was restored from a backup. Open calls forget when they are
// retried or woken. A call that was never started is as planned again, unless a decision that is
// not acted on yet ends it; what becomes of the others, and of pending approvals, is in the events
// that follow.
func restored(f *Fold, e *event.TaskRestored) {
	f.Restored = append(f.Restored, *e)
	for _, a := range f.Approvals {
		a.Void = true
	}
	s := f.Step()
	if s == nil {
		return
	}
	for _, c := range s.Progress {
		if c.State == CallDone {
			continue
		}
		c.reachable()
		c.Restored, c.Paused, c.Wake = true, false, nil
		if c.Attempt == 0 && !Settled(f, c) {
			c.State, c.Approval = CallPlanned, ""
		}
	}
}

// Settled reports whether an open call of a task is about to end: it was canceled while it ran, or a decision
// other than to run it has not been acted on yet.
func Settled(f *Fold, c *Call) bool {
	if c.State != CallDecided {
		return c.Canceled
	}
	a := f.Approval(c.Approval)
	return a != nil && !a.State.Allows()
}
