package rules

import (
	"crypto/sha256"
	"fmt"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// Audited is an audit entry to report in the process's log.
type Audited struct {
	approval.Audit
	Routine bool      // the start or end of a call without an approval or grant
	Asked   time.Time // when a resolved approval was requested; zero: the entry resolves none
	Verdict Verdict   // that the entry follows; zero: it follows none
}

// Verdict is what the policy has said about a call that has not run, and the gate that said it.
type Verdict struct {
	Action approval.Action
	Gate   string // "": a hook
}

// follows notes a verdict at the last audit entry that follows from it, if there is one after the first n.
func (add *additions) follows(n int, v Verdict) {
	if len(add.audited) > n {
		add.audited[len(add.audited)-1].Verdict = v
	}
}

// record adds an audit entry, with its digest keyed.
func (add *additions) record(b basis, entry approval.Audit) {
	entry.V, entry.At, entry.Task = approval.Version, b.Now, b.View.IDs().Task
	entry.Tenant, entry.Owner = b.Owner.Tenant, b.Owner.Subject
	stored := entry
	if entry.Digest != "" {
		add.needAuditKey(b)
		stored.Digest = approval.KeyedDigest(b.AuditKey, entry.Digest)
	}
	start := len(add.buf)
	if buf, err := event.AppendAudit(add.buf, &stored); err == nil {
		add.buf = buf
	} else {
		add.fail(fmt.Errorf("encode audit entry: %w", err))
	}
	add.audit = append(add.audit, add.since(start))
	routine := (entry.What == approval.AuditStarted || entry.What == approval.AuditFinished) && !b.Asked(entry.Call) && entry.Grant == ""
	if !routine || b.EachCall != nil && b.EachCall() {
		add.audited = append(add.audited, Audited{Audit: stored, Routine: routine})
	}
}

// needAuditKey adds the key of the task's audit, if the task has none. It is made from two new
// ids, which have 62 random bits each.
func (add *additions) needAuditKey(b basis) {
	if b.AuditKey == nil {
		sum := sha256.Sum256([]byte("key of an audit\x00" + b.NewID() + b.NewID()))
		add.event(b, event.KindAuditKey, &event.AuditKey{Key: sum[:16]})
	}
}

// OfStore returns the JSON of an audit entry about the whole store, which has no task.
func OfStore(what approval.AuditEvent, by auth.Principal, reason string, at time.Time) ([]byte, error) {
	return encodeAudit(&approval.Audit{V: approval.Version, At: at.UTC(), What: what, By: by, Reason: reason})
}

func encodeAudit(entry *approval.Audit) ([]byte, error) {
	data, err := event.AppendAudit(nil, entry)
	if err != nil {
		return nil, fmt.Errorf("encode audit entry: %w", err)
	}
	return data, nil
}

// Deletion returns the audit entry for the deletion of a task, and its JSON. by is the
// principal that deletes it, owner the owner of the task. The entry is written with the first
// step of the deletion, so that nothing is deleted without a record.
func Deletion(id store.TaskID, owner store.Scope, by auth.Principal, at time.Time) (Audited, []byte, error) {
	entry := approval.Audit{V: approval.Version, At: at, What: approval.AuditDeleting, Task: id.String(), Tenant: owner.TenantName(), Owner: owner.Subject(), By: by}
	data, err := encodeAudit(&entry)
	return Audited{Audit: entry}, data, err
}
