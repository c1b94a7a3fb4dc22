package task

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
)

// draft is a batch being written. Each event goes into the fold as it is added,
// so that what follows is decided on top of it; a draft that does not commit
// leaves a fold that must be thrown away.
type draft struct {
	f   *fold
	now time.Time

	buf    []byte // events and audit entries are parts of it, until it has to grow
	events []store.Event
	rows   []store.RowChange
	due    []store.DueChange
	audit  [][]byte
	status *store.Status // nil, or newest
	newest store.Status
	phase  store.Phase // zero: stays
	fence  bool        // take it

	launch   []*call // to be run when the draft has been committed
	urgent   bool    // all of launch may run before that
	told     bool    // somebody else has changed the log since the last draft
	force    bool    // go on though there is nothing to write
	quiet    bool    // do not go on
	snapshot *store.Snapshot
}

// What a draft has room for before it grows: what a call needs from its message to
// its start, or from there to its end.
const (
	draftBytes  = 1024
	draftEvents = 8
	draftAudit  = 4
)

func (e *Engine) draft(f *fold) *draft {
	return &draft{
		f: f, now: e.now(), urgent: true,
		buf: make([]byte, 0, draftBytes), events: make([]store.Event, 0, draftEvents), audit: make([][]byte, 0, draftAudit),
	}
}

// since returns what was appended to buf from start on. Its capacity ends with it.
func (d *draft) since(start int) []byte { return d.buf[start:len(d.buf):len(d.buf)] }

// empty reports whether there is nothing to commit.
func (d *draft) empty() bool {
	return !d.force && len(d.events) == 0 && len(d.rows) == 0 && len(d.due) == 0 && d.phase == 0 && d.status == nil
}

func (d *draft) at() store.Millis { return store.MillisOf(d.now) }

// private adds a private event.
func (d *draft) private(kind string, v any) error {
	start := len(d.buf)
	var err error
	if d.buf, err = appendEvent(d.buf, v); err != nil {
		return fmt.Errorf("encode event %s: %w", kind, err)
	}
	d.events = append(d.events, store.Event{Kind: kind, Time: d.at(), Data: d.since(start)})
	return d.f.applyPrivate(v)
}

// public adds the public event that was appended to buf from start on.
func (d *draft) public(kind string, start int) {
	d.events = append(d.events, store.Event{Kind: kind, Public: true, Time: d.at(), Data: d.since(start)})
}

// task adds the first public event.
func (d *draft) task(state a2a.TaskState) error {
	if err := d.enter(state); err != nil {
		return err
	}
	start := len(d.buf)
	d.buf = appendTask(d.buf, d.f.view.ids, state, d.at(), nil /* metadata */)
	d.public(kindTask, start)
	d.f.view.setStatus(state, d.at(), nil, nil)
	return nil
}

// say adds a status update. message and metadata may be nil.
func (d *draft) say(state a2a.TaskState, message *a2a.Message, metadata map[string]any) error {
	if err := d.enter(state); err != nil {
		return err
	}
	var raw, meta json.RawMessage
	var err error
	if message != nil {
		message.TaskID, message.ContextID = a2a.TaskID(d.f.view.ids.Task), d.f.view.ids.Context
		if raw, err = encodeMessage(message); err != nil {
			return fmt.Errorf("encode status message: %w", err)
		}
	}
	if len(metadata) > 0 {
		if meta, err = json.Marshal(metadata); err != nil {
			return fmt.Errorf("encode status metadata: %w", err)
		}
	}
	start := len(d.buf)
	d.buf = appendStatusUpdate(d.buf, d.f.view.ids, state, d.at(), raw, meta)
	d.public(kindStatus, start)
	d.f.view.setStatus(state, d.at(), raw, meta)
	return nil
}

// enter moves the task to a state, if the table allows it.
func (d *draft) enter(state a2a.TaskState) error {
	to, err := stateOf(state)
	if err != nil {
		return err
	}
	if from := d.f.header.State; !allowed(from, to) {
		return fmt.Errorf("task %s cannot go from %s to %s", d.f.header.Task, stateName(from), state)
	}
	d.f.header.State, d.f.header.StatusTime = to, d.at()
	d.newest = store.Status{State: to, Time: d.at()}
	d.status = &d.newest
	return nil
}

