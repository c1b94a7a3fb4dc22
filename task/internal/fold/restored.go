package fold

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
)

// applyRestored folds that the store was restored from a backup. Open calls forget when they are
// retried or woken. A call that was never started is as planned again, unless a decision that is
// not acted on yet ends it; what becomes of the others, and of pending approvals, is in the events
// that follow.
func (f *Fold) applyRestored(e *event.TaskRestored) {
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
		if c.Attempt == 0 && !f.Settled(c) {
			c.State, c.Approval = CallPlanned, ""
		}
	}
}

// RestoredBy reports whether the task has been through a restoration from a backup.
func (f *Fold) RestoredBy(id string) bool { return slices.Contains(f.Restorations(), id) }

// Restorations returns the ids of the restorations that the task has been through.
func (f *Fold) Restorations() []string {
	var ids []string
	for i := range f.Restored {
		ids = append(ids, f.Restored[i].ID)
	}
	return ids
}

// Settled reports whether an open call is about to end: it was canceled while it ran, or a decision
// other than to run it has not been acted on yet.
func (f *Fold) Settled(c *Call) bool {
	if c.State != CallDecided {
		return c.Canceled
	}
	a := f.Approval(c.Approval)
	return a != nil && a.State != approval.Approved && a.State != approval.Edited
}
