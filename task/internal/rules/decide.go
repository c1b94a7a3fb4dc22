package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// Decisions is the [Input] with decisions about approvals of one task, from any source. Either
// all of them count, or none.
type Decisions struct {
	By   auth.Principal
	Via  string // a Via constant of package approval
	List []approval.Decision
	// Already gets, for each of List, whether it had been made before. Nil: nobody asks.
	Already []bool
}

// repeats notes the decisions that had been made before.
func (in Decisions) repeats(all []approval.Matched) {
	for i := range in.Already {
		in.Already[i] = slices.ContainsFunc(all, func(x approval.Matched) bool {
			return x.Decision.ID == in.List[i].ID && (x.Settled || x.Approval.Repeats(x.Decision, in.By))
		})
	}
}

func (in Decisions) put(add additions, b basis) (additions, error) { return decide(add, b, in, nil) }

// ErrStale means that approvals have to be brought up to date, with [Refresh], before a
// decision is considered.
var ErrStale = errors.New("approvals are out of date")

// decide adds decisions. received, if not nil, is the message that contained
// them.
func decide(add additions, b basis, in Decisions, received *event.MessageReceived) (additions, error) {
	for _, answer := range in.List {
		if a, err := approval.Find(answer, b.AllApprovals()); err == nil {
			if concealed := a.Conceals(b.decider(in.By, in.Via)); concealed != nil {
				return add, concealed
			}
		}
	}
	if b.Header.Phase == store.Final {
		return add, decidedBefore(b.Fold, in.List)
	}
	if overdue(b) {
		return add, ErrStale
	}
	decisions, err := approval.Match(in.List, b.AllApprovals(), b.Names(in.List))
	if err != nil {
		return add, err
	}
	in.repeats(decisions)
	decisions = slices.DeleteFunc(decisions, func(x approval.Matched) bool { return x.Settled })
	looks, edits := make([]look, len(decisions)), make([]examined, len(decisions))
	for i := range decisions {
		// Only the approvals that are being decided have to be up to date.
		a := decisions[i].Approval
		if looks[i] = lookOf(b, a); !outdated(b, a, &looks[i]) && !abandoned(b, a) {
			continue
		}
		if looks[i].trouble != nil {
			return add, approval.NotAllowed(a, "it has to be asked again, and its tool cannot be reached now: try again later")
		}
		return add, ErrStale
	}
	repeats := 0 // of the sender's own votes
	for i := range decisions {
		x := &decisions[i]
		if x.Approval.Repeats(x.Decision, in.By) {
			repeats++
			continue
		}
		if err := askedNow(b, x.Approval).Check(x.Decision, b.decider(in.By, in.Via), b.Now); err != nil {
			return add, err
		}
		if in.Via == approval.ViaProvider && !ProviderMayAnswer(x.Approval) {
			return add, approval.NotAllowed(x.Approval, "the program may not answer it; have a person answer")
		}
		if x.Decision.Type == approval.Edit && x.Approval.Ask == "" {
			if edits[i], err = checkEdit(b, x.Approval, x.Decision, looks[i]); err != nil {
				return add, err
			}
		}
	}
	if repeats == len(decisions) { // also if all are settled: the same decision again has the same answer
		return add, ErrNoChange
	}
	if add.decider, err = decides(b, in.By); err != nil {
		return add, err
	}
	if received != nil {
		// Decisions may use the reserve; a message of up to minDecision is accepted even in a
		// full log.
		if n := len(received.Message); n > minDecision && n > logRoom(b) {
			return add, task.Invalid("message", "has %d bytes, and the task's log has room for %d more: send the decision alone", n, max(logRoom(b), 0))
		}
		if err := add.message(b, received, event.ForDecision); err != nil {
			return add, err
		}
	}
	var cancel []string // why
	for i := range decisions {
		if decisions[i].Approval.Repeats(decisions[i].Decision, in.By) {
			continue
		}
		var why string
		if add, why, err = decideOn(add, b, in, &decisions[i], &edits[i]); err != nil {
			return add, err
		}
		if why != "" {
			cancel = append(cancel, why)
		}
	}
	if len(cancel) > 0 {
		return cancelAll(add, b, strings.Join(cancel, "; "), in.By), nil
	}
	if len(add.resolved) == 0 && b.Header.Phase == store.Parked { // votes that start nothing
		add.phase = store.Parked
		return tellVotes(add, b, waitingState(b, b.Pending()), b.Pending()), nil
	}
	return add, nil
}

