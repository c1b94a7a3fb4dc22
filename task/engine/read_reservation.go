package engine

import (
	"context"
	"errors"

	"a2a-server/auth"
	"a2a-server/internal/failure"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
)

const (
	// freeBytes is how many bytes of logs a response may be built from without reserving
	// memory: enough for nearly every response.
	freeBytes = 64 << 10
	// byteCost is how many bytes of memory a response needs at most, while it is built
	// and sent, per byte of the logs that it is built from.
	byteCost = 4
)

// AnswersError means that there is no memory left for an answer. The request itself is
// valid: it succeeds once other answers have been sent.
type AnswersError struct {
	Own bool // the caller's own answers use the memory; else the answers of all callers
}

// Error names the limit and the next step.
func (e *AnswersError) Error() string {
	if e.Own {
		return "the answers that this caller has not read yet take all the memory that one caller may use for answers: read them, then try again"
	}
	return "the answers being sent take all the memory for answers: try again later"
}

// Kind says that the server is at a limit.
func (*AnswersError) Kind() failure.Kind { return failure.Busy }

// ReadReservation reserves memory for a response to a client, and reads tasks for it
// (Config.Answers): four times the bytes of their logs, or nothing for up to 64 KiB of logs. A
// caller gets at most half of the memory, or a single reservation; a reservation larger than all of
// the memory is admitted while there is no other. Without free memory the methods return an
// [*AnswersError]; they never wait for memory.
//
// A change that has already been made must not look as if it had failed: where a method says
// so, it then returns the task without its artifacts, or without artifacts and history, and
// the metadata says so under [task.Omitted].
//
// A ReadReservation must be used by one goroutine only, and must be released after its response has
// been sent, or when it will not be sent.
type ReadReservation struct {
	core  *core
	by    auth.Principal // the memory is charged to it
	bytes uint64         // of logs
	taken uint64
	made  func() // releases its processor; nil: it has none
}

// work waits for a processor, which the reservation keeps until Made.
func (r *ReadReservation) work(ctx context.Context) (err error) {
	if r.made == nil {
		r.made, err = r.core.Processor(ctx, r.by)
	}
	return err
}

// Made says that the response has been built and only has to be sent, which may take long;
// it releases the processor of the reservation. It may be called more than once.
func (r *ReadReservation) Made() {
	if r.made != nil {
		r.made()
		r.made = nil
	}
}

// Release frees the memory of the reservation. It may be called more than once.
func (r *ReadReservation) Release() {
	r.Made()
	r.bytes = 0
	if r.taken == 0 {
		return
	}
	r.core.reserved.Give(ownerOf(r.by), int64(r.taken))
	r.taken = 0
}

// take reserves the memory for so many more bytes of logs.
func (r *ReadReservation) take(bytes uint64) error {
	bytes += r.bytes
	if bytes <= freeBytes {
		r.bytes = bytes
		return nil
	}
	more := byteCost*bytes - r.taken
	// Memory that this reservation itself has does not count against it.
	if full := r.core.reserved.Extend(ownerOf(r.by), int64(r.taken), int64(more)); full != nil {
		return &AnswersError{Own: full.Own || full.Alone}
	}
	r.bytes, r.taken = bytes, r.taken+more
	return nil
}

// Reserve reserves the memory for a list that reads so many bytes of rows at a time. It waits for
// nothing.
func (r *ReadReservation) Reserve(bytes int) error { return r.take(uint64(bytes)) }

// reserve reserves the memory for so many more bytes of logs, and waits for a processor if
// any is needed.
func (r *ReadReservation) reserve(ctx context.Context, bytes uint64) error {
	if err := r.take(bytes); err != nil || r.taken == 0 {
		return err
	}
	return r.work(ctx)
}

