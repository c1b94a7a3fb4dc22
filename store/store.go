package store

import "context"

// Store keeps tasks: logs, headers, rows, due work and the audit. It is safe for concurrent
// use. Every method that reads or writes a task or a row takes a [Scope]; anything outside the
// scope is answered as if it did not exist.
//
// No method keeps backend resources once it has returned: returned bytes are copied or
// immutable, and callers may keep them.
type Store interface {
	// Append queues b and returns at once. Batches of a task commit in the order in which they
	// were queued: once a batch is durable, all before it have been answered. Only a create
	// may be overtaken, because it may have to wait for the data of Batch.Disk, and with
	// Batch.Parked may have to count the tasks in its context first: wait for it before queuing
	// anything else for its task.
	//
	// Commit.Wait returns once b is durable, and not before, or with ErrNotFound, ErrConflict,
	// ErrFenced, *ParkedError, *DiskError, *ContextRowsError, ErrTooLarge,
	// ErrInvalid, ErrClosed, ErrUnavailable, ErrDataLoss or ErrDamaged, or with
	// the cause of ctx's end. A bad batch fails alone. The end of ctx has no effect once the
	// writer has taken b.
	//
	// While the backend cannot write, a batch of a turn (Fence is set) waits, with all later
	// batches of its turn, and is committed when the backend can write again: no other copy of
	// its events exists. It fails only when its ctx or the store ends, its turn is cut off, or
	// it does not hold any more.
	// Any other batch fails with ErrUnavailable, a create at once; a batch that is accepted
	// meanwhile overtakes the waiting batches of turns.
	Append(ctx context.Context, b *Batch) *Commit

	// Read returns the header and a bounded page of events from one view. It returns at least
	// one event if there is one after from, however large, unless limit leaves events out.
	// Consecutive pages, each read from the Next of its predecessor, are consistent: events
	// never change. ErrDataLoss: a part of the task is damaged; no page ever holds events that
	// differ from the written events.
	Read(ctx context.Context, s Scope, id TaskID, from From, limit Limit) (LogPage, error)

	// Tasks lists headers; see [Query]. Damaged tasks do not hide other tasks: see
	// Header.Damaged.
	Tasks(ctx context.Context, s Scope, q Query) (TaskPage, error)

	// Rows lists rows; see [RowQuery]. Damaged rows do not hide other rows: see Row.Damaged. A
	// damaged row that was asked for by its key is ErrDataLoss.
	Rows(ctx context.Context, s Scope, q RowQuery) (RowPage, error)

	// Due returns a page of the due rows whose time is not after now, in order of time, from
	// the beginning or after a position. next is the time of the first row after the page, due
	// or not (0: none); so there is another page when next is neither 0 nor after now. limit
	// defaults to 50 and is at most 1,000. It acts as System.
	//
	// Rows stay until a batch removes them. A caller that is busy with the rows of a page, or
	// has put them off, skips them by passing the Position of the last row. To see rows that
	// were put before that position meanwhile, it starts again with "".
	Due(ctx context.Context, now Millis, after DuePosition, limit int) (rows []Due, next Millis, err error)

	// Claim takes over up to limit Live tasks of older epochs that no instance holds ([Lease]):
	// each gets fence+1, rev+1 and this handle's epoch, durably, and its new header is returned.
	// An empty result says that there are no more. A task whose header is damaged is never
	// claimed. limit defaults to 50 and is at most 1,000. It acts as System.
	Claim(ctx context.Context, limit int) ([]Header, error)

	// Delete removes a Final task without due rows, all its rows and its log. From the first
	// step on, the task is not found; if it was the last task that is found in its context,
	// the rows of the context are removed in that step, too. Delete works in small steps; an
	// interrupted Delete leaves a due row of kind [DueDelete], and calling Delete again as
	// System continues it. audit, if not nil, is an audit entry of the task that is committed
	// with the first step. Audit entries stay. ErrBusy: the task has not ended, or has due
	// work. ErrUnfinished: the first step is durable, so that the task is gone, and a later
	// step failed.
	Delete(ctx context.Context, s Scope, id TaskID, audit []byte) error

	// Close releases the handle. Batches already queued are still committed and
	// answered; later calls return ErrClosed.
	Close() error
}

// DueDelete is the kind of the due row that Delete keeps from its first step to its
// last.
const DueDelete = "store.delete"

// Watcher wakes readers. Every Store implements it.
type Watcher interface {
	// Watch returns a channel that receives after each commit of the task by any
	// handle, asides possibly left out, if s covers its owner. Wake-ups coalesce: take the channel before
	// reading, read, then wait. The task need not exist yet. stop ends it and may
	// be called more than once; the channel is never closed.
	Watch(s Scope, id TaskID) (wake <-chan struct{}, stop func())

	// WatchRows is Watch for the rows of a kind: the channel receives after each commit,
	// by any handle, that changes such a row that s may see, with or without a task.
	WatchRows(s Scope, kind string) (wake <-chan struct{}, stop func())
}

// AuditLog reads the audit. Every Store implements it.
type AuditLog interface {
	// Audit returns up to limit entries with a number above after, in order. limit
	// defaults to 50 and is at most 1,000. It acts as System.
	Audit(ctx context.Context, after uint64, limit int) ([]AuditEntry, error)
}

// Counter counts tasks. Every Store implements it.
type Counter interface {
	// States returns how many tasks there are in each state, of all owners. A backend that reads all
	// its tasks for that does so once, and knows the numbers of each later call.
	States(ctx context.Context) (States, error)
}

// States is how many tasks are in each state. Its first number is always 0.
type States [MaxState + 1]int64

// AuditEntry is an audit entry. Entries are numbered from 1 in commit order, without gaps except
// where the backend was restored from a backup.
type AuditEntry struct {
	N       uint64
	Task    TaskID // zero when the batch had no task
	Data    []byte
	Damaged bool // Task and Data are lost
}

// Handle is an instance's access to a backend.
type Handle interface {
	Store
	Watcher
	AuditLog
	Counter
	Health
	Leases
}

// Due is a row of due work.
type Due struct {
	Time     Millis
	Task     TaskID // zero when it belongs to a scope
	Kind     string
	Key      []byte
	Payload  []byte
	Position DuePosition
	Damaged  bool // the payload is lost
}

// DuePosition is the position of a due row among all due rows of its backend: by
// time, and for equal times in an order that does not change. It is unique to its
// row. It stays valid when the row is removed, for other handles, and after a
// reopen. Only Due makes positions; "" is before the first row.
type DuePosition string
