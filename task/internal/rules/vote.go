package rules

import (
	"fmt"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// voteOn adds the vote of an approve or edit that was checked, if the approval needs votes. done
// reports whether that is all: other persons have to vote, too. Else the decision counts, with all
// its votes in the log.
//
// An edit asks again about the edited call, with the vote of its sender and the needs as they are,
// even if the policy has no question about the edited call: the other persons have not seen it.
// Terms that differ ask again without a vote.
func (d *Draft) voteOn(in Decisions, a *fold.Approval, answer approval.Decision, edit *examined) (done bool, err error) {
	if len(a.Terms.Needs) == 0 {
		return false, nil
	}
	digest := a.Digest
	switch answer.Type { //nolint:exhaustive // the others are no votes
	case approval.Approve:
	case approval.Edit:
		if edit.verdict.Action == approval.ActionAsk && !edit.verdict.Terms.Same(a.Terms) {
			return false, nil
		}
		if digest, err = d.digest(a.Kind, edit.entry, edit.args, a.Attempt); err != nil {
			return false, editError(&a.Approval, err)
		}
	default:
		return false, nil
	}
	voter := approval.Decider{By: in.By, Via: in.Via}
	vote := a.NewVote(voter, digest, answer.Reason, d.at.Now)
	if answer.Type == approval.Edit && len(approval.Open([]approval.Vote{vote}, a.Terms.Needs, digest)) > 0 {
		if edit.verdict.Action != approval.ActionAsk {
			edit.verdict.Hint, edit.verdict.Terms = fmt.Sprintf("May %s run with these edited arguments?", a.Tool), a.Terms
		}
		edit.editor = &voter
		return true, d.askEdited(in, a, answer, edit)
	}
	if err := d.add(event.KindVoted, &event.ApprovalVoted{ID: a.ID, Vote: vote}); err != nil {
		return false, err
	}
	d.voted, d.settles = true, true
	if err := d.recordVote(&a.Approval, &vote); err != nil || a.Met(digest) {
		return false, err
	}
	return true, d.putApproval(a)
}

// recordVote adds the audit entry of a vote.
func (d *asking) recordVote(a *approval.Approval, v *approval.Vote) error {
	return d.record(approval.Audit{What: approval.AuditVoted, Approval: a.ID, Call: a.Call, Tool: a.Tool, Digest: v.Digest, Gate: a.Terms.Gate, By: v.By, Via: v.Via, Reason: v.Reason})
}
