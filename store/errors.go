package store

import (
	"errors"
	"fmt"
)

// The cases of failure. Compare with errors.Is; [DuplicateError] is a type of its
// own.
var (
	// ErrNotFound: there is no such task, or it belongs to somebody else. The two
	// are not told apart.
	ErrNotFound = errors.New("task not found")
	// ErrConflict: the task or a row has another rev. Read, decide again, retry.
	ErrConflict = errors.New("changed meanwhile")
	// ErrFenced: the right to run has changed hands, or the task rests. The turn
	// must stop; retrying cannot help.
	ErrFenced = errors.New("turn has been cut off")
	// ErrTooLarge: a key, an event, a row or the batch is beyond a limit.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: a batch or query that the contract does not allow: a bug of the
	// caller.
	ErrInvalid = errors.New("invalid")
	// ErrCursor: a cursor that is not ours, or of another scope or filter.
	ErrCursor = errors.New("cursor does not belong to this query")
	// ErrBusy: the task cannot be deleted yet: it has not ended, or has due work.
	ErrBusy = errors.New("task is not at its end")
	// ErrClosed: the handle or its backend has been closed.
	ErrClosed = errors.New("store is closed")
	// ErrUnavailable: the backend cannot write now, or not in time, and says why: the
	// disk is full, say. Nothing of the batch was written; the same may be tried again.
	ErrUnavailable = errors.New("store is not available")
	// ErrDataLoss: what is stored of a task, or where it is stored, is damaged and cannot
	// be read. Nothing of the batch was written. Everything else continues.
	ErrDataLoss = errors.New("stored data is damaged")
	// ErrReadOnly: the backend has met damage while it wrote. Nothing of the batch was
	// written, and nothing ever is: what can be read is still served, and a person has to
	// restore a copy.
	ErrReadOnly = errors.New("store is read-only")
	// ErrDamaged: the backend failed in a way that leaves the outcome of a commit
	// unknown, or is not readable at all. It takes no more batches; opening it again
	// decides.
	ErrDamaged = errors.New("store is damaged")
)

// DuplicateError says that a create carried the Dedup of an earlier task.
type DuplicateError struct{ Task TaskID }

// Error names the first task.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("message has already made task %s", e.Task)
}

// ParkedError says that a create would exceed the Batch.Parked of its context.
type ParkedError struct {
	Open  int64 // tasks of the context that have not ended
	Limit uint32
}

// Error says how many tasks there are, and how many there may be.
func (e *ParkedError) Error() string {
	return fmt.Sprintf("context has %d unfinished tasks; at most %d are allowed", e.Open, e.Limit)
}
