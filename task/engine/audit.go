package engine

import (
	"context"
	"sync"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
)

// AuditEntry is an entry of the audit and its number. Numbers begin with 1 and follow the commits.
type AuditEntry struct {
	N uint64
	approval.Audit
}

// auditSpan is how many entries one call of [Engine.Audit] looks at for each that it may return.
const auditSpan = 10

// Audit returns up to limit entries with a number above after that by may see, in order, and the
// number to continue after. limit defaults to 50 and is at most 1,000. A call looks at 10 times as
// many entries, so it may return none while next moves on; there are no more if next is after.
//
// The entries of a task are for those who may read it, and the ones about its approvals for those
// who may review them, as [ScopeFor] says, also after the task is deleted. [auth.Admin] gives those
// of tasks that were created without authentication, and alone gives those of V 1, which do not say
// whose task they are about. Damaged entries are left out. A principal that may do none of the
// three gets an [*auth.DeniedError].
func (e *Engine) Audit(ctx context.Context, by auth.Principal, after uint64, limit int) (entries []AuditEntry, next uint64, err error) {
	if denied := by.May(auth.Read); denied != nil && by.May(auth.Review) != nil && by.May(auth.Admin) != nil {
		return nil, after, denied
	}
	sight := auditSight{
		read: ScopeFor(by, auth.Read), review: ScopeFor(by, auth.Review),
		admin: scopeIn(by, auth.Admin, true /* anonymous */),
	}
	limit, next = store.PageSize(limit), after
	for range auditSpan {
		page, err := e.store.Audit(ctx, next, limit)
		if err != nil {
			return nil, after, translate(err)
		}
		for i := range page {
			next = page[i].N
			if entry, ok := sight.of(&page[i]); ok {
				if entries = append(entries, entry); len(entries) == limit {
					return entries, next, nil
				}
			}
		}
		if len(page) < limit {
			break
		}
	}
	return entries, next, nil
}

// auditSight is what a principal may see of the audit: entries about tasks in read, about
// approvals in review, and about what was created without authentication in admin.
type auditSight struct{ read, review, admin store.Scope }

// of decodes a stored entry, and reports whether it may be seen.
func (s *auditSight) of(stored *store.AuditEntry) (AuditEntry, bool) {
	if stored.Damaged {
		return AuditEntry{}, false
	}
	a, err := approval.DecodeAudit(stored.Data)
	if err != nil {
		return AuditEntry{}, false
	}
	entry := AuditEntry{stored.N, a}
	if a.V != approval.AuditVersion || a.Owner == "" {
		return entry, s.admin != store.Scope{}
	}
	owner := store.Owner(a.Tenant, a.Owner)
	return entry, s.read.Covers(owner) || a.Approval != "" && s.review.Covers(owner) || s.admin.Covers(owner)
}

// WatchAudit returns a channel that receives after each commit of this engine that adds entries to
// the audit, and sometimes without one. Several commits may be reported by one value: call
// WatchAudit, then Audit, then wait. stop ends the watch and may be called more than once; the
// channel is never closed.
func (e *Engine) WatchAudit() (wake <-chan struct{}, stop func()) { return e.audits.watch() }

// auditWatchers wakes readers of the audit. Its zero value is ready to use, and it is safe for
// concurrent use.
type auditWatchers struct {
	mu  sync.Mutex
	all map[chan struct{}]struct{} // each holds one: wake-ups coalesce
}

func (w *auditWatchers) watch() (wake <-chan struct{}, stop func()) {
	one := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[chan struct{}]struct{}{}
	}
	w.all[one] = struct{}{}
	return one, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, one)
	}
}

func (w *auditWatchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all {
		signal(one)
	}
}
