package store

import "context"

// Store keeps tasks: logs, headers, rows, due work and the audit. It is safe for
// concurrent use. Every method that reads or writes a task or a row takes a
// [Scope] and answers what is foreign like what is missing.
//
// No method holds anything of the backend once it has returned: bytes are copied
// or immutable, and may be kept.
type Store interface {
	// Append queues b and returns at once. Batches of one task commit in the order
	// in which they were queued: once one is durable, all before it have been
	// answered. Only a create may be overtaken, because it may have to wait for
	// what Batch.Dedup and Batch.Disk need, and one with Batch.Parked may first count
	// what is in its context: wait for it before queuing anything else for its task.
	//
	// Commit.Wait returns when b is durable, and not before, or with ErrNotFound,
	// ErrConflict, ErrFenced, *DuplicateError, *ParkedError, *DiskError, ErrTooLarge,
	// ErrInvalid, ErrClosed, ErrUnavailable, ErrDataLoss, ErrReadOnly or ErrDamaged, or
	// with the cause of ctx's end. One bad batch fails alone. ctx counts until the writer has taken b: then its
	// end changes nothing.
	//
	// While the backend cannot write, a batch of a turn (Fence is set) waits, with all
	// that its turn has queued after it, and is committed when the backend can write
	// again: nobody else has what it holds. Only the end of its ctx or of the store fails
	// it, or that its turn is cut off. Any other batch is ErrUnavailable, a create at
	// once; and one that is taken meanwhile overtakes the batches of turns that wait.
	Append(ctx context.Context, b *Batch) *Commit

	// Read returns the header and one bounded page of events from one view. At
	// least one event is returned when there is one after from, however large, unless
	// limit leaves events out. Pages read one after the other, each from where the one
	// before says, are consistent: events never change. ErrDataLoss: a part of it is
	// damaged; no page has anything that is not as it was written.
	Read(ctx context.Context, s Scope, id TaskID, from From, limit Limit) (LogPage, error)

	// Tasks lists headers; see [Query]. Damaged tasks do not hide others: see
	// Header.Damaged.
	Tasks(ctx context.Context, s Scope, q Query) (TaskPage, error)

	// Rows lists rows; see [RowQuery]. Damaged rows do not hide others: see Row.Damaged. A
	// row that was asked for by its key is ErrDataLoss.
	Rows(ctx context.Context, s Scope, q RowQuery) (RowPage, error)

	// Due returns one page of the due rows whose time is not after now, in the
	// order of time: the first ones, or those after a position. next is the time of
	// the first row after the page, due or not (0: none); so there is another page
	// when next is neither 0 nor after now. limit defaults to 50 and is at most
	// 1,000. It acts as System.
	//
	// Rows stay until a batch removes them. A caller that is busy with the rows of a
	// page, or has put them off, gets past them with the Position of the last one. It
	// begins again with "" to see what was put before that meanwhile.
	Due(ctx context.Context, now Millis, after DuePosition, limit int) (rows []Due, next Millis, err error)

	// Claim takes up to limit Live tasks of older epochs over: each gets fence+1,
	// rev+1 and this handle's epoch, durably, and its new header is returned. An
	// empty result says that there are no more. A task whose header is damaged stays as it
	// is, forever. limit defaults to 50 and is at most 1,000. It acts as System.
	Claim(ctx context.Context, limit int) ([]Header, error)

	// Delete removes a Final task without due rows, all its rows and its log. It is
	// not found from the first step on. It works in small steps; one that is
	// interrupted leaves a due row of kind [DueDelete], and is continued by calling
	// Delete again as System. Audit entries stay. ErrBusy: not at its end.
	Delete(ctx context.Context, s Scope, id TaskID) error

	// Close gives the handle back. Batches already queued are still committed and
	// answered; later calls return ErrClosed.
	Close() error
}

// DueDelete is the kind of the due row that a started Delete leaves until its
// last step.
const DueDelete = "store.delete"

// Watcher wakes readers. Every Store implements it.
type Watcher interface {
	// Watch returns a channel that receives after each commit of the task by any
	// handle, if s covers its owner. Wake-ups coalesce: take the channel before
	// reading, read, then wait. The task need not exist yet. stop ends it and may
	// be called more than once; the channel is never closed.
	Watch(s Scope, id TaskID) (wake <-chan struct{}, stop func())

	// WatchRows is Watch for the rows of a kind: the channel receives after each commit
	// by any handle that changes one that s may see, of whatever task, or of none.
	WatchRows(s Scope, kind string) (wake <-chan struct{}, stop func())
}

// AuditLog reads the audit. Every Store implements it.
type AuditLog interface {
	// Audit returns up to limit entries with a number above after, in order. limit
	// defaults to 50 and is at most 1,000. It acts as System.
	Audit(ctx context.Context, after uint64, limit int) ([]AuditEntry, error)
}

// AuditEntry is one entry; numbers rise from 1 without gaps in the order of
// commit.
type AuditEntry struct {
	N       uint64
	Task    TaskID // zero when the batch had no task
	Data    []byte
	Damaged bool // the rest is lost
}

// Handle is all that a backend gives to one instance.
type Handle interface {
	Store
	Watcher
	AuditLog
}

// Due is one row of due work.
type Due struct {
	Time     Millis
	Task     TaskID // zero when it belongs to a scope
	Kind     string
	Key      []byte
	Payload  []byte
	Position DuePosition
	Damaged  bool // the payload is lost
}

// DuePosition says where a due row stands among all due rows of its backend: by
// time, and rows of one time in an order that does not change. No other row, of
// whatever task or scope, has it. It stays good when the row is removed, for other
// handles, and after a reopen. Only what Due returned is one; "" is before the
// first row.
type DuePosition string
