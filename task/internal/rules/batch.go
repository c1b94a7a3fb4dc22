package rules

import (
	"fmt"
	"slices"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
)

// Draft is a batch under construction. Each event is folded as it is added, so that later
// decisions take it into account; if a draft does not commit, its fold must be discarded.
// It is not safe for concurrent use.
type Draft struct {
	basis
	environment At     // which basis names
	rev         uint64 // of the task before it

	added    additions
	pending  uint32 // approvals, when the batch was made
	accepted Lookup // of the message, for the plan that follows at once

	// Initial storage for events and audit, so that a draft of usual size is a single
	// allocation of 768 bytes, which another field would exceed.
	firstEvents [draftEvents]store.Event
	firstAudit  [draftAudit][]byte
}

// Initial capacity of a draft: enough for the events of a call from its message to its start,
// or from its start to its end.
const (
	draftBytes  = 1024 // not counting the message
	draftEvents = 5
	draftAudit  = 1
)

// Fold returns the fold with the draft on top of it.
func (d *Draft) Fold() *fold.Fold { return d.f }

// Launch returns the entries to run once the draft is durable, and not before.
func (d *Draft) Launch() []*Execution { return d.added.launch }

// Audited returns the audit entries that the draft adds. It includes routine entries only with
// [Rules.EachCall].
func (d *Draft) Audited() []Audited { return d.added.audited }

// Audits reports whether the draft adds audit entries, routine or not.
func (d *Draft) Audits() bool { return len(d.added.audit) > 0 }

// Settles reports whether the draft contains a decision about an approval, a vote, a passed deadline,
// or the cancel of a call. Such a draft is never refused for lack of room.
func (d *Draft) Settles() bool { return d.added.settles }

// Phase returns the phase that the draft puts the task into; zero means that it does not
// change.
func (d *Draft) Phase() store.Phase { return d.added.phase }

// HasDue reports whether the draft adds or removes due work.
func (d *Draft) HasDue() bool { return len(d.added.due) > 0 }

// HasLooks reports whether the draft adds due work of kind [task.DueLook].
func (d *Draft) HasLooks() bool {
	return slices.ContainsFunc(d.added.due, func(c store.DueChange) bool { return c.Kind == task.DueLook && !c.Delete })
}

// Quiet reports whether the task's turn need not be notified of the draft.
func (d *Draft) Quiet() bool { return d.added.quiet }

// Rests reports whether a parked task stays parked with the draft.
func (d *Draft) Rests() bool {
	add := &d.added // due work and audit entries are no reason to run the task
	return add.quiet || add.phase == store.Parked || !add.force && len(add.events) == 0 && len(add.rows) == 0 && add.phase == 0
}

// Empty reports whether there is nothing to commit and nothing to continue with.
func (d *Draft) Empty() bool { return d.added.blank() }

// Batch returns the draft as a batch on top of the task's rev. fence is that of the turn
// that wrote the draft, nil if no turn did.
func (d *Draft) Batch(scope store.Scope, fence *uint64) *store.Batch {
	d.pending = uint32(len(d.f.Pending()))
	b := &store.Batch{
		Scope: scope, Task: d.f.Header.Task, Rev: &d.rev, Fence: fence,
		Change: store.Change{Phase: d.added.phase, TakeFence: d.added.fence, Pending: &d.pending},
		Events: d.added.events, Due: d.added.due, Audit: d.added.audit,
	}
	b.Rows, b.Needs = withGrants(d.basis, &d.added, withReady(d.basis, &d.added))
	if d.added.status.State != 0 {
		b.Change.Status = &d.added.status
	}
	if b.HasContextRows() {
		b.ContextRows = fold.SessionBound()
	}
	if d.rev == 0 {
		b.Change.Context = d.f.View.ContextID()
	}
	return b
}

// TakeOver makes the draft take over the right to run the task, by a new fence.
func (d *Draft) TakeOver() { d.added.fence = true }

// Committed updates the fold's header with the receipt of the committed draft.
func (d *Draft) Committed(r store.Receipt) {
	h := &d.f.Header
	h.Seq, h.Rev, h.Fence = r.Last, r.Rev, r.Fence
	if d.added.phase != 0 {
		h.Phase = d.added.phase
	}
}

// problem reports a problem of the task.
func problem(b basis, what string, err error) {
	b.rules.report(Problem{Task: b.f.View.TaskID(), What: what, Err: err})
}

// addEvent adds a private event: it encodes v, and folds v itself.
func addEvent(add additions, b basis, kind string, v any) additions {
	start := len(add.buf)
	var err error
	if add.buf, err = event.Append(add.buf, v); err != nil {
		add.fail(fmt.Errorf("encode event %s: %w", kind, err))
	}
	add.events = append(add.events, store.Event{Kind: kind, Time: b.at.millis(), Data: add.since(start)})
	b.f.Count(len(add.buf) - start)
	add.fail(b.f.ApplyPrivate(v))
	return add
}

// addMessage adds a message from the user.
func addMessage(add additions, b basis, m *event.MessageReceived) (additions, error) {
	if err := output.CheckDepth(m.Message); err != nil {
		return add, task.Invalid("message", "cannot be kept: %v", err)
	}
	return addEvent(add, b, event.KindMessage, m), nil
}

// addPublic adds the public event that was appended to buf from start on.
func addPublic(add additions, b basis, kind string, start int) additions {
	add.events = append(add.events, store.Event{Kind: kind, Public: true, Bulk: kind == event.KindArtifact, Time: b.at.millis(), Data: add.since(start)})
	b.f.Count(len(add.buf) - start)
	add.pushes = add.pushes || kind != event.KindArtifact
	return add
}

// addArtifact adds an artifact update.
func addArtifact(add additions, b basis, u *event.ArtifactUpdate) additions {
	start := len(add.buf)
	add.buf = event.AppendArtifactUpdate(add.buf, b.f.View.IDs(), u)
	add = addPublic(add, b, event.KindArtifact, start)
	b.f.View.AddArtifact(u)
	add.pushes = add.pushes || u.Last
	return add
}

// shareState writes a call's changes of the context's state, in the batch with the end of the call.
func shareState(add additions, b basis, delta map[string]any) additions {
	if len(delta) == 0 {
		return add
	}
	rows, after, err := b.f.Shared(delta)
	if err != nil {
		add.fail(err)
		return add
	}
	if len(rows) > 0 {
		add.rows = append(add.rows, rows...)
		b.f.SetSession(after)
	}
	return add
}