// askedNow returns an approval as it would be asked now: the parties that have acted in a message since are
// requesters, too, and whoever has requested, edited or voted has the names that auth.people gives them now.
func askedNow(b basis, a *approval.Approval) *approval.Approval {
	now := *a
	now.Editors, now.Votes = append(slices.Clone(a.Editors), b.Sender()), slices.Clone(a.Votes)
	for i, by := range now.Editors {
		now.Editors[i] = b.People.Also(by)
	}
	for i := range now.Votes {
		now.Votes[i].By = b.People.Also(now.Votes[i].By)
	}
	return &now
}

// decideOn adds a decision that was checked. edit is the call with the arguments
// of an edit. cancels is why the decision cancels the task, "" if it does not.
func decideOn(add additions, b basis, in Decisions, x *approval.Matched, edit *examined) (_ additions, cancels string, _ error) {
	a, answer := b.Approval(x.Approval.ID), x.Decision
	if a.State != approval.Pending {
		return add, "", approval.Conflict(&a.Approval) // an earlier decision of these has ended the call
	}
	add, done, err := voteOn(add, b, in, a, answer, edit)
	if done || err != nil {
		return add, "", err
	}
	if answer.Type == approval.Edit && (a.Terms.FourEyes || edit.verdict.Action == approval.ActionAsk && !edit.verdict.Terms.Same(a.Terms)) {
		// The rules demand another person, or something else of the edited call: a new approval is requested.
		return askEdited(add, b, in, a, answer, edit), "", nil
	}
	state, r := a.Resolve(answer, in.By, in.Via, b.Now)
	if answer.Grant != nil {
		var rows []store.RowChange
		if r.Grant, rows, err = makeGrant(b, a, *answer.Grant, in.By); err != nil {
			return add, "", err
		}
		add.rows = append(add.rows, rows...)
	}
	if answer.Type == approval.Edit && a.Ask == "" {
		if r.Digest, err = questionDigest(b, &a.Approval, &edit.checked); err != nil {
			return add, "", editError(&a.Approval, err)
		}
	}
	add = resolve(add, b, a, state, r)
	switch {
	case answer.Type == approval.Cancel:
		return add, because("a decision canceled the task", answer.Reason), nil
	case answer.Type != approval.Reject || !a.Terms.CancelsTask:
		return add, "", nil
	}
	if c := b.Call(a.Call); c.State == fold.CallDecided {
		add = rejected(add, b, c, a)
	}
	what := "was rejected"
	if a.Kind == approval.KindOutcome {
		what = "was given up with an unknown outcome"
	}
	return add, because(fmt.Sprintf("%s (%s) %s", a.Tool, a.Call, what), answer.Reason), nil
}

// voteOn adds the vote of an approve or edit that was checked, if the approval needs votes. done
// reports whether that is all: other persons have to vote, too. Else the decision counts, with all
// its votes in the log.
//
// An edit asks again about the edited call, with the vote of its sender and the needs as they are,
// even if the policy has no question about the edited call: the other persons have not seen it.
// Terms that differ ask again without a vote.
func voteOn(add additions, b basis, in Decisions, a *fold.Approval, answer approval.Decision, edit *examined) (_ additions, done bool, err error) {
	if len(a.Terms.Needs) == 0 {
		return add, false, nil
	}
	digest, args := a.Digest, a.Args
	switch answer.Type { //nolint:exhaustive // the others are no votes
	case approval.Approve:
	case approval.Edit:
		if edit.verdict.Action == approval.ActionAsk && !edit.verdict.Terms.Same(a.Terms) {
			return add, false, nil
		}
		args = answer.Args
		if digest, err = questionDigest(b, &a.Approval, &edit.checked); err != nil {
			return add, false, editError(&a.Approval, err)
		}
	default:
		return add, false, nil
	}
	voter := approval.Decider{By: in.By, Via: in.Via}
	vote := a.NewVote(voter, digest, args, answer.Reason, b.Now)
	alone := a.Approval
	alone.Votes = []approval.Vote{vote}
	open := !alone.Met(digest)
	if answer.Type == approval.Edit && (open || a.Terms.FourEyes) {
		if open { // else others vote anew
			edit.editor = &voter
		}
		return askEdited(add, b, in, a, answer, edit), true, nil
	}
	now := a.Approval
	now.Votes = append(slices.Clone(a.Votes), vote)
	add.event(b, event.KindVoted, &event.ApprovalVoted{ID: a.ID, Vote: vote, Waits: now.WaitsFor(client(b))})
	add.voted, add.settles = true, true
	add = recordVote(add, b, &a.Approval, &vote)
	if askedNow(b, &a.Approval).Met(digest) {
		return add, false, nil
	}
	return putApproval(add, b, a), true, nil
}

