package rules

import (
	"cmp"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
)

// recordVote adds the audit entry of a vote.
func recordVote(add additions, b basis, a *approval.Approval, v *approval.Vote) additions {
	return recordOf(add, b, a, approval.Audit{What: approval.AuditVoted, Digest: v.Digest, By: v.By, Via: v.Via, Reason: v.Reason})
}

// recordOf adds an audit entry about an approval, with the digest of the call that it shows unless entry has another.
func recordOf(add additions, b basis, a *approval.Approval, entry approval.Audit) additions {
	entry.Approval, entry.Call, entry.Tool, entry.Gate, entry.Digest = a.ID, a.Call, a.Tool, a.Terms.Gate, cmp.Or(entry.Digest, a.Digest)
	add.record(b, entry)
	return add
}

// changeApproval adds an event that changes a pending approval, the row of the approval, and an audit entry, which has the
// deadline after it or, if the event has removed that, its own.
func changeApproval(add additions, b basis, a *fold.Approval, kind string, e any, entry approval.Audit) additions {
	add.event(b, kind, e)
	if a.Deadline != nil {
		entry.Deadline = a.Deadline
	}
	add = putApproval(add, b, a)
	return recordOf(add, b, &a.Approval, entry)
}

// putApproval writes the approval's row without checking the row's own rev: the task's
// rev guards it.
func putApproval(add additions, b basis, a *fold.Approval) additions {
	row, err := record.Encode(record.KindApproval, []byte(a.ID), store.Any, &a.Approval)
	row.Index = ApprovalKeys(store.Owner(b.Owner.Tenant, b.Owner.Subject), &a.Approval)
	add.rows = append(add.rows, row)
	return add.failed(err)
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
		keys = append(keys, store.IndexKey{Index: record.IndexHides, Key: []byte(a.Task)})
	}
	return keys
}

// pendingKeys are the keys of a pending approval of an owner's task in [record.IndexPending],
// [record.IndexOwn], [record.IndexDeadline] and [record.IndexEqual]: the tenant or the owner, or what it asks, and
// then the time of the request, or the deadline. No deadline is after all others.
func pendingKeys(owner store.Scope, a *approval.Approval) []store.IndexKey {
	deadline := ^uint64(0)
	if a.Deadline != nil {
		deadline = uint64(store.MillisOf(*a.Deadline))
	}
	key := func(index string, prefix []byte, at uint64) store.IndexKey {
		return store.IndexKey{Index: index, Key: fmt.Appendf(prefix, "%016x", at)}
	}
	tenant, own, asked := record.PendingPrefix(owner.TenantName()), record.ScopePrefix(owner), uint64(store.MillisOf(a.Asked))
	return []store.IndexKey{
		key(record.IndexPending, slices.Clone(tenant), asked), key(record.IndexOwn, slices.Clone(own), asked),
		key(record.IndexDeadline, tenant, deadline), key(record.IndexDeadline, own, deadline),
		key(record.IndexEqual, record.EqualPrefix(owner.TenantName(), a.Tool, a.Digest, a.Hides()), asked),
	}
}

// settledKeys are the keys of a settled approval in [record.IndexSettled], [record.IndexTool] and
// [record.IndexDigest].
func settledKeys(tenant string, a *approval.Approval) []store.IndexKey {
	newest := ^uint64(0) - uint64(store.MillisOf(a.Resolution.At))
	key := func(index string, prefix []byte) store.IndexKey {
		return store.IndexKey{Index: index, Key: fmt.Appendf(prefix, "%016x", newest)}
	}
	return []store.IndexKey{
		key(record.IndexSettled, record.PendingPrefix(tenant)),
		key(record.IndexTool, record.ToolPrefix(tenant, a.Tool)),
		key(record.IndexDigest, record.DigestPrefix(tenant, a.Tool, a.Digest)),
	}
}

// resolve ends an approval: event, row, deadline, notifications and audit.
func resolve(add additions, b basis, a *fold.Approval, state approval.State, r approval.Resolution) additions {
	deadline, unset := a.Deadline, timers(b, a)
	add.event(b, event.KindResolved, &event.ApprovalResolved{ID: a.ID, State: state, Resolution: r})
	add = putApproval(add, b, a)
	for _, due := range unset {
		add.due = append(add.due, removed(due))
	}
	add.resolved, add.settles = append(add.resolved, a.ID), true
	add = announce(add, b, &a.Approval, task.NotifyResolved)
	entry := approval.Audit{What: approval.AuditResolved, Digest: r.Digest, State: state, By: r.By, Via: r.Via, Reason: r.Reason}
	if r.Grant != nil {
		entry.Grant = r.Grant.ID
	}
	if state == approval.Expired {
		entry.Deadline = deadline
	}
	add = recordOf(add, b, &a.Approval, entry)
	add.audited[len(add.audited)-1].Asked = a.Asked // never routine, so the entry is there
	return add
}

// announce adds the notifications of an event of an approval: a row for each route that takes it.
func announce(add additions, b basis, a *approval.Approval, event string) additions {
	for i := range b.Routes {
		r := &b.Routes[i]
		if !r.Takes(event, a.Routes()) && !escalatesTo(a, r, event) {
			continue
		}
		row, err := (&record.Notification{V: record.Version, Approval: a.ID, Event: event, Route: r.Name, At: b.millis()}).Row(store.Any)
		if err != nil {
			return add.failed(err)
		}
		add.rows = append(add.rows, row)
	}
	return add
}

// escalatesTo reports whether an event is an escalation that names a route, which is then told
// whatever events it takes.
func escalatesTo(a *approval.Approval, r *task.Route, event string) bool {
	return event == task.NotifyEscalated && !r.Requester && slices.Contains(a.Terms.Escalate.Notify, r.Name)
}

// supersede ends an approval because its question is out of date.
func supersede(add additions, b basis, a *fold.Approval, why string) additions {
	return resolve(add, b, a, approval.Superseded, approval.Resolution{Via: approval.ViaSystem, At: b.Now, Reason: why})
}

// resolveAll ends all pending approvals of a call, or of the task if c is nil.
func resolveAll(add additions, b basis, c *fold.Call, state approval.State, r approval.Resolution) additions {
	for _, a := range b.Approvals {
		if a.State != approval.Pending || c != nil && a.Call != c.ID {
			continue
		}
		add = resolve(add, b, a, state, r)
	}
	return add
}

// closeAsks supersedes all questions about a call that no longer needs their answers.
func closeAsks(add additions, b basis, c *fold.Call, why string) additions {
	return resolveAll(add, b, c, approval.Superseded, approval.Resolution{Via: approval.ViaSystem, At: b.Now, Reason: why})
}

// withdraw supersedes an approval if it is pending.
func withdraw(add additions, b basis, id, why string) additions {
	if a := b.Approval(id); a != nil && a.State == approval.Pending {
		return supersede(add, b, a, why)
	}
	return add
}

// notHeld is the reason for closing a question whose call no longer waits for the answer.
const notHeld = "the call does not wait for the answer any longer"
