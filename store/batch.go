package store

import (
	"fmt"
	"slices"
)

// Batch is a set of changes that is committed whole or not at all.
//
// A batch has one of these shapes; any other is [ErrInvalid]:
//
//   - create: Rev points to 0, Scope is an Owner, and Change has Context, Status
//     and Phase. Gives rev 1 and fence 1.
//   - chunks: Rev is nil, Fence is set; only Events and a Snapshot. It never
//     conflicts; see below.
//   - change: Rev is set. Adds exactly 1 to rev.
//   - rows: Task is zero. Only Rows, Due and Audit, which belong to Scope itself.
//   - aside: Task is set, Rev and Fence are nil. At least one, and only, of Rows (none of
//     a context), Due and Audit of that task. The rev stays, so that the batch conflicts
//     with no other: nothing but IfRev guards its rows. It is for rows that only one
//     reader of the log writes, in any phase of the task. ErrNotFound: the task is gone,
//     or being deleted.
//
// A batch must not be computed from another batch that is not durable yet. Chunks are the
// exception: they name only their fence, so they, and a change after them, may be queued
// without waiting. A turn's batch of chunks fails only when
//
//   - the turn was cut off, or its task is not Live: ErrFenced, or ErrNotFound once
//     the task is deleted;
//   - the store ends: ErrClosed or ErrDamaged; or
//   - its caller is at fault: its ctx ended first, a limit is exceeded
//     (ErrTooLarge), the shape is wrong (ErrInvalid), or Scope does not cover the
//     task (ErrNotFound).
//
// Other batches queued for the task, before it or after it, make no difference, even if they
// fail.
//
// The store keeps the byte slices of a batch; they must not be changed after [Store.Append].
type Batch struct {
	Scope Scope
	Task  TaskID

	Rev   *uint64 // the rev it was computed from, which is durable; nil: chunks, rows or aside
	Fence *uint64 // the fence of the turn it comes from; nil: not from a turn

	Change   Change
	Events   []Event
	Snapshot *Snapshot
	Rows     []RowChange
	Due      []DueChange
	Audit    [][]byte // an entry each

	// Needs, on a change or a create, are rows of the task's owner that the batch depends on and leaves as
	// they are: it fails with ErrConflict unless each has its rev before the batch. So a batch
	// that needs a row is never committed after a batch that removes it.
	Needs []RowRef

	// Holds, on a change or a create, reports whether the batch may still be written, as far as that depends
	// on anything outside the store. The store asks before each try to write the batch, which fails with
	// ErrConflict if it does not hold. Holds may read the store, must not wait for a write, must not panic,
	// and is called by one goroutine at a time, until the commit is answered. Nil: it holds.
	Holds func() bool

	// Parked, on a create with a context, limits how many tasks that owner may have
	// Parked in that context at once: the create fails with a *ParkedError when that
	// many tasks have not ended. Concurrent creates cannot exceed the limit together.
	// Live tasks count too, because a Live task cannot be refused when it parks. 0: no
	// limit.
	Parked uint32

	// Disk, on a create, limits the disk space that its owner and the whole store use
	// once it has been added: a create that exceeds it fails with a *DiskError, and
	// concurrent creates cannot exceed it together. Only creates are refused: a task that
	// has begun may exceed the limits. 0: no limit. The first create with a limit for an
	// owner waits until all tasks have been counted.
	Disk Disk

	// ContextRows, on a change with rows of its context, limits the rows of each kind
	// that it changes, as they are after it: it fails with a *ContextRowsError if it
	// makes them exceed the limit, or grow while they exceed it. Concurrent batches of
	// different tasks cannot exceed it together.
	ContextRows RowBound
}

// Change is a change of the header. Its zero value changes nothing.
type Change struct {
	Context   string  // on create only
	Status    *Status // nil: unchanged
	Phase     Phase   // zero: unchanged. Live names the appending handle's epoch
	TakeFence bool    // adds 1 to fence and so cuts off the turn that had it
	Pending   *uint32 // nil: unchanged
}

// Status is a state and when it was entered.
type Status struct {
	State State
	Time  Millis
}

// Event is an entry of a log. The store assigns Seq and Pub at commit; in a batch they are
// ignored.
type Event struct {
	Seq    uint64
	Pub    uint64 // 0 when the event is private
	Public bool
	Bulk   bool   // readers may skip it; see [Limit]
	Kind   string // at most MaxKind bytes; the engine's name for the type of Data
	Time   Millis
	Data   []byte
}

