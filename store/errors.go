package store

import (
	"errors"
	"fmt"

	"a2a-server/internal/failure"
)

// The errors of a store, which backends return or wrap. Compare with errors.Is. [ParkedError],
// [DiskError] and [ContextRowsError] are types, because they carry data.
var (
	// ErrNotFound: the task does not exist, or it belongs to another owner. A caller cannot
	// tell the difference.
	ErrNotFound = errors.New("task not found")
	// ErrConflict: the task or a row has another rev. Read, decide again, retry.
	ErrConflict = errors.New("changed meanwhile")
	// ErrFenced: the right to run has changed hands, or the task is not Live. The turn
	// must stop; retrying cannot help.
	ErrFenced = errors.New("turn has been cut off")
	// ErrTooLarge: a key, an event, a row or the batch exceeds a limit.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: the contract does not allow the batch or query, which is a bug in
	// the caller.
	ErrInvalid = errors.New("invalid")
	// ErrCursor: the cursor was not made here, or belongs to another scope or filter.
	ErrCursor = errors.New("cursor does not belong to this query")
	// ErrBusy: the task cannot be deleted yet: it has not ended, or has due work.
	ErrBusy = errors.New("task is not at its end")
	// ErrUnfinished: the deletion of the task has begun, and the task is gone; the rest of it
	// is left to its due row.
	ErrUnfinished = errors.New("task is deleted, and not all of it is removed yet")
	// ErrClosed: the handle or its backend has been closed.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable: the backend cannot write now, or not in time; the error says why,
	// such as a full disk. Nothing of the batch was written; it may be retried.
	ErrUnavailable = failure.New(failure.Busy, "store is not available")
	// ErrDataLoss: a stored value of a task is damaged and cannot be read.
	// Nothing of the batch was written. Other tasks are not affected.
	ErrDataLoss = failure.New(failure.DataLoss, "stored data is damaged")
	// ErrDamaged: the backend has ended for good, because the outcome of a commit is unknown, or
	// its data is damaged. Every later call returns the same error. A new process finds out
	// which commits are there, and which data is damaged.
	ErrDamaged = errors.New("store is damaged")
)

// ParkedError says that a create would exceed the Batch.Parked of its context.
type ParkedError struct {
	Open  int64 // tasks of the context that have not ended
	Limit uint32
}

// Error names the number of unfinished tasks and the limit.
func (e *ParkedError) Error() string {
	return fmt.Sprintf("context has %d unfinished tasks; at most %d are allowed", e.Open, e.Limit)
}
