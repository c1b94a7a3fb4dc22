package rules

import (
	"errors"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task/internal/fold"
)

// Refresh is the [Input] that expires overdue approvals, closes questions whose call no longer
// waits, and asks again about tools that have changed, what another version of the server has asked,
// and what has the vote of a credential that is withdrawn or of a new requester. All of it is recorded even if the decision
// that follows is refused.
type Refresh struct {
	Denied bool // also end approvals of calls that a gate denies now
}

func (in Refresh) put(add additions, b basis) (additions, error) {
	for _, a := range b.Pending() {
		p := b.Approval(a.ID)
		switch {
		case p.State != approval.Pending: // superseded with an approval before it
		case expires(b, p):
			if add = expire(add, b, p); add.phase == store.Final {
				return add, nil
			}
		case abandoned(b, a):
			add = supersede(add, b, p, notHeld)
		default:
			l := lookOf(b, a)
			switch {
			case l.trouble != nil:
			case outdated(b, a, &l):
				add = replace(add, b, p, l)
			case in.Denied:
				add = endDenied(add, b, p, l)
			}
		}
	}
	if add.blank() {
		return add, ErrNoChange
	}
	return add, nil
}

// replace supersedes an approval that is outdated, and checks the arguments and the policy again. The
// question of a tool is asked again by the tool, which is entered without an answer.
func replace(add additions, b basis, a *fold.Approval, l look) additions {
	c, why := b.Call(a.Call), "another version of the server has asked it"
	if gone := withdrawn(b, &a.Approval); gone != "" {
		why = gone
	}
	if l.differs(&a.Approval) {
		why = "the tool has changed since it was asked"
	}
	add = supersede(add, b, a, why)
	if a.Ask != "" {
		return add
	}
	if a.Kind == approval.KindOutcome {
		x := validated(b, c, l)
		if x.invalid != nil {
			return endInvalid(add, b, c, x.invalid)
		}
		x.changed, x.supersedes = l.differs(&a.Approval), a.ID
		return askOutcome(add, b, c, &x)
	}
	x := examine(b, c, l, c.Args, false /* open */)
	switch {
	case x.invalid != nil:
		return endInvalid(add, b, c, x.invalid)
	case x.verdict.Action == approval.ActionDeny:
		return deny(add, b, c, &x)
	}
	return askAgain(add, b, c, &x, a)
}

// endDenied ends an approval, and its call, if the call has not begun and a gate denies it whose condition
// does not fail. Everything else that is denied stays pending, and is stopped when it would run: a
// condition that fails may be a mistake, and what has run is better asked about.
func endDenied(add additions, b basis, a *fold.Approval, l look) additions {
	c := b.Call(a.Call)
	if a.Kind != approval.KindCall || c.Attempt > 0 || c.Cause != "" {
		return add
	}
	x := judged(b, c, l)
	if !x.verdict.Firm {
		return add // a call that is invalid ends when it would run
	}
	why := fmt.Sprintf("the gate %s does not allow this call any more", visible.Quote(x.verdict.Terms.Gate, 80)) // without its hint, which may have arguments
	add = resolve(add, b, a, approval.Canceled, approval.Resolution{Via: approval.ViaPolicy, At: b.Now, Reason: why})
	return deny(add, b, c, &x)
}

// outdated reports whether an approval has to be asked again before it is decided: its tool is another,
// its digest is not that of what it shows, or it has a vote that does not count any more.
func outdated(b basis, a *approval.Approval, l *look) bool {
	return l.differs(a) || !a.IsBound(b.Restored.IDs()...) || withdrawn(b, a) != ""
}

// withdrawn says which vote for the call of a pending approval does not count any more, and why: the credential
// of the voter is withdrawn, cannot be looked up now or, under four eyes, has acted in a message since. "": none.
func withdrawn(b basis, a *approval.Approval) string {
	for i := range a.Votes {
		v := &a.Votes[i]
		_, err := current(b, v.By)
		gone, is := errors.AsType[*auth.WithdrawnError](err)
		switch {
		case v.Digest != a.Digest:
		case a.Terms.FourEyes && b.People.Also(b.Sender()).Shares(b.People.Also(v.By)):
			return visible.Clip(v.By.Subject, 128) + " has voted, and is a party to a message of the task"
		case err == nil || is && gone.Unseen:
		case is:
			return fmt.Sprintf("%s has voted, and %s", visible.Clip(v.By.Subject, 128), gone.Why)
		default:
			problem(b, "a voter cannot be looked up, so the question is asked again", err)
			return visible.Clip(v.By.Subject, 128) + " has voted, and it cannot be found out now whether that counts"
		}
	}
	return ""
}

// abandoned reports whether a pending approval holds a call that does not wait in this
// process: its process has died, and the answer would not arrive.
func abandoned(b basis, a *approval.Approval) bool {
	return a.Held && a.State == approval.Pending && (b.At.Holds == nil || !b.At.Holds(a.ID))
}

// expires reports whether an approval is overdue. A question of a running call whose expiry
// would cancel the task does not expire unless it holds the call: the call may no longer need
// the answer.
func expires(b basis, a *fold.Approval) bool {
	if c := b.Call(a.Call); a.Ask != "" && !a.Held && a.Terms.OnExpiry == approval.ExpiryCancels && c != nil && c.State == fold.CallRunning {
		return false
	}
	return approval.Overdue(&a.Approval, b.Now)
}

// overdue reports whether a pending approval is overdue.
func overdue(b basis) bool {
	return slices.ContainsFunc(b.Approvals, func(a *fold.Approval) bool { return a.State == approval.Pending && expires(b, a) })
}
