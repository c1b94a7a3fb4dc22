package approval

import (
	"slices"
	"time"

	"a2a-server/auth"
)

// Resolve returns the state and resolution of a after ans, which [Approval.Check] has
// passed. It does not change a. The caller fills in the digest of edited arguments, and
// acts on Terms.CancelsTask.
func (a *Approval) Resolve(ans Decision, by auth.Principal, via string, now time.Time) (State, Resolution) {
	r := Resolution{
		Decision: ans.Type,
		By:       by,
		Via:      via,
		At:       moment(now),
		Reason:   ans.Reason,
		Payload:  slices.Clone(ans.Payload),
	}
	switch ans.Type {
	case Approve:
		return Approved, r
	case Edit:
		r.Args = slices.Clone(ans.Args)
		return Edited, r
	case Respond:
		r.Response = slices.Clone(ans.Response)
		return Responded, r
	case Cancel:
		return Canceled, r
	case Reject:
	}
	r.Decision = Reject // also in place of a decision that Check refuses: it runs nothing
	return Rejected, r
}

// Overdue reports whether a is pending and its deadline has come.
func Overdue(a *Approval, now time.Time) bool {
	return a.State == Pending && a.Deadline != nil && !now.Before(*a.Deadline)
}

// Expire returns the state of a after its deadline, once it is [Overdue]. With kept, a
// stays pending without a deadline, and there is no resolution. Otherwise it has expired;
// when Terms.OnExpiry is ExpiryCancels the caller cancels the task too. An approval
// that is not overdue keeps its state, with no resolution.
func Expire(a *Approval, now time.Time) (state State, r Resolution, kept bool) {
	if !Overdue(a, now) {
		return a.State, Resolution{}, false
	}
	if a.Terms.OnExpiry == ExpiryKeeps {
		return Pending, Resolution{}, true
	}
	return Expired, Resolution{
		Via:    ViaSystem,
		At:     moment(now),
		Reason: "nobody answered by " + stamp(*a.Deadline),
	}, false
}

// moment is how times are kept: UTC, in milliseconds.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
