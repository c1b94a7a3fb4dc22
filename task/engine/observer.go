package engine

import (
	"fmt"
	"runtime/debug"

	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/rules"
)

// Audited is an audit entry as observers get it, with its digest keyed as in the audit.
type Audited = rules.Audited

// Observer is told of changes to tasks, once each is durable. A nil function is not called.
//
// The functions are called outside all locks, by the goroutine that has made the change, before
// this goroutine continues: they must not block, and must not wait for anything of the engine.
// Changes to different tasks may be reported at the same time. What a process has committed right
// before it ends may never be reported: whoever needs all of it reads the audit. Entries must not
// be changed. A panic is logged, and harms no task.
type Observer struct {
	Asked   func(*Audited) // an approval was requested
	Decided func(*Audited) // an approval was resolved, or got a vote or another deadline
	Started func(*Audited) // a call has started
	Ended   func(*Audited) // a call has ended, in time or late, has an unknown outcome or was canceled with its task
	Deleted func(*Audited) // a webhook was deleted, the deletion of a task has begun, or a grant was revoked

	Committed func(ID) // a task has changed in any way, except by the output of running calls; called after the others
	Queued    func(ID) // a task waits for its turn, and its status says so

	// Refused is called with each decision that does not count, and the reason: an
	// [approval.Reason], or a Barred constant of package approval for a sender who may not decide.
	Refused func(id ID, why string)
}

// observers are told of changes in their order.
type observers struct {
	list []Observer
	log  *zerolog.Logger
}

// audited reports audit entries, which must be durable.
func (o *observers) audited(entries []rules.Audited) {
	for i := range entries {
		a := &entries[i]
		o.tell(func(observer *Observer) {
			if f := observer.of(a.What); f != nil {
				f(a)
			}
		})
	}
}

// committed reports the change of a task, with its audit entries.
func (o *observers) committed(id store.TaskID, entries []rules.Audited) {
	o.audited(entries)
	o.tell(func(observer *Observer) {
		if observer.Committed != nil {
			observer.Committed(id)
		}
	})
}

// queued reports that a task waits for its turn.
func (o *observers) queued(id store.TaskID) {
	o.tell(func(observer *Observer) {
		if observer.Queued != nil {
			observer.Queued(id)
		}
	})
}

// refused reports a decision that does not count.
func (o *observers) refused(id store.TaskID, why string) {
	o.tell(func(observer *Observer) {
		if observer.Refused != nil {
			observer.Refused(id, why)
		}
	})
}

// tell calls f with each observer. A panic of an observer harms no task, and no other observer.
func (o *observers) tell(f func(*Observer)) {
	for i := range o.list {
		func() {
			defer func() {
				if p := recover(); p != nil {
					o.log.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("observer panicked")
				}
			}()
			f(&o.list[i])
		}()
	}
}

// of returns the function for an audit entry.
func (o *Observer) of(what approval.AuditEvent) func(*rules.Audited) {
	switch what {
	case approval.AuditAsked:
		return o.Asked
	case approval.AuditVoted, approval.AuditResolved, approval.AuditKept, approval.AuditReminded, approval.AuditEscalated, approval.AuditExtended:
		return o.Decided
	case approval.AuditStarted:
		return o.Started
	case approval.AuditFinished, approval.AuditLate, approval.AuditUnknown, approval.AuditCanceled:
		return o.Ended
	case approval.AuditDeleting, approval.AuditWebhook, approval.AuditGrantRevoked:
		return o.Deleted
	case approval.AuditRestored, approval.AuditResumed, approval.AuditSweep: // about no task
	}
	return nil
}
