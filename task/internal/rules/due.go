package rules

import (
	"fmt"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
)

// wakeup is the due row that wakes the task.
func wakeup(at time.Time, key []byte) store.DueChange {
	return store.DueChange{Time: store.MillisOf(at), Kind: record.DueWake, Key: key}
}

// unwake removes the due row of a suspended call, if it has one.
func (add *additions) unwake(c *fold.Call) {
	if c.Wake != nil {
		add.due = append(add.due, removed(timer(c.ID, *c.Wake, c.Watch)))
	}
}

// timer is the due row of a suspended call, which is entered or looked at.
func timer(call string, at time.Time, watch bool) store.DueChange {
	if watch {
		return store.DueChange{Time: record.LookTime, Kind: record.DueLook, Key: []byte(call)}
	}
	return wakeup(at, []byte(call))
}

// unretry removes the due row of a call that is retried, if it has one.
func (add *additions) unretry(c *fold.Call) {
	if c.Retry != nil {
		add.due = append(add.due, removed(wakeup(*c.Retry, retryKey(c))))
	}
}

// drop removes a due row that is no longer needed.
func drop(add additions, row store.Due) additions {
	add.due = append(add.due, store.DueChange{Time: row.Time, Kind: row.Kind, Key: row.Key, Delete: true})
	return add
}

// removed is the change that removes a due row.
func removed(due store.DueChange) store.DueChange {
	due.Delete = true
	return due
}

// expiry is the due row for the deadline of an approval.
func expiry(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(*a.Deadline), Kind: record.DueExpiry, Key: []byte(a.ID)}
}

// timers are the due rows of a pending approval: those of its deadline, its reminders and its provider.
func timers(b basis, a *fold.Approval) (due []store.DueChange) {
	if a.Deadline != nil {
		due = append(due, expiry(&a.Approval))
	}
	due = append(due, reminders(&a.Approval)...)
	if !a.Opened && b.offers(&a.Approval) {
		due = append(due, b.silence(&a.Approval))
	}
	return due
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
	return store.DueChange{Time: store.MillisOf(a.EscalateAt()), Kind: record.DueEscalate, Key: []byte(a.ID)}
}

func reminder(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(a.RemindAt()), Kind: record.DueRemind, Key: []byte(a.ID)}
}

// retrySuffix ends the key of the due row that retries a call.
const retrySuffix = "/retry"

// retryKey is the key of the due row that retries a call.
func retryKey(c *fold.Call) []byte { return []byte(c.ID + retrySuffix) }

// Retries reports whether a due row of kind [record.DueWake] retries a call that could not be entered
// or asked about.
func Retries(row *store.Due) bool { return strings.HasSuffix(string(row.Key), retrySuffix) }

// stepKey is the key of the due row that ends a planner's wait. The key for a suspended
// call is its id; see also retryKey.
func stepKey(n int) []byte { return fmt.Appendf(nil, "step %d", n) }

// waits reports whether a call waits for its next try.
func waits(b basis, c *fold.Call) bool { return c.Retry != nil && b.Now.Before(*c.Retry) }

// possible limits a tool's wake-up time to the range that can be stored: not in the past, and
// not after the year 9999.
func possible(b basis, at time.Time) time.Time {
	at = at.UTC()
	if at.Before(b.Now) {
		at = b.Now
	}
	if last := time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC); at.After(last) {
		at = last
	}
	return at.Truncate(time.Millisecond)
}
