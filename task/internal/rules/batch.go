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
	"a2a-server/task/internal/output"
)

// Draft is a batch under construction. Each event is folded as it is added, so that later
// decisions take it into account; if a draft does not commit, its fold must be discarded.
// It is not safe for concurrent use.
type Draft struct {
	basis
	environment At     // which basis names
	rev         uint64 // of the task before it

	buf     []byte // events and audit entries are slices of it, until it has to grow
	events  []store.Event
	rows    []store.RowChange
	due     []store.DueChange
	audit   [][]byte
	audited []Audited    // see Audited
	status  store.Status // State 0: unchanged
	err     error        // the first; such a draft cannot be written

	launch   []*Execution         // entered after the draft has been committed
	asked    []*approval.Approval // in it
	resolved []string             // ids of approvals, in it
	pending  uint32               // approvals, when the batch was made
	phase    store.Phase          // zero: stays
	fence    bool                 // take it
	settles  bool                 // see Settles
	kept     bool                 // a deadline has passed that the status may name
	voted    bool                 // a person has voted in it
	decider  *decider             // nil: none, or see decides
	troubled bool                 // a call has been postponed in it
	told     bool                 // another writer has changed the log since the last draft
	force    bool                 // continue though there is nothing to write
	quiet    bool                 // do not continue
	pushes   bool                 // webhooks are to look at it
	accepted Lookup               // of the message, for the plan that follows at once

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
func (d *Draft) Launch() []*Execution { return d.launch }

// Audited returns the audit entries that the draft adds. It includes routine entries only with
// [Rules.EachCall].
func (d *Draft) Audited() []Audited { return d.audited }

// Audits reports whether the draft adds audit entries, routine or not.
func (d *Draft) Audits() bool { return len(d.audit) > 0 }

// Settles reports whether the draft contains a decision about an approval, a vote, a passed deadline,
// or the cancel of a call. Such a draft is never refused for lack of room.
func (d *Draft) Settles() bool { return d.settles }

// Phase returns the phase that the draft puts the task into; zero means that it does not
// change.
func (d *Draft) Phase() store.Phase { return d.phase }

// HasDue reports whether the draft adds or removes due work.
func (d *Draft) HasDue() bool { return len(d.due) > 0 }

// HasLooks reports whether the draft adds due work of kind [task.DueLook].
func (d *Draft) HasLooks() bool {
	return slices.ContainsFunc(d.due, func(c store.DueChange) bool { return c.Kind == task.DueLook && !c.Delete })
}

// Quiet reports whether the task's turn need not be notified of the draft.
func (d *Draft) Quiet() bool { return d.quiet }

// Rests reports whether a parked task stays parked with the draft.
func (d *Draft) Rests() bool { return d.quiet || d.phase == store.Parked || d.onlyDue() }

// Empty reports whether there is nothing to commit and nothing to continue with.
func (d *Draft) Empty() bool { return d.blank() }

func (d *Draft) blank() bool {
	return !d.force && len(d.events) == 0 && len(d.rows) == 0 && len(d.due) == 0 && len(d.audit) == 0 && d.phase == 0 && d.status.State == 0
}

// onlyDue reports whether a draft only adds or removes due work, or audit entries, which
// is no reason to run the task.
func (d *Draft) onlyDue() bool {
	return !d.force && len(d.events) == 0 && len(d.rows) == 0 && d.phase == 0
}

// Batch returns the draft as a batch on top of the task's rev. fence is that of the turn
// that wrote the draft, nil if no turn did.
func (d *Draft) Batch(scope store.Scope, fence *uint64) *store.Batch {
	d.pending = uint32(len(d.f.Pending()))
	b := &store.Batch{
		Scope: scope, Task: d.f.Header.Task, Rev: &d.rev, Fence: fence,
		Change: store.Change{Phase: d.phase, TakeFence: d.fence, Pending: &d.pending},
		Events: d.events, Rows: d.withReady(), Due: d.due, Audit: d.audit,
	}
	if d.status.State != 0 {
		b.Change.Status = &d.status
	}
	d.withGrants(b)
	if b.HasContextRows() {
		b.ContextRows = fold.SessionBound()
	}
	if d.rev == 0 {
		b.Change.Context = d.f.View.ContextID()
	}
	return b
}

// TakeOver makes the draft take over the right to run the task, by a new fence.
func (d *Draft) TakeOver() { d.fence = true }

// Committed updates the fold's header with the receipt of the committed draft.
func (d *Draft) Committed(r store.Receipt) {
	h := &d.f.Header
	h.Seq, h.Rev, h.Fence = r.Last, r.Rev, r.Fence
	if d.phase != 0 {
		h.Phase = d.phase
	}
}

// problem reports a problem of the task.
func problem(b basis, what string, err error) {
	b.rules.report(Problem{Task: b.f.View.TaskID(), What: what, Err: err})
}

// fail keeps an error, if it is the first.
func (d *Draft) fail(err error) { d.err = cmp.Or(d.err, err) }

// size returns how many bytes the events have.
func (d *Draft) size() int {
	n := 0
	for i := range d.events {
		n += len(d.events[i].Data)
	}
	return n
}

// since returns the bytes appended to buf after start. Its capacity ends with it.
func (d *Draft) since(start int) []byte { return d.buf[start:len(d.buf):len(d.buf)] }

// add adds a private event: it encodes v, and folds v itself.
func (d *Draft) add(kind string, v any) {
	start := len(d.buf)
	var err error
	if d.buf, err = event.Append(d.buf, v); err != nil {
		d.fail(fmt.Errorf("encode event %s: %w", kind, err))
	}
	d.events = append(d.events, store.Event{Kind: kind, Time: d.at.millis(), Data: d.since(start)})
	d.f.Count(len(d.buf) - start)
	d.fail(d.f.ApplyPrivate(v))
}

// receive adds a message from the user.
func (d *Draft) receive(m *event.MessageReceived) error {
	if err := output.CheckDepth(m.Message); err != nil {
		return task.Invalid("message", "cannot be kept: %v", err)
	}
	d.add(event.KindMessage, m)
	return nil
}

// public adds the public event that was appended to buf from start on.
func (d *Draft) public(kind string, start int) {
	d.events = append(d.events, store.Event{Kind: kind, Public: true, Bulk: kind == event.KindArtifact, Time: d.at.millis(), Data: d.since(start)})
	d.f.Count(len(d.buf) - start)
	d.pushes = d.pushes || kind != event.KindArtifact
}

// artifact adds an artifact update.
func (d *Draft) artifact(u *event.ArtifactUpdate) {
	start := len(d.buf)
	d.buf = event.AppendArtifactUpdate(d.buf, d.f.View.IDs(), u)
	d.public(event.KindArtifact, start)
	d.f.View.AddArtifact(u)
	d.pushes = d.pushes || u.Last
}

// share writes a call's changes of the context's state, in the batch with the end of the call.
func (d *Draft) share(delta map[string]any) {
	if len(delta) == 0 {
		return
	}
	rows, after, err := d.f.Shared(delta)
	if err != nil {
		d.fail(err)
		return
	}
	if len(rows) > 0 {
		d.rows = append(d.rows, rows...)
		d.f.SetSession(after)
	}
}

// withReady returns the rows of the draft, with the rows that announce it to the webhooks of
// the task.
func (d *Draft) withReady() []store.RowChange {
	if !d.pushes || len(d.f.Webhooks) == 0 {
		return d.rows
	}
	rows := slices.Clip(d.rows)
	for _, w := range d.f.Webhooks {
		rows = append(rows, task.ReadyRow(task.PushKey(w.ID, w.N), store.Any, d.at.millis()))
	}
	return rows
}
