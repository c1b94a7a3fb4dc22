package engine

import (
	"context"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/engine/internal/tasklog"
)

// AuditEntry is an entry of the audit and its number. Numbers begin with 1 and follow the commits.
type AuditEntry struct {
	N uint64
	approval.Audit
}

// auditSpan is the number of entries that a call of [Engine.Audit] scans per entry of its
// limit.
const auditSpan = 10

// Audit returns up to limit entries with a number above after that by may see, in order, and
// the number to continue after. limit defaults to 50 and is at most 1,000. A call scans 10
// times as many entries, so it may return none while next moves on; at the end, next is after.
//
// Entries of a task need the right to read it, and entries about its approvals and grants the right to
// review them, as [ScopeFor] says, also after the task is deleted. [auth.Admin] adds the tasks
// that were created without authentication, and alone shows entries about the whole store. Damaged entries are left out. A principal with none of the three
// rights gets an [*auth.DeniedError].
func (e *Engine) Audit(ctx context.Context, by auth.Principal, after uint64, limit int) (entries []AuditEntry, next uint64, err error) {
	sight, err := AuditSightOf(by)
	if err != nil {
		return nil, after, err
	}
	limit = store.PageSize(limit)
	scanned := 0
	next, err = e.EachAudit(ctx, after, func(entry *AuditEntry) bool {
		if sight.Sees(&entry.Audit) {
			entries = append(entries, *entry)
		}
		scanned++
		return len(entries) < limit && scanned < auditSpan*limit
	})
	if err != nil {
		return nil, after, err
	}
	return entries, next, nil
}

// AuditSight is the part of the audit that a principal may see. It is immutable.
type AuditSight struct{ read, review, admin store.Scope } // of tasks, of approvals, and of tasks created without authentication

// AuditSightOf returns the AuditSight of by, or an [*auth.DeniedError] if that is empty, as
// [Engine.Audit] says.
func AuditSightOf(by auth.Principal) (AuditSight, error) {
	if denied := by.May(auth.Read); denied != nil && by.May(auth.Review) != nil && by.May(auth.Admin) != nil {
		return AuditSight{}, denied
	}
	return AuditSight{
		read: ScopeFor(by, auth.Read), review: ScopeFor(by, auth.Review),
		admin: scopeIn(by, auth.Admin, true /* anonymous */),
	}, nil
}

// Sees reports whether an entry may be shown.
func (s AuditSight) Sees(a *approval.Audit) bool {
	if a.Owner == "" {
		return s.admin != store.Scope{}
	}
	owner := store.Owner(a.Tenant, a.Owner)
	return s.read.Covers(owner) || (a.Approval != "" || a.Grant != "") && s.review.Covers(owner) || s.admin.Covers(owner)
}

// decodeAudit decodes a stored entry, and reports whether it can be read.
func decodeAudit(stored *store.AuditEntry) (AuditEntry, bool) {
	if stored.Damaged {
		return AuditEntry{}, false
	}
	a, err := approval.DecodeAudit(stored.Data)
	return AuditEntry{stored.N, a}, err == nil
}

// EachAudit calls yield with every readable entry after a number, in order and of every owner,
// until there are no more or yield returns false, and returns the number to continue after. It
// is for a reader that serves several principals: ask [AuditSight.Sees] for each.
func (e *Engine) EachAudit(ctx context.Context, after uint64, yield func(*AuditEntry) bool) (next uint64, err error) {
	const page = 200
	for {
		entries, err := e.env.Store.Audit(ctx, after, page)
		if err != nil {
			return after, tasklog.Translate(err)
		}
		for i := range entries {
			after = entries[i].N
			if one, ok := decodeAudit(&entries[i]); ok && !yield(&one) {
				return after, nil
			}
		}
		if len(entries) < page {
			return after, nil
		}
	}
}

// WatchAudit returns a channel that receives after each commit of this engine that adds
// entries to the audit, and sometimes without such a commit. A value may report several
// commits: call WatchAudit, then Audit, then wait. stop ends the watch and may be called more
// than once; the channel is never closed.
func (e *Engine) WatchAudit() (wake <-chan struct{}, stop func()) {
	return e.audits.Watch(store.System(), struct{}{})
}
