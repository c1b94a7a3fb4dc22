package rules

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/view"
	"a2a-server/tool"
)

// Draft is a batch under construction. Each event is folded as it is added, so that later
// decisions take it into account; if a draft does not commit, its fold must be discarded.
// It is not safe for concurrent use.
type Draft struct {
	rules *Rules
	at    At
	f     *fold.Fold
	rev   uint64 // of the task before it

	buf     []byte // events and audit entries are slices of it, until it has to grow
	events  []store.Event
	rows    []store.RowChange
	due     []store.DueChange
	audit   [][]byte
	audited []Audited    // see Audited
	status  store.Status // State 0: unchanged

	launch   []*Entry             // entered after the draft has been committed
	asked    []*approval.Approval // in it
	resolved []string             // ids of approvals, in it
	pending  uint32               // approvals, when the batch was made
	entering int32                // entries that were created and have not started yet
	phase    store.Phase          // zero: stays
	fence    bool                 // take it
	settles  bool                 // see Settles
	troubled bool                 // a call has been postponed in it
	told     bool                 // another writer has changed the log since the last draft
	force    bool                 // continue though there is nothing to write
	quiet    bool                 // do not continue
	pushes   bool                 // webhooks are to look at it
	actions  json.RawMessage      // of the run that is ending
	tools    []tool.Tool          // as they were listed to accept the message, for the plan that follows at once
	first    *task.Step           // as it was planned to accept the message; nil: ask the planner

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

// newDraft returns an empty draft that has room for so many bytes before it grows.
func newDraft(r *Rules, at At, f *fold.Fold, bytes int) *Draft {
	at.Now = at.Now.UTC()
	d := &Draft{}
	d.rules, d.at, d.f, d.rev, d.buf = r, at, f, f.Header.Rev, slices.Grow([]byte(nil), bytes)
	d.events, d.audit = d.firstEvents[:0], d.firstAudit[:0]
	return d
}

// Fold returns the fold with the draft on top of it.
func (d *Draft) Fold() *fold.Fold { return d.f }

// Launch returns the entries to run once the draft is durable, and not before.
func (d *Draft) Launch() []*Entry { return d.launch }

// Asked returns the approvals that the draft asks for. They must not be changed.
func (d *Draft) Asked() []*approval.Approval { return d.asked }

// Resolved returns the ids of the approvals that the draft resolves.
func (d *Draft) Resolved() []string { return d.resolved }

// Audited is an audit entry to report in the process's log.
type Audited struct {
	approval.Audit
	Routine bool // the start or end of a call without an approval
}

// Audited returns the audit entries that the draft adds. It includes routine entries only with
// [Rules.EachCall].
func (d *Draft) Audited() []Audited { return d.audited }

// Audits reports whether the draft adds audit entries, routine or not.
func (d *Draft) Audits() bool { return len(d.audit) > 0 }

// Settles reports whether the draft contains a decision about an approval, a passed deadline,
// or the cancel of a call. Such a draft is never refused for lack of room.
func (d *Draft) Settles() bool { return d.settles }

// Phase returns the phase that the draft puts the task into; zero means that it does not
// change.
func (d *Draft) Phase() store.Phase { return d.phase }

// HasDue reports whether the draft adds or removes due work.
func (d *Draft) HasDue() bool { return len(d.due) > 0 }

// Quiet reports whether the task's turn need not be notified of the draft.
func (d *Draft) Quiet() bool { return d.quiet }

// Rests reports whether a parked task stays parked with the draft.
func (d *Draft) Rests() bool { return d.quiet || d.phase == store.Parked || d.onlyDue() }

// Empty reports whether there is nothing to commit and nothing to continue with.
func (d *Draft) Empty() bool { return !d.force && d.blank() }

func (d *Draft) blank() bool {
	return len(d.events) == 0 && len(d.rows) == 0 && len(d.due) == 0 && len(d.audit) == 0 && d.phase == 0 && d.status.State == 0
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

// GoLive makes the draft leave the task live, unless it already sets a phase. If the task
// was waiting for input, its status becomes working, unless it still does.
func (d *Draft) GoLive() error {
	if d.phase != 0 {
		return nil
	}
	d.phase = store.Live
	if s := d.f.Header.State; s != task.StateSubmitted && s != task.StateWorking && !d.f.WaitsMeanwhile() {
		return d.say(a2a.TaskStateWorking, nil)
	}
	return nil
}

// KeepLive says that a live task which was waiting for input works, if the draft resolves
// something that it waited for: its turn continues from there.
func (d *Draft) KeepLive() error {
	if d.phase != 0 || d.f.Header.Phase != store.Live || len(d.resolved) == 0 || !d.f.SaysItWaits() {
		return nil
	}
	return d.say(a2a.TaskStateWorking, nil)
}

// SayWorking sets the state to working, if the draft is not empty and the task has
// another state.
func (d *Draft) SayWorking() error {
	if d.Empty() || d.phase == store.Final || d.f.Header.State == task.StateWorking {
		return nil
	}
	return d.say(a2a.TaskStateWorking, nil)
}

// Committed updates the fold's header with the receipt of the committed draft.
func (d *Draft) Committed(r store.Receipt) {
	h := &d.f.Header
	h.Seq, h.Rev, h.Fence = r.Last, r.Rev, r.Fence
	if d.phase != 0 {
		h.Phase = d.phase
	}
}

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

func (d *Draft) now() store.Millis { return store.MillisOf(d.at.Now) }

// add adds a private event: it encodes v, and folds v itself.
func (d *Draft) add(kind string, v any) error {
	start := len(d.buf)
	var err error
	if d.buf, err = event.Append(d.buf, v); err != nil {
		return fmt.Errorf("encode event %s: %w", kind, err)
	}
	d.events = append(d.events, store.Event{Kind: kind, Time: d.now(), Data: d.since(start)})
	d.f.Count(len(d.buf) - start)
	return d.f.ApplyPrivate(v)
}

// receive adds a message from the user.
func (d *Draft) receive(m *event.MessageReceived) error {
	if err := output.CheckDepth(m.Message); err != nil {
		return task.Invalid("message", "cannot be kept: %v", err)
	}
	return d.add(event.KindMessage, m)
}

// public adds the public event that was appended to buf from start on.
func (d *Draft) public(kind string, start int) {
	d.events = append(d.events, store.Event{Kind: kind, Public: true, Bulk: kind == event.KindArtifact, Time: d.now(), Data: d.since(start)})
	d.f.Count(len(d.buf) - start)
	d.pushes = d.pushes || kind != event.KindArtifact
}

// task adds the first public event.
func (d *Draft) task(state a2a.TaskState) error {
	if err := d.enter(state); err != nil {
		return err
	}
	start := len(d.buf)
	metadata := d.rules.metadata()
	d.buf = event.AppendTask(d.buf, d.f.View.IDs(), state, d.now(), metadata)
	d.public(event.KindTask, start)
	d.f.View.Begin(&event.StatusUpdate{State: state, At: d.now(), Metadata: metadata})
	return nil
}

// say adds a status update. message may be nil.
func (d *Draft) say(state a2a.TaskState, message *a2a.Message) error {
	return d.sayWith(state, message, nil)
}

// sayWith is say with metadata in addition to that of all updates. Either may be nil.
func (d *Draft) sayWith(state a2a.TaskState, message *a2a.Message, own map[string]any) error {
	if err := d.enter(state); err != nil {
		return err
	}
	var raw json.RawMessage
	if message != nil {
		message.TaskID, message.ContextID = a2a.TaskID(d.f.View.IDs().Task), d.f.View.IDs().Context
		var err error
		if raw, err = event.EncodeMessage(message); err != nil {
			return fmt.Errorf("encode status message: %w", err)
		}
	}
	metadata := d.rules.metadata()
	if len(own) > 0 {
		raw, err := json.Marshal(own)
		if err != nil {
			return fmt.Errorf("encode status metadata: %w", err)
		}
		metadata = view.MergeMetadata(raw, metadata)
	}
	start := len(d.buf)
	d.buf = event.AppendStatusUpdate(d.buf, d.f.View.IDs(), state, d.now(), raw, metadata)
	d.public(event.KindStatus, start)
	d.f.View.SetStatus(state, d.now(), raw, metadata)
	return nil
}

// enter moves the task to a state, if the table allows it.
func (d *Draft) enter(state a2a.TaskState) error {
	to, err := task.StateOf(state)
	if err != nil {
		return err
	}
	if from := d.f.Header.State; !task.MayMove(from, to) {
		return fmt.Errorf("task %s cannot go from %s to %s", d.f.Header.Task, task.StateName(from), state)
	}
	d.f.Header.State, d.f.Header.StatusTime = to, d.now()
	d.status = store.Status{State: to, Time: d.now()}
	return nil
}

// artifact adds an artifact update.
func (d *Draft) artifact(u *event.ArtifactUpdate) {
	start := len(d.buf)
	d.buf = event.AppendArtifactUpdate(d.buf, d.f.View.IDs(), u)
	d.public(event.KindArtifact, start)
	d.f.View.AddArtifact(u)
	d.pushes = d.pushes || u.Last
}

// end ends the task. state must be terminal.
func (d *Draft) end(state a2a.TaskState, message *a2a.Message) error {
	if !state.Terminal() {
		return fmt.Errorf("task %s cannot end in %s, which is not a final state", d.f.Header.Task, state)
	}
	d.phase = store.Final
	return d.say(state, message)
}

// removed is the change that removes a due row.
func removed(due store.DueChange) store.DueChange {
	due.Delete = true
	return due
}

// unwake removes the due row of a suspended call, if it has one.
func (d *Draft) unwake(c *fold.Call) {
	if c.Wake != nil {
		d.wake(*c.Wake, []byte(c.ID), true /* remove */)
	}
}

// unretry removes the due row of a call that is retried, if it has one.
func (d *Draft) unretry(c *fold.Call) {
	if c.Retry != nil {
		d.wake(*c.Retry, retryKey(c), true /* remove */)
	}
}

// wake adds a due row that wakes the task, or removes it.
func (d *Draft) wake(at time.Time, key []byte, remove bool) {
	d.due = append(d.due, store.DueChange{Time: store.MillisOf(at), Kind: task.DueWake, Key: key, Delete: remove})
}

// ask adds an approval: event, row, deadline and audit.
func (d *Draft) ask(a *approval.Approval) error {
	if err := d.add(event.KindAsked, a); err != nil {
		return err
	}
	asked := d.f.Approval(a.ID)
	if err := d.putApproval(asked); err != nil {
		return err
	}
	if a.Deadline != nil {
		d.due = append(d.due, expiry(a))
	}
	if d.rules.offers(a) {
		d.due = append(d.due, d.rules.silence(a))
	}
	d.asked = append(d.asked, &asked.Approval)
	return d.record(approval.Audit{What: approval.AuditAsked, Approval: a.ID, Call: a.Call, Tool: a.Tool, Digest: a.Digest, Gate: a.Terms.Rule, By: a.Requester, Deadline: a.Deadline})
}

// expiry is the due row for the deadline of an approval.
func expiry(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(*a.Deadline), Kind: task.DueExpiry, Key: []byte(a.ID)}
}

// putApproval writes the approval's row without checking the row's own rev: the task's
// rev guards it.
func (d *Draft) putApproval(a *fold.Approval) error {
	value, err := json.Marshal(&a.Approval)
	if err != nil {
		return fmt.Errorf("encode approval %s: %w", a.ID, err)
	}
	row := store.RowChange{Kind: task.RowApproval, Key: []byte(a.ID), IfRev: store.Any, Value: value}
	switch {
	case a.State == approval.Pending:
		row.Index = []store.IndexKey{pendingKey(d.f.Owner, store.MillisOf(a.Asked))}
	case a.Resolution != nil:
		row.Index = settledKeys(d.f.Owner, &a.Approval)
	}
	d.rows = append(d.rows, row)
	return nil
}

// resolve ends an approval: event, row, deadline and audit.
func (d *Draft) resolve(a *fold.Approval, state approval.State, r approval.Resolution) error {
	deadline := a.Deadline
	if err := d.add(event.KindResolved, &event.ApprovalResolved{ID: a.ID, State: state, Resolution: r}); err != nil {
		return err
	}
	if err := d.putApproval(a); err != nil {
		return err
	}
	if deadline != nil {
		d.due = append(d.due, removed(expiry(&a.Approval)))
	}
	if d.rules.ProviderWait > 0 && !a.Opened && ProviderMayAnswer(&a.Approval) {
		d.due = append(d.due, removed(d.rules.silence(&a.Approval)))
	}
	d.resolved, d.settles = append(d.resolved, a.ID), true
	digest := a.Digest
	if r.Digest != "" {
		digest = r.Digest // of the approved call
	}
	entry := approval.Audit{What: approval.AuditResolved, Approval: a.ID, Call: a.Call, Tool: a.Tool, Digest: digest, Gate: a.Terms.Rule, State: state, By: r.By, Via: r.Via, Reason: r.Reason}
	if state == approval.Expired {
		entry.Deadline = deadline
	}
	return d.record(entry)
}

// supersede ends an approval because its question is out of date.
func (d *Draft) supersede(a *fold.Approval, why string) error {
	return d.resolve(a, approval.Superseded, approval.Resolution{Via: approval.ViaSystem, At: d.at.Now, Reason: why})
}

// closeAsks supersedes all questions about a call that no longer needs their answers.
func (d *Draft) closeAsks(c *fold.Call, why string) error {
	return d.resolveAll(c, approval.Superseded, approval.Resolution{Via: approval.ViaSystem, At: d.at.Now, Reason: why})
}

// resolveAll ends all pending approvals of a call, or of the task if c is nil.
func (d *Draft) resolveAll(c *fold.Call, state approval.State, r approval.Resolution) error {
	for _, a := range d.f.Approvals {
		if a.State != approval.Pending || c != nil && a.Call != c.ID {
			continue
		}
		if err := d.resolve(a, state, r); err != nil {
			return err
		}
	}
	return nil
}

// record adds an audit entry, with its digest keyed. The copy for the process's log keeps the
// digest as it is.
func (d *Draft) record(entry approval.Audit) error {
	entry.V, entry.At, entry.Task = approval.AuditVersion, d.at.Now, d.f.View.IDs().Task
	entry.Tenant, entry.Owner = d.f.Owner.Tenant, d.f.Owner.Subject
	stored := entry
	if entry.Digest != "" {
		if err := d.needAuditKey(); err != nil {
			return err
		}
		stored.Digest = approval.KeyedDigest(d.f.AuditKey, entry.Digest)
	}
	start := len(d.buf)
	var err error
	if d.buf, err = event.AppendAudit(d.buf, &stored); err != nil {
		return fmt.Errorf("encode audit entry: %w", err)
	}
	d.audit = append(d.audit, d.since(start))
	routine := (entry.What == approval.AuditStarted || entry.What == approval.AuditFinished) && !d.f.Asked(entry.Call)
	if !routine || d.rules.EachCall != nil && d.rules.EachCall() {
		d.audited = append(d.audited, Audited{entry, routine})
	}
	return nil
}

// needAuditKey adds the key of the task's audit, if the task has none. It is made from two new
// ids, which have 62 random bits each.
func (d *Draft) needAuditKey() error {
	if d.f.AuditKey != nil {
		return nil
	}
	sum := sha256.Sum256([]byte("key of an audit\x00" + d.rules.NewID() + d.rules.NewID()))
	return d.add(event.KindAuditKey, &event.AuditKey{Key: sum[:16]})
}