// askEdited asks for a new approval of a call with edited arguments, on the terms of the call if no
// gate asks about the edited call. Four eyes stay in any case: the author of the edit is a requester.
func askEdited(add additions, b basis, in Decisions, a *fold.Approval, answer approval.Decision, edit *examined) additions {
	switch {
	case edit.verdict.Action == approval.ActionAsk && a.Terms.FourEyes:
		edit.verdict.Terms.FourEyes, edit.verdict.Terms.Grants = true, nil
	case edit.verdict.Action != approval.ActionAsk:
		edit.verdict.Hint, edit.verdict.Terms, edit.verdict.Gates = fmt.Sprintf("May %s run with these edited arguments?", a.Tool), a.Terms, a.Gates
	}
	r := approval.Resolution{Decision: approval.Edit, By: in.By, Via: in.Via, At: b.Now, Args: answer.Args}
	r.Reason = withReason(fold.EditAsksAgain, answer.Reason) // whole, for decisionOn
	add = resolve(add, b, a, approval.Superseded, r)
	return askCall(add, b, b.Call(a.Call), edit, a.ID)
}

// because appends the reason, if any, to what, the description of an action.
func because(what, reason string) string {
	return withReason(what, visible.Shorten(visible.Line(reason), fold.MaxProblem))
}

// minDecision is the size up to which a message with a decision is accepted however full
// the log is.
const minDecision = 16 << 10

// decidedBefore returns the error for a decision about an ended task, with the earlier
// decision.
func decidedBefore(f *fold.Fold, answers []approval.Decision) error {
	state := &task.StateError{Task: f.Header.Task, State: f.View.State(), Ended: Ended(f)}
	decisions, err := approval.Match(answers, f.AllApprovals(), f.Names(answers))
	if wrong, is := errors.AsType[*approval.Error](err); is {
		state.Decided = wrong
		return state
	} else if err != nil {
		return err
	}
	for _, x := range decisions {
		if x.Approval.Resolution != nil {
			state.Decided = approval.Decided(x.Approval)
			break
		}
	}
	return state
}

// checkEdit validates edited arguments and checks them against the policy. l is the look that
// found the definition shown to the approver.
func checkEdit(b basis, a *approval.Approval, answer approval.Decision, l look) (examined, error) {
	x := examine(b, b.Call(a.Call), l, event.Compact(answer.Args), false /* open */)
	switch {
	case x.invalid != nil:
		return x, editError(a, x.invalid)
	case x.entry == nil:
		return x, approval.NotAllowed(a, "the tool cannot be reached now, so that the edit cannot be checked: try again later; the approval stays pending")
	case x.verdict.Action == approval.ActionDeny:
		return x, approval.NotAllowed(a, fmt.Sprintf("policy denies the edited call: %s; the approval stays pending", x.verdict.Reason))
	case x.hook:
		return x, approval.NotAllowed(a, "a hook changes the edited arguments, so that they are not what would run; the approval stays pending")
	}
	return x, nil
}

// editError lists the mistakes in edited arguments.
func editError(a *approval.Approval, err error) error {
	out := approval.Malformed(a.ID, "")
	out.Message = fmt.Sprintf("the edit of %s: %v; approval %s still waits", a.Tool, err, a.ID)
	var inv *tool.InvalidError
	if errors.As(err, &inv) {
		for _, v := range inv.Violations {
			out.Violations = append(out.Violations, approval.Violation{Field: "args" + v.Pointer, Description: v.Message})
		}
	}
	return out
}

// wrongCodes returns the pending approvals that answers name with a wrong code, and whether
// any answer has a code.
func wrongCodes(f *fold.Fold, answers []approval.Decision) (wrong []string, coded bool) {
	for _, answer := range answers {
		a, err := approval.Find(answer, f.AllApprovals())
		if err != nil || a.State != approval.Pending || answer.Code == "" {
			continue
		}
		if coded = true; a.WrongCode(answer) && !slices.Contains(wrong, a.ID) {
			wrong = append(wrong, a.ID)
		}
	}
	return wrong, coded
}

// decider is the decider of a draft: as authenticated, and as known when it was made.
type decider struct{ was, is auth.Principal }

// decides returns the decider on whom a draft depends. A person without an earlier request is as they were
// authenticated; a credential that has gone, nil, is found when it is authenticated again, before the commit.
func decides(b basis, by auth.Principal) (*decider, error) {
	is, err := current(b, by)
	if _, gone := errors.AsType[*auth.WithdrawnError](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up who decides: %w", err)
	}
	return &decider{by, is}, nil
}