// read reads a task, up to seq last if that is not 0 (see [tasklog.Reading]). done
// says that it shows a change that has been made.
// The task may have grown after its header was read, while the answer waited for a
// processor: it is read once enough memory is reserved for its current size.
func (r *ReadReservation) read(ctx context.Context, s store.Scope, id store.TaskID, last uint64, done bool) (*task.View, store.Header, error) {
	how, taken := tasklog.Reading{View: true, Most: freeBytes, Last: last}, uint64(0)
	for {
		f, h, err := r.core.reader.Load(ctx, s, id, how)
		if err != nil {
			return nil, store.Header{}, tasklog.Translate(err)
		}
		if f != nil {
			sees, err := r.core.taskSight(ctx, r.by, s, h.Owner, id)
			return sees.view(f.View), h, tasklog.Translate(err)
		}
		size := h.Size(how.NoArtifacts)
		err = r.reserve(ctx, size-taken)
		full := (*AnswersError)(nil)
		switch {
		case err == nil:
			taken, how.Most = size, size
		case !done || !errors.As(err, &full):
			return nil, store.Header{}, err
		case !how.NoArtifacts && h.Bulk > 0:
			how.NoArtifacts, how.Most = true, max(taken, 1)
		default:
			how.NoArtifacts, how.NoHistory, how.Most = true, true, 0
			if err := r.work(ctx); err != nil {
				return nil, store.Header{}, err
			}
		}
	}
}

// show reserves memory for a view that was built from so many bytes of a log; without
// room for it, it returns a brief view, for which there always is.
func (r *ReadReservation) show(v *task.View, bytes uint64) *task.View {
	if r.take(bytes) != nil {
		return v.Brief()
	}
	return v
}

// Get returns the current state of a task.
func (r *ReadReservation) Get(ctx context.Context, id string) (*task.View, error) {
	parsed, ok := store.ParseTaskID(id)
	if !ok {
		return nil, task.ErrTaskNotFound
	}
	v, _, err := r.read(ctx, ScopeFor(r.by, auth.Read), parsed, 0 /* last */, false /* done */)
	return v, err
}

// Cancel cancels a task, and returns its state after that; if there is no memory for it, with parts
// left out. Canceling a canceled task again changes nothing.
func (r *ReadReservation) Cancel(ctx context.Context, id ID) (*task.View, error) {
	scope := ScopeFor(r.by, auth.Cancel)
	if err := r.core.turns.Changed(ctx, scope, id, rules.Cancel{By: r.by}); err != nil {
		return nil, tasklog.Translate(err)
	}
	v, _, err := r.read(ctx, scope, id, 0 /* last */, true /* done */)
	return v, err
}

// Accepted returns the current state of the task of a message, without waiting for the
// task to pause or end; if there is no memory for it, with parts left out.
func (r *ReadReservation) Accepted(ctx context.Context, sent *Sent) (*task.View, error) {
	v, _, err := r.read(ctx, sent.scope, sent.Task, 0 /* last */, true /* done */)
	return v, err
}

// StreamStart is a task and a header with the seq up to which it is folded: a stream
// continues after it.
type StreamStart struct {
	View   *task.View
	Header Header

	reservation *ReadReservation
}

// Made calls [ReadReservation.Made] of the reservation that it was read with.
func (s *StreamStart) Made() { s.reservation.Made() }

// StreamStart returns the task with which a stream begins.
func (r *ReadReservation) StreamStart(ctx context.Context, id store.TaskID) (*StreamStart, error) {
	return r.snapshot(ctx, ScopeFor(r.by, auth.Follow), id, 0 /* last */, false /* done */)
}

func (r *ReadReservation) snapshot(ctx context.Context, s store.Scope, id store.TaskID, last uint64, done bool) (*StreamStart, error) {
	v, h, err := r.read(ctx, s, id, last, done)
	if err != nil {
		return nil, err
	}
	return &StreamStart{View: v, Header: h, reservation: r}, nil
}

// outline returns the fold of a task without its artifacts.
func (r *ReadReservation) outline(ctx context.Context, scope store.Scope, id store.TaskID) (*fold.Fold, error) {
	h, err := r.core.header(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	if err := r.reserve(ctx, h.Size(true /* noBulk */)); err != nil {
		return nil, err
	}
	f, _, err := r.core.reader.Load(ctx, scope, id, tasklog.Reading{NoArtifacts: true})
	return f, tasklog.Translate(err)
}
