package rules

import (
	"errors"
	"slices"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
)

// Draft is a batch under construction. Each event is folded as it is added, so that later
// decisions take it into account; if a draft does not commit, its fold must be discarded.
// It is not safe for concurrent use.
type Draft struct {
	basis       basis
	environment At     // which basis names
	rev         uint64 // of the task before it

	added    additions
	lists    lists        // of added
	pending  uint32       // approvals, when the batch was made
	status   store.Status // of the task, when the batch was made
	accepted Lookup       // of the message, for the plan that follows at once

	// Initial storage for events and audit, so that a draft of usual size is a single
	// allocation.
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
	d := &Draft{environment: at, rev: f.Header.Rev}
	d.added.lists = &d.lists
	d.added.buf = slices.Grow([]byte(nil), bytes)
	d.basis = basis{r, &d.environment, f}
	d.added.events, d.added.audit = d.firstEvents[:0], d.firstAudit[:0]
	return d
}

// Input is something that happens to a task. It adds its immediate consequences, or is refused;
// [Draft.Advance] decides the rest.
type Input interface {
	put(add additions, b basis) (additions, error)
}

// LogChanged is the [Input] for a change of the log by another writer since the task was last
// advanced.
type LogChanged struct{}

func (LogChanged) put(add additions, _ basis) (additions, error) {
	add.told = true
	return add, nil
}

// ErrNoChange means that an input changes nothing.
var ErrNoChange = errors.New("nothing to change")

// ErrNotYet means that a due row cannot be processed now, and stays: another instance has to
// process it, or the clock was set back.
var ErrNotYet = errors.New("it is not due yet")

// On puts inputs into a draft on f, which it consumes. If it returns an error, the inputs
// are refused, and the draft must be discarded unwritten. [ErrNoChange]: there is nothing
// to write. [ErrStale]: apply [Refresh] first. A fold that is Unsettled takes nothing but
// [Restored].
func On(r *Rules, at At, f *fold.Fold, in ...Input) (d *Draft, err error) {
	defer r.guard(f.View.TaskID(), "code supplied by the application", &err)
	d = newDraft(r, at, f, draftBytes)
	for _, i := range in {
		if _, settles := i.(Restored); f.Unsettled && !settles {
			return d, unsettled(f.Header.Task)
		}
		if d.added, err = i.put(d.added, d.basis); err == nil {
			err = d.added.err
		}
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

// Advance adds to the draft everything that can be decided now: plans, checks, questions,
// starts, results, and whether the task waits or ends.
func (d *Draft) Advance() (n Next, err error) {
	defer d.basis.guard(d.basis.View.TaskID(), "code supplied by the application", &err)
	d.added, n = advance(d.added, d.basis, d.accepted)
	d.accepted = Lookup{}
	return n, d.added.err
}

// GoLive makes the draft leave the task live, unless it already sets a phase. If the task
// was waiting for input, its status becomes working, unless it still does.
func (d *Draft) GoLive() error {
	d.added = goLive(d.added, d.basis)
	return d.added.err
}

// KeepLive says that a live task which was waiting for input works, if the draft resolves
// something that it waited for: its turn continues from there.
func (d *Draft) KeepLive() error {
	d.added = keepLive(d.added, d.basis)
	return d.added.err
}

// SayWorking sets the state to working, if the draft is not empty or the task is new, and the
// task has another state; and while the planner waits for the operator, it says so.
func (d *Draft) SayWorking() error {
	d.added = sayWorking(d.added, d.basis)
	return d.added.err
}

// Fold returns the fold with the draft on top of it.
func (d *Draft) Fold() *fold.Fold { return d.basis.Fold }

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

// HasLooks reports whether the draft adds due work of kind [record.DueLook].
func (d *Draft) HasLooks() bool {
	return slices.ContainsFunc(d.added.due, func(c store.DueChange) bool { return c.Kind == record.DueLook && !c.Delete })
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
	d.pending = uint32(len(d.basis.Pending()))
	b := &store.Batch{
		Scope: scope, Task: d.basis.Header.Task, Rev: &d.rev, Fence: fence,
		Change: store.Change{Phase: d.added.phase, TakeFence: d.added.fence, Pending: &d.pending},
		Events: d.added.events, Due: d.added.due, Audit: d.added.audit,
	}
	b.Rows, b.Needs = withGrants(d.basis, &d.added, withReady(d.basis, &d.added))
	if d.added.moved {
		d.status = store.Status{State: d.basis.Header.State, Time: d.basis.Header.StatusTime}
		b.Change.Status = &d.status
	}
	if b.HasContextRows() {
		b.ContextRows = fold.SessionBound()
	}
	if d.rev == 0 {
		b.Change.Context = d.basis.View.ContextID()
	}
	return b
}

// TakeOver makes the draft take over the right to run the task, by a new fence.
func (d *Draft) TakeOver() { d.added.fence = true }

// Holds reports whether the draft may still be written, under the rules in force. If not, it has to be made anew.
func (d *Draft) Holds(inForce *Rules, now time.Time) (holds bool) {
	var panicked error
	defer d.basis.guard(d.basis.View.TaskID(), "code supplied by the application", &panicked) // then it does not hold
	return stillHolds(d.added, d.basis, inForce, now)
}

// Committed updates the fold's header with the receipt of the committed draft.
func (d *Draft) Committed(r store.Receipt) {
	h := &d.basis.Header
	h.Seq, h.Rev, h.Fence = r.Last, r.Rev, r.Fence
	if d.added.phase != 0 {
		h.Phase = d.added.phase
	}
}
