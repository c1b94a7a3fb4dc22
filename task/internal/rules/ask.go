package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// ask adds an approval: event, row, deadline, notifications and audit.
func ask(add additions, b basis, a *approval.Approval) additions {
	add.event(b, event.KindAsked, a)
	asked := b.Approval(a.ID)
	add = putApproval(add, b, asked)
	add.due = append(add.due, timers(b, asked)...)
	add.asked = true
	add = announce(add, b, a, task.NotifyAsked)
	add = recordOf(add, b, a, approval.Audit{What: approval.AuditAsked, By: a.Requester, Deadline: a.Deadline})
	for i := range a.Votes {
		add = recordVote(add, b, a, &a.Votes[i])
	}
	return add
}

// request asks for the approval a of a call, of any kind. If the question cannot be
// shown, the call ends with the reason.
func request(add additions, b basis, c *fold.Call, x *examined, a *approval.Approval) additions {
	if err := fill(b, c, x, a); err != nil {
		return endInvalid(add, b, c, err)
	}
	if x.editor != nil {
		if v := a.NewVote(*x.editor, a.Digest, a.Args, "", b.Now); len(v.Meets) > 0 { // a is not escalated yet
			a.Votes = []approval.Vote{v}
			a.Waits = a.WaitsFor(client(b))
		}
	}
	if err := fits(b, a); err != nil {
		return notRun(add, b, c, ending{outcome: task.OutcomeError, problem: err.Error()})
	}
	add.unretry(c) // its tool can be reached
	return ask(add, b, a)
}

// askCall requests approval of a call as it was examined. If an earlier run of it may have
// had an effect, the question says so. The arguments of a call that
// was entered before are in use, so they can no longer be edited.
func askCall(add additions, b basis, c *fold.Call, x *examined, supersedes string) additions {
	a := &approval.Approval{
		Kind: approval.KindCall, Args: x.raw, Hint: x.verdict.Hint, Terms: x.verdict.Terms, Gates: x.verdict.Gates, Supersedes: supersedes,
	}
	if c.Attempt > 0 {
		a.Terms.Allowed = withoutEdit(a.Terms)
	} else {
		a.GrantKey = grantKey(b, c, x)
	}
	notes := []string{x.lapsed}
	if c.Paused {
		notes = append(notes, visible.Clip(c.Tool, 64)+" has started, and waits: approve to let it go on.")
	}
	if c.Cause != "" {
		notes = append(notes, fmt.Sprintf("It is not known whether %s has run: %s.", c.Tool, whyUnknown(c.Cause, c.Why, hides(b, c))))
	} else {
		notes = append(notes, sinceBackup(b.Fold, c))
	}
	notes = append(notes, afterResults(b.Fold, c), x.verdict.Notes)
	a.Notes = strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), " ")
	return request(add, b, c, x, a)
}

// maxAfter bounds how many results a question names.
const maxAfter = 3

// afterResults returns which results of tools the planner had read last when it planned a call: it
// may have obeyed what they say. "" if there are none.
func afterResults(f *fold.Fold, c *fold.Call) string {
	var names []string
	own := slices.IndexFunc(f.Steps, func(s *fold.Step) bool { return slices.Contains(s.Progress, c) })
	for _, s := range slices.Backward(f.Steps[:max(own, 0)]) {
		if len(s.Progress) == 0 {
			continue // a question or a wait
		}
		for _, r := range s.Progress {
			if r.Outcome == task.OutcomeOK || r.Outcome == task.OutcomeError {
				names = append(names, fmt.Sprintf("%s (%s)", visible.Clip(r.Tool, 64), r.ID))
			}
		}
		break
	}
	switch more := len(names) - maxAfter; {
	case len(names) == 0:
		return ""
	case more > 0:
		names = append(names[:maxAfter], fmt.Sprintf("%d more", more))
	}
	return "It was planned after the result of " + strings.Join(names, ", ") + "."
}

// askAgain asks again about a call that differs from the approved or shown call, or was approved too
// long ago.
func askAgain(add additions, b basis, c *fold.Call, x *examined, old *fold.Approval) additions {
	if x.hasRun(c) {
		x.changed = true
		return askOutcome(add, b, c, x)
	}
	if x.verdict.Action == approval.ActionAsk {
		keepTerms(old, &x.verdict)
	} else {
		// A person was asked about it before: ask again if in doubt.
		x.verdict.Hint, x.verdict.Terms, x.verdict.Gates = old.Hint, old.Terms, old.Gates
		if mask, _ := policy(b, c).Mask(c.Tool); len(mask) > len(old.Terms.Mask) || old.Ask != "" && hides(b, c) { // the hint may have more
			x.verdict.Hint = ""
		}
		switch {
		case old.Kind != approval.KindOutcome:
		case x.lapsed != "":
			x.verdict.Hint = fmt.Sprintf("May %s run again now?", c.Tool)
		default:
			x.verdict.Hint = fmt.Sprintf("The tool %s has changed since it was decided to run this call again. May it run now?", c.Tool)
		}
	}
	return askCall(add, b, c, x, old.ID)
}

// lapsed returns why what was approved at decided is asked about again.
func lapsed(decided time.Time) string {
	return fmt.Sprintf("It was approved at %s, and its tool could not be reached then.", decided.UTC().Format(time.RFC3339))
}

