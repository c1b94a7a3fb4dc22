package rules

import (
	"cmp"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// ask adds an approval: event, row, deadline, notifications and audit.
func (d *Draft) ask(a *approval.Approval) {
	d.add(event.KindAsked, a)
	asked := d.f.Approval(a.ID)
	d.putApproval(asked)
	if a.Deadline != nil {
		d.due = append(d.due, expiry(a))
	}
	d.due = append(d.due, reminders(a)...)
	if d.rules.offers(a) {
		d.due = append(d.due, d.rules.silence(a))
	}
	d.asked = append(d.asked, &asked.Approval)
	d.announce(a, task.NotifyAsked)
	d.recordOf(a, approval.Audit{What: approval.AuditAsked, By: a.Requester, Deadline: a.Deadline})
	for i := range a.Votes {
		d.recordVote(a, &a.Votes[i])
	}
}

// recordVote adds the audit entry of a vote.
func (d *Draft) recordVote(a *approval.Approval, v *approval.Vote) {
	d.recordOf(a, approval.Audit{What: approval.AuditVoted, Digest: v.Digest, By: v.By, Via: v.Via, Reason: v.Reason})
}

// recordOf adds an audit entry about an approval, with the digest of the call that it shows unless entry has another.
func (d *Draft) recordOf(a *approval.Approval, entry approval.Audit) {
	entry.Approval, entry.Call, entry.Tool, entry.Gate, entry.Digest = a.ID, a.Call, a.Tool, a.Terms.Gate, cmp.Or(entry.Digest, a.Digest)
	d.record(entry)
}

// changed adds an event that changes a pending approval, the row of the approval, and an audit entry, which has the
// deadline after it or, if the event has removed that, its own.
func (d *Draft) changed(a *fold.Approval, kind string, e any, entry approval.Audit) {
	d.add(kind, e)
	if a.Deadline != nil {
		entry.Deadline = a.Deadline
	}
	d.putApproval(a)
	d.recordOf(&a.Approval, entry)
}

// putApproval writes the approval's row without checking the row's own rev: the task's
// rev guards it.
func (d *Draft) putApproval(a *fold.Approval) {
	row, err := task.EncodeRow(task.RowApproval, []byte(a.ID), store.Any, &a.Approval)
	row.Index = ApprovalKeys(store.Owner(d.f.Owner.Tenant, d.f.Owner.Subject), &a.Approval)
	d.rows = append(d.rows, row)
	d.fail(err)
}

// ApprovalKeys returns the keys of an approval of an owner's task in all indexes.
func ApprovalKeys(owner store.Scope, a *approval.Approval) (keys []store.IndexKey) {
	switch {
	case a.State == approval.Pending:
		keys = pendingKeys(owner, a)
	case a.Resolution != nil:
		keys = settledKeys(owner.TenantName(), a)
	}
	if a.Hides() {
		keys = append(keys, store.IndexKey{Index: task.IndexHides, Key: []byte(a.Task)})
	}
	return keys
}

// pendingKeys are the keys of a pending approval of an owner's task in [task.IndexPending],
// [task.IndexOwn], [task.IndexDeadline] and [task.IndexEqual]: the tenant or the owner, or what it asks, and
// then the time of the request, or the deadline. No deadline is after all others.
func pendingKeys(owner store.Scope, a *approval.Approval) []store.IndexKey {
	deadline := ^uint64(0)
	if a.Deadline != nil {
		deadline = uint64(store.MillisOf(*a.Deadline))
	}
	key := func(index string, prefix []byte, at uint64) store.IndexKey {
		return store.IndexKey{Index: index, Key: fmt.Appendf(prefix, "%016x", at)}
	}
	tenant, own, asked := task.PendingPrefix(owner.TenantName()), task.ScopePrefix(owner), uint64(store.MillisOf(a.Asked))
	return []store.IndexKey{
		key(task.IndexPending, slices.Clone(tenant), asked), key(task.IndexOwn, slices.Clone(own), asked),
		key(task.IndexDeadline, tenant, deadline), key(task.IndexDeadline, own, deadline),
		key(task.IndexEqual, task.EqualPrefix(owner.TenantName(), a.Tool, a.Digest, a.Hides()), asked),
	}
}

// settledKeys are the keys of a settled approval in [task.IndexSettled], [task.IndexTool] and
// [task.IndexDigest].
func settledKeys(tenant string, a *approval.Approval) []store.IndexKey {
	newest := ^uint64(0) - uint64(store.MillisOf(a.Resolution.At))
	key := func(index string, prefix []byte) store.IndexKey {
		return store.IndexKey{Index: index, Key: fmt.Appendf(prefix, "%016x", newest)}
	}
	return []store.IndexKey{
		key(task.IndexSettled, task.PendingPrefix(tenant)),
		key(task.IndexTool, task.ToolPrefix(tenant, a.Tool)),
		key(task.IndexDigest, task.DigestPrefix(tenant, a.Tool, a.Digest)),
	}
}

// resolve ends an approval: event, row, deadline, notifications and audit.
func (d *Draft) resolve(a *fold.Approval, state approval.State, r approval.Resolution) {
	deadline, later := a.Deadline, reminders(&a.Approval)
	d.add(event.KindResolved, &event.ApprovalResolved{ID: a.ID, State: state, Resolution: r})
	d.putApproval(a)
	if deadline != nil {
		d.due = append(d.due, removed(expiry(&a.Approval)))
	}
	for _, due := range later {
		d.due = append(d.due, removed(due))
	}
	if !a.Opened && d.rules.offers(&a.Approval) {
		d.due = append(d.due, removed(d.rules.silence(&a.Approval)))
	}
	d.resolved, d.settles = append(d.resolved, a.ID), true
	d.announce(&a.Approval, task.NotifyResolved)
	entry := approval.Audit{What: approval.AuditResolved, Digest: r.Digest, State: state, By: r.By, Via: r.Via, Reason: r.Reason}
	if r.Grant != nil {
		entry.Grant = r.Grant.ID
	}
	if state == approval.Expired {
		entry.Deadline = deadline
	}
	d.recordOf(&a.Approval, entry)
	d.audited[len(d.audited)-1].Asked = a.Asked // never routine, so the entry is there
}

// announce adds the notifications of an event of an approval: a row for each route that takes it.
func (d *Draft) announce(a *approval.Approval, event string) {
	for i := range d.rules.Routes {
		r := &d.rules.Routes[i]
		if !r.Takes(event, a.Routes()) && !escalatesTo(a, r, event) {
			continue
		}
		row, err := (&task.Notification{V: task.RowVersion, Approval: a.ID, Event: event, Route: r.Name, At: d.at.millis()}).Row(store.Any)
		if err != nil {
			d.fail(err)
			return
		}
		d.rows = append(d.rows, row)
	}
}

// escalatesTo reports whether an event is an escalation that names a route, which is then told
// whatever events it takes.
func escalatesTo(a *approval.Approval, r *task.Route, event string) bool {
	return event == task.NotifyEscalated && !r.Requester && slices.Contains(a.Terms.Escalate.Notify, r.Name)
}

// keepMailbox adds the address of the requester of a new task, if a route writes to requesters.
func (d *Draft) keepMailbox(address string) {
	if address != "" && slices.ContainsFunc(d.rules.Routes, func(r task.Route) bool { return r.Requester }) {
		d.rows = append(d.rows, store.RowChange{Kind: task.RowMailbox, Key: []byte(task.MailboxKey), IfRev: store.Any, Value: []byte(address)})
	}
}

// supersede ends an approval because its question is out of date.
func (d *Draft) supersede(a *fold.Approval, why string) {
	d.resolve(a, approval.Superseded, approval.Resolution{Via: approval.ViaSystem, At: d.at.Now, Reason: why})
}

// resolveAll ends all pending approvals of a call, or of the task if c is nil.
func (d *Draft) resolveAll(c *fold.Call, state approval.State, r approval.Resolution) {
	for _, a := range d.f.Approvals {
		if a.State != approval.Pending || c != nil && a.Call != c.ID {
			continue
		}
		d.resolve(a, state, r)
	}
}

// closeAsks supersedes all questions about a call that no longer needs their answers.
func (d *Draft) closeAsks(c *fold.Call, why string) {
	d.resolveAll(c, approval.Superseded, approval.Resolution{Via: approval.ViaSystem, At: d.at.Now, Reason: why})
}

// withdraw supersedes an approval if it is pending.
func (d *Draft) withdraw(id, why string) {
	if a := d.f.Approval(id); a != nil && a.State == approval.Pending {
		d.supersede(a, why)
		return
	}
}

// notHeld is the reason for closing a question whose call no longer waits for the answer.
const notHeld = "the call does not wait for the answer any longer"

// closeHeld supersedes the question that holds a call, if there is one.
func (d *Draft) closeHeld(c *fold.Call) { d.withdraw(c.Held, notHeld) }

// abandoned reports whether a pending approval holds a call that does not wait in this
// process: its process has died, and the answer would not arrive.
func abandoned(b basis, a *approval.Approval) bool {
	return a.Held && a.State == approval.Pending && (b.at.Holds == nil || !b.at.Holds(a.ID))
}

// expires reports whether an approval is overdue. A question of a running call whose expiry
// would cancel the task does not expire unless it holds the call: the call may no longer need
// the answer.
func expires(b basis, a *fold.Approval) bool {
	if c := b.f.Call(a.Call); a.Ask != "" && !a.Held && a.Terms.OnExpiry == approval.ExpiryCancels && c != nil && c.State == fold.CallRunning {
		return false
	}
	return approval.Overdue(&a.Approval, b.at.Now)
}

// overdue reports whether a pending approval is overdue.
func overdue(b basis) bool {
	return slices.ContainsFunc(b.f.Approvals, func(a *fold.Approval) bool { return a.State == approval.Pending && expires(b, a) })
}

// approvalOf returns the newest approval that asks whether a call may run, or nil.
func approvalOf(b basis, c *fold.Call) *fold.Approval {
	return b.f.Newest(func(a *fold.Approval) bool { return a.Call == c.ID && a.Ask == "" && a.Kind == approval.KindCall })
}

// news reports whether an approval was requested or resolved, by the draft or by another
// writer.
func (d *Draft) news() bool { return d.told || len(d.asked) > 0 || len(d.resolved) > 0 }

// wrongCodes returns the pending approvals that answers name with a wrong code, and whether
// any answer has a code.
func wrongCodes(b basis, answers []approval.Decision) (wrong []string, coded bool) {
	for _, answer := range answers {
		a, err := approval.Find(answer, b.f.AllApprovals())
		if err != nil || a.State != approval.Pending || answer.Code == "" {
			continue
		}
		if coded = true; a.WrongCode(answer) && !slices.Contains(wrong, a.ID) {
			wrong = append(wrong, a.ID)
		}
	}
	return wrong, coded
}

// rejectedBefore returns the rejection of the same call earlier in the task, nil if there is none. It
// decides before any grant: it is about this very call.
func rejectedBefore(b basis, c *fold.Call, x *examined) *fold.Approval {
	if c.Attempt > 0 || c.Restored {
		return nil
	}
	return b.f.Newest(func(a *fold.Approval) bool {
		if a.Kind != approval.KindCall || a.Ask != "" || a.State != approval.Rejected || a.Void || a.Tool != c.Tool || a.Call == c.ID {
			return false
		}
		same, _ := bound(b, a, &x.checked)
		return same
	})
}

// rejectedAgain ends a call that was rejected before, when the agent asks for it again.
func (d *Draft) rejectedAgain(c *fold.Call, before *fold.Approval) {
	text := fmt.Sprintf("the same call was rejected before in this task (%s)", before.ID)
	if why := before.Resolution.Reason; why != "" {
		text += ": " + why
	}
	if d.refused(c, task.OutcomeRejected, text) {
		return
	}
	d.artifact(&event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: event.TextPart(visible.Text(text)), Last: true})
	d.notRun(c, ending{outcome: task.OutcomeRejected, problem: text})
}
