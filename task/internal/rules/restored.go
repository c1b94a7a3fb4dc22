package rules

import (
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
)

// Restored is the [Input] of the due rows of kind [record.DueRestored] of a task: the store was
// restored from a backup that was taken while the task was open. What happened after the moment of
// the backup is not in the log: pending approvals are asked again, with other digests, calls that
// have been started are unknown outcomes, and every other planned call is asked about. Only
// decisions made from now on let a call run.
type Restored struct{ Rows []store.Due } // all of the task, the oldest backup first

func (in Restored) put(add additions, b basis) (additions, error) {
	var missing []record.Restoration
	for i := range in.Rows {
		r, err := record.ParseDueRestored(&in.Rows[i])
		if err != nil {
			return add, err
		}
		add = drop(add, in.Rows[i])
		if !b.Restored.Has(r.ID) {
			missing = append(missing, r)
		}
	}
	if b.Unsettled = false; len(missing) == 0 || b.Header.Phase == store.Final {
		return add, nil
	}
	add.settles = true // it does not wait for room
	var open []*fold.Call
	if s := b.Step(); s != nil {
		for _, c := range s.Progress {
			if c.State != fold.CallDone {
				open = append(open, c)
				add.unwake(c)
				add.unretry(c)
			}
		}
	}
	if b.Header.Phase == store.Parked && len(open) == 0 {
		add.phase = store.Parked // it waits for a message or a time, as before
	}
	for i := range missing {
		add.event(b, event.KindRestored, &event.TaskRestored{ID: missing[i].ID, Moment: missing[i].Moment})
	}
	add = resolveAll(add, b, nil, approval.Superseded, approval.Resolution{Via: approval.ViaSystem, At: b.Now, Reason: "the server was restored from a backup of " + b.Restored.Moment()})
	for _, c := range open {
		if c.Attempt == 0 || fold.Settled(b.Fold, c) {
			continue
		}
		add = unknown(add, b, c, event.CauseRestored, fmt.Sprintf("it was started before the server was restored from a backup of %s", b.Restored.Moment()))
	}
	return add, nil
}

// mustAsk reports whether a call without a granted approval needs one. A call that was planned
// before a restoration does, whatever the policy says: then x gets the terms of its earlier
// approval, too, or those of a call that no gate mentions.
func mustAsk(b basis, c *fold.Call, x *examined) bool {
	if !c.Restored {
		return x.verdict.Action != approval.ActionAllow
	}
	old, asks := b.ApprovalOf(c), x.verdict.Action != approval.ActionAllow
	switch {
	case old != nil && asks:
		keepTerms(old, &x.verdict)
	case old != nil:
		x.verdict.Hint, x.verdict.Terms, x.verdict.Gates = old.Hint, old.Terms, old.Gates
	case !asks:
		x.verdict = policy(b, c).Ask(x.entry.Tool, x.args, "" /* nothing has failed */)
	}
	return true
}

// sinceBackup returns what the approver of a call that was planned before a restoration has to
// know; "" for any other call.
func sinceBackup(f *fold.Fold, c *fold.Call) string {
	if !c.Restored {
		return ""
	}
	before := f.Newest(func(a *fold.Approval) bool { return a.Call == c.ID && a.Void })
	if before != nil && before.State == approval.Superseded {
		return fmt.Sprintf("It may have been decided after %s, the moment of the backup from which the server was restored, and may have run since.", f.Restored.Moment())
	}
	return fmt.Sprintf("It was planned before the server was restored from a backup of %s and may have run since.", f.Restored.Moment())
}

// HeldError refuses a message that would lead to new calls while a restored store waits for its
// operator: the message may have been sent before, in the time that was lost. It is a
// [store.ErrUnavailable]; nothing is written.
type HeldError struct{ Moment time.Time } // of the backup

// Error names the moment and what the server waits for.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the server was restored from a backup of %s and waits for its operator: a2a-server store resume; try again later", e.Moment.UTC().Format(time.RFC3339))
}

// Unwrap makes every HeldError a [store.ErrUnavailable].
func (*HeldError) Unwrap() error { return store.ErrUnavailable }

// unsettled is the error of all inputs to a task that was not brought up to date after a
// restoration.
func unsettled(id store.TaskID) error {
	return fmt.Errorf("%w: task %s was open when the backup was taken from which the server was restored, and could not be brought up to date: the log of the server's start says why", store.ErrDataLoss, id)
}