// artifact adds an artifact update.
func (d *draft) artifact(u *artifactUpdate) {
	start := len(d.buf)
	d.buf = appendArtifactUpdate(d.buf, d.f.view.ids, u)
	d.public(kindArtifact, start)
	d.f.view.addArtifact(u)
}

// end puts the task to its end.
func (d *draft) end(state a2a.TaskState, message *a2a.Message) error {
	d.phase = store.Final
	return d.say(state, message, nil)
}

// Names of rows and due rows.
const (
	rowApproval  = "approval"
	indexPending = "pending" // of approvals: deadline-less last, by time asked
	dueExpiry    = "approval.expire"
	dueWake      = "task.wake"
	dueChild     = "task.cancel_child"
)

// ask adds an approval: event, row, deadline and audit.
func (d *draft) ask(a *approval.Approval) error {
	if err := d.private(kindAsked, a); err != nil {
		return err
	}
	if err := d.putApproval(d.f.approval(a.ID), 0); err != nil {
		return err
	}
	if a.Deadline != nil {
		d.due = append(d.due, expiry(a))
	}
	return d.record(approval.Audit{What: approval.AuditAsked, Approval: a.ID, Call: a.Call, Tool: a.Tool, Digest: a.Digest, Rule: a.Terms.Rule, By: a.Requester})
}

func expiry(a *approval.Approval) store.DueChange {
	return store.DueChange{Time: store.MillisOf(*a.Deadline), Kind: dueExpiry, Key: []byte(a.ID)}
}

// putApproval writes the approval's row over the one with rev ifRev.
func (d *draft) putApproval(a *pendingApproval, ifRev uint64) error {
	value, err := json.Marshal(&a.Approval)
	if err != nil {
		return fmt.Errorf("encode approval %s: %w", a.ID, err)
	}
	row := store.RowChange{Kind: rowApproval, Key: []byte(a.ID), IfRev: ifRev, Value: value}
	if a.State == approval.Pending {
		asked := store.MillisOf(a.Asked)
		row.Index = []store.IndexKey{{Index: indexPending, Key: fmt.Appendf(nil, "%016x", uint64(asked))}}
	}
	d.rows = append(d.rows, row)
	return nil
}

// resolve ends an approval: event, row, deadline and audit.
func (d *draft) resolve(a *pendingApproval, state approval.State, r approval.Resolution) error {
	rev, deadline := a.Row, a.Deadline
	if err := d.private(kindResolved, &approvalResolved{ID: a.ID, State: state, Resolution: r}); err != nil {
		return err
	}
	if err := d.putApproval(a, rev); err != nil {
		return err
	}
	if deadline != nil {
		due := expiry(&a.Approval)
		due.Delete = true
		d.due = append(d.due, due)
	}
	return d.record(approval.Audit{What: approval.AuditResolved, Approval: a.ID, Call: a.Call, Tool: a.Tool, Digest: a.Digest, Rule: a.Terms.Rule, State: state, By: r.By, Via: r.Via, Reason: r.Reason})
}

// record adds an audit entry.
func (d *draft) record(entry approval.Audit) error {
	entry.V, entry.At, entry.Task = 1, d.now, d.f.view.ids.Task
	start := len(d.buf)
	var err error
	if d.buf, err = appendAudit(d.buf, &entry); err != nil {
		return fmt.Errorf("encode audit entry: %w", err)
	}
	d.audit = append(d.audit, d.since(start))
	return nil
}

// batch returns the draft as a batch on top of the fold's rev, or on top of
// after.
func (d *draft) batch(scope store.Scope, rev uint64, fence *uint64, after *store.Commit) *store.Batch {
	pending := uint32(len(d.f.pending()))
	return &store.Batch{
		Scope: scope, Task: d.f.header.Task, Rev: &rev, Fence: fence,
		Change: store.Change{Status: d.status, Phase: d.phase, TakeFence: d.fence, Pending: &pending},
		Events: d.events, Rows: d.rows, Due: d.due, Audit: d.audit, Snapshot: d.snapshot,
	}
}