// askOutcome asks a person for the outcome of a call, on the terms of its own approval.
func askOutcome(add additions, b basis, c *fold.Call, x *examined) additions {
	a := &approval.Approval{
		Kind: approval.KindOutcome, Args: c.Args, Supersedes: x.supersedes,
		Hint: approval.OutcomeHint(c.Tool, whyUnknown(c.Cause, c.Why, masks(b, c))),
	}
	if x.changed {
		a.Hint += fmt.Sprintf(" The tool %s has changed since its call was approved.", c.Tool)
	}
	a.Terms = approval.OutcomeTerms(termsOf(b, c, x))
	if old := b.Approval(x.supersedes); old != nil && old.Kind == approval.KindOutcome {
		a.Terms = old.Terms.Both(a.Terms)
	}
	if err := fill(b, c, x, a); err != nil {
		return endInvalid(add, b, c, err)
	}
	// It is unknown, too, whether the tool still needs answers to its questions.
	add = closeAsks(add, b, c, "the outcome of the call is unknown")
	if err := fits(b, a); err != nil {
		return finish(add, b, c, ending{outcome: task.OutcomeUnknown, problem: fmt.Sprintf("the result of the call is unknown: %s; and nobody can be asked: %v", c.Why, err)})
	}
	add.unretry(c) // its tool can be reached
	return ask(add, b, a)
}

// whyUnknown returns why the outcome of a call is unknown, without the words of its tool if it hides
// anything. A mask may be newer than the words.
func whyUnknown(cause event.Cause, why string, hides bool) string {
	if cause == event.CauseTool || cause == event.CauseTimeout {
		return redacted(hides, errors.New(why)).Error()
	}
	return why
}

// fill sets the fields that every approval of a call has, and binds it to x, the examined
// call.
func fill(b basis, c *fold.Call, x *examined, a *approval.Approval) (err error) {
	f := b.Fold
	mask, keepsTask := policy(b, c).Mask(c.Tool)
	a.Terms.Mask, a.Terms.MaskTask = approval.Union(a.Terms.Mask, mask), a.Terms.MaskTask || keepsTask
	a.Kept = b.KeepsTask()
	a.V, a.State = approval.Version, approval.Pending
	if a.Terms.FourEyes {
		a.Editors = f.EditorsOf(c)
	}
	a.Task, a.Context = f.View.IDs().Task, f.View.IDs().Context
	a.Call, a.Alias, a.Tool, a.Agent = c.ID, c.Alias, c.Tool, b.Agent
	a.Attempt, a.Requester, a.Asked = c.Attempt, f.RequesterOf(c), b.Now.Truncate(time.Millisecond)
	if ttl := a.Terms.Expires; ttl > 0 {
		deadline := a.Asked.Add(ttl).Truncate(time.Millisecond) // as its due row has it
		a.Deadline = &deadline
	}
	a.Hint = strings.ToValidUTF8(a.Hint, "\uFFFD") // as the log has it: the digest covers it
	number(b, a, 0 /* before */)
	a.Definition = x.entry.Digest
	a.TakesPayload = takesPayload(x.entry.Tool)
	if a.Kind != approval.KindQuestion {
		a.About = approval.NewAbout(x.entry.Definition, annotationsOf(x.entry.Tool))
	}
	a.Waits = a.WaitsFor(client(b))
	a.Digest, err = questionDigest(b, a, &x.checked)
	return err
}

// client returns the task's A2A client as a decider.
func client(b basis) approval.Decider {
	return approval.Decider{By: b.People.Also(b.Sender()), Via: approval.ViaA2A, Delegated: b.Delegated}
}

// number gives a new approval its id and its code, if it needs one. before is how many new approvals
// come before it that the draft has not asked yet.
func number(b basis, a *approval.Approval, before int) {
	a.ID = approval.ID(a.Task, len(b.Approvals)+before+1, b.Restored.Mark())
	a.Later = len(b.Messages) > 1
	if a.Code == "" && a.NeedsCode() {
		a.Code = approval.NewCode(b.NewID())
	}
}

// fits returns an error if an approval could not be shown: too many approvals are pending, the
// arguments are too large, or the question would not fit into one event or into the log. with
// are approvals that will be requested together with it. There is no limit for calls that were planned
// before a restoration: each is asked about, and has a single question.
func fits(b basis, a *approval.Approval, with ...*approval.Approval) error {
	return fitsInto(b, logRoom(b), a, with...)
}

// fitsInto is fits with the number of bytes by which the log may grow.
func fitsInto(b basis, room int, a *approval.Approval, with ...*approval.Approval) error {
	limits := &b.Limits
	pending := append(b.Pending(), with...)
	if len(pending) >= limits.Pending && (a.Ask != "" || !a.OfRestoredCall()) {
		return fmt.Errorf("the task already waits for %d approvals, which is the limit: answer some first", len(pending))
	}
	if n := argsSize(a.Args); n > limits.Args {
		return fmt.Errorf("arguments have %d bytes; at most %d can be shown for approval", n, limits.Args)
	}
	q, err := questionAbout(b, append(pending, a), nil)
	if err != nil {
		return fmt.Errorf("the question cannot be shown: %w", err)
	}
	size, err := q.size()
	if err != nil {
		return fmt.Errorf("the question cannot be shown: %w", err)
	}
	if limit := limits.Content(); size > limit {
		return fmt.Errorf("the question would have %d bytes; at most %d can be shown", size, limit)
	}
	for _, p := range append(pending, a) {
		for _, n := range p.Terms.Needs {
			room -= n.People * (maxRepeated + approval.MaxReason)
		}
	}
	// The question is published, and the approval is in the log, too.
	if 2*size > room {
		return fmt.Errorf("the question would have %d bytes, and the task's log has room for %d more", size, max(room/2, 0))
	}
	return nil
}