// Snapshot is the fold of a task's log up to and including After, made when the task had Rev.
// It is kept if the task, before this batch, has that last seq and that rev. Seq alone is not
// enough: a refused batch that was folded may have as many events as the batch committed in
// its place. A snapshot is a cache: when it is out of date, or there are no events since the
// last snapshot, the store drops it and commits the rest.
//
// It has two parts, so that a reader that skips bulk reads none: Bytes is the fold of the
// events that are not bulk, Bulk the fold of the bulk events. Bulk may be left out: the newest
// Bulk then stays in use, together with the bulk events after it.
type Snapshot struct {
	After uint64 // the last seq that was folded, including chunks still queued
	Rev   uint64 // the task's rev at that point, which chunks do not change
	Bytes []byte
	Bulk  []byte // nil: none
}

// Any, as RowChange.IfRev, changes a row whatever its rev: a missing row is put,
// and removing a missing row changes nothing. It suits the rows of a task, because
// a batch that changes them names the task's rev, which guards them;
// not so an aside, whose rows need a rev of their own.
const Any = ^uint64(0)

// RowChange puts or removes a row. A row belongs to the batch's task; with OfContext to the
// context of that task, which is the context of that name of the task's owner; with Of to the
// task's owner; in a batch without a task, to its scope. The changes of a batch are applied in order: each sees the
// result of the changes before it.
//
// The tasks of a context share its rows: any change of any of them may put and remove them,
// whatever its Scope, so nothing guards a row of a context but its own rev. They are removed
// in the step of [Store.Delete] from which on the context's last task is not found. A create
// cannot change them, and neither can a task without a context.
type RowChange struct {
	Kind   string // at most MaxKind bytes
	Key    []byte // at most MaxKey bytes, unique within task (or context, or scope) and kind
	IfRev  uint64 // the rev that the row must have; 0: must not exist; Any
	Value  []byte
	Index  []IndexKey // replaces all index entries of the row
	Delete bool       // removes the row with its entries; Value and Index unused

	OfContext bool // the row belongs to the context of the batch's task

	// Of, on a change or a create, is the task's owner, to whom the row then belongs: it is the
	// same row as that of a batch without a task, and stays when the task is deleted. Nothing
	// but IfRev guards it. Zero: the row belongs to the task or the context.
	Of Scope
}

// RowRef names a row of an owner, with the rev that it must have.
type RowRef struct {
	Of   Scope // an Owner
	Kind string
	Key  []byte
	Rev  uint64 // 0: there must be no row
}

// HasContextRows reports whether b changes rows of its task's context.
func (b *Batch) HasContextRows() bool {
	return slices.ContainsFunc(b.Rows, func(c RowChange) bool { return c.OfContext })
}

// CheckHolds returns ErrConflict if b does not hold any more. It is for implementations, which call it
// before each try to write b, while they hold no lock that a read needs.
func (b *Batch) CheckHolds() error {
	if b.Holds != nil && !b.Holds() {
		return fmt.Errorf("%w: what the batch was computed from has changed", ErrConflict)
	}
	return nil
}

// namesOther reports whether b's rows or needs name another owner.
func (b *Batch) namesOther(owner Scope) bool {
	return slices.ContainsFunc(b.Rows, func(c RowChange) bool { return !c.Of.IsZero() && c.Of != owner }) ||
		slices.ContainsFunc(b.Needs, func(n RowRef) bool { return n.Of != owner })
}

// IndexKey is an entry of a row in a named index.
type IndexKey struct {
	Index string // at most MaxKind bytes
	Key   []byte // at most MaxKey bytes
}

// DueChange puts or removes a due row of the batch's task or scope. Removing a missing row, or
// putting an existing row, changes nothing.
type DueChange struct {
	Time    Millis // above 0 for a row that is put, so that 0 can mean "none"
	Kind    string // at most MaxKind bytes
	Key     []byte // at most MaxKey bytes
	Payload []byte
	Delete  bool
}

// Size returns the size of b's contents in bytes, without keys and names.
func (b *Batch) Size() int {
	n := 0
	for i := range b.Events {
		n += len(b.Events[i].Data)
	}
	if b.Snapshot != nil {
		n += len(b.Snapshot.Bytes) + len(b.Snapshot.Bulk)
	}
	for i := range b.Rows {
		n += len(b.Rows[i].Value)
	}
	for i := range b.Due {
		n += len(b.Due[i].Payload)
	}
	for _, entry := range b.Audit {
		n += len(entry)
	}
	return n
}
