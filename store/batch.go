package store

// Batch is what is written together: all of it is committed, or none.
//
// A batch is of one of these shapes; any other is [ErrInvalid]:
//
//   - create: Rev points to 0, Scope is an Owner, and Change has Context, Status
//     and Phase. Gives rev 1 and fence 1.
//   - chunks: Rev is nil, Fence is set; only Events and a Snapshot. It never
//     conflicts; see below.
//   - change: Rev is set. Adds exactly 1 to rev.
//   - rows: Task is zero. Only Rows, Due and Audit, which belong to Scope itself.
//
// No batch is computed on top of one that is not durable yet, chunks apart: they
// name their fence alone, so they, and a change after them, may be queued without
// waiting. A turn's batch of chunks fails only when
//
//   - the turn was cut off, or its task rests: ErrFenced, or ErrNotFound once the
//     task is deleted;
//   - the store ends: ErrClosed or ErrDamaged; or
//   - its caller is at fault: its ctx ended first, a limit is exceeded
//     (ErrTooLarge), the shape is wrong (ErrInvalid), or Scope does not cover the
//     task (ErrNotFound).
//
// Otherwise it does not matter what is queued for the task before it or after it,
// and whether that fails.
//
// The store keeps the byte slices of a batch; nobody may change them after
// [Store.Append].
type Batch struct {
	Scope Scope
	Task  TaskID

	Rev   *uint64 // the rev it was computed from, which is durable; nil: chunks
	Fence *uint64 // the fence of the turn it comes from; nil: not from a turn

	Change   Change
	Events   []Event
	Snapshot *Snapshot
	Rows     []RowChange
	Due      []DueChange
	Audit    [][]byte // one entry each

	// Parked, on a create with a context, bounds how many tasks of that owner may be
	// Parked in that context at once: the create is a *ParkedError when as many of
	// them have not ended, and so is none of those that are created at the same time
	// beyond it. Those that are Live count, too, because a task that comes to rest can
	// be refused it no more: so no more than Parked of them ever rest. 0: no bound.
	// A create whose Dedup is known is a duplicate, whatever else it would exceed.
	Parked uint32

	// Disk, on a create, bounds what its owner and the store as a whole use of the disk
	// once it has been added: a create that exceeds it gets a *DiskError, and so do those that
	// are created at the same time. Nothing but a create is ever refused for the disk:
	// what a task needs that has begun may exceed the bounds. 0: no bound. The first
	// create with a bound of an owner's waits until all tasks have been counted.
	Disk Disk

	// Dedup, on a create, makes the task the one answer to a message: a second
	// create with the same Dedup, whoever sends it, is a *DuplicateError that names
	// the first, for as long as the store's [Window] remembers, whatever is done to the
	// system's clock. A store that is opened again remembers at least those of the
	// newest [WindowSize] creations that were made within the hour before, if their
	// tasks have not been deleted, and their hour begins again. Put the owner into the
	// hash. Zero: none.
	Dedup Hash
}

// Change is what a batch changes of the header. Its zero value changes nothing.
type Change struct {
	Context   string  // on create only
	Status    *Status // nil: unchanged
	Phase     Phase   // zero: unchanged. Live names the appending handle's epoch
	TakeFence bool    // adds 1 to fence; the turn that had it is cut off
	Pending   *uint32 // nil: unchanged
}

// Status is a state and when it was entered.
type Status struct {
	State State
	Time  Millis
}

// Event is one entry of a log. Seq and Pub are given by the store at commit and
// are ignored in a batch.
type Event struct {
	Seq    uint64
	Pub    uint64 // 0 when the event is private
	Public bool
	Bulk   bool   // readers may leave it out; see [Limit]
	Kind   string // at most MaxKind bytes; the engine's name for what Data is
	Time   Millis
	Data   []byte
}

// Snapshot is the fold of a task's log up to and including After, made when the
// task had Rev. It is kept when, before its batch, the task has that last seq and
// that rev: seq alone would not do, because what was folded and then refused may
// have as many events as what was committed in its place. It is a cache: when it
// is out of date, or nothing came since the last one, the store leaves it out and
// commits the rest.
//
// It has two parts, so that a reader without bulk reads none: Bytes is the fold of
// all events that are not bulk, Bulk that of those that are. Bulk may be left out:
// then the newest one stays, with the bulk events after it.
type Snapshot struct {
	After uint64 // the last seq that was folded, chunks on their way included
	Rev   uint64 // the task's rev then, which chunks do not change
	Bytes []byte
	Bulk  []byte // nil: none
}

// Any, as RowChange.IfRev, changes a row whatever its rev: it puts one that is not
// there, and removing one that is not there changes nothing. It suits the rows of
// a task: a batch that changes them names the task's rev, which guards them.
const Any = ^uint64(0)

// RowChange puts or removes one row. A row belongs to the batch's task; in a
// batch without a task, to its scope. The changes of a batch are made in their
// order: each meets the row as those before it leave it.
type RowChange struct {
	Kind   string // at most MaxKind bytes
	Key    []byte // at most MaxKey bytes, unique within task (or scope) and kind
	IfRev  uint64 // the rev that the row must have; 0: must not exist; Any
	Value  []byte
	Index  []IndexKey // replaces the row's entries, all of them
	Delete bool       // removes the row with its entries; Value and Index unused
}

// IndexKey is an entry of a row in a named index.
type IndexKey struct {
	Index string // at most MaxKind bytes
	Key   []byte // at most MaxKey bytes
}

// DueChange puts or removes one due row of the batch's task or scope. Removing a
// row that is not there, or putting one that is, changes nothing.
type DueChange struct {
	Time    Millis // of a row that is put above 0, so that 0 can mean "none"
	Kind    string // at most MaxKind bytes
	Key     []byte // at most MaxKey bytes
	Payload []byte
	Delete  bool
}

// Size returns the bytes of b's contents, without keys and names.
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
