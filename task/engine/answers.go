package engine

import (
	"context"
	"errors"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
)

const (
	// freeAnswer is how many bytes of logs an answer may be built from without reserving
	// memory: enough for nearly every answer.
	freeAnswer = 64 << 10
	// answerCost is how many bytes of memory an answer needs at most, while it is built
	// and sent, per byte of the logs that it is built from.
	answerCost = 4
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

// Answer is one response to a client. It reads tasks, and reserves memory for them
// (Config.Answers): four times the bytes of their logs, or nothing for up to 64 KiB of logs. A
// caller gets at most half of the memory, or a single answer; an answer larger than all of the
// memory is admitted while no other answer holds any. Without free memory the methods return
// an [*AnswersError]; they never wait for memory.
//
// A change that has already been made must not look as if it had failed: where a method says
// so, it then returns the task without its artifacts, or without artifacts and history, and
// the metadata says so under [task.Omitted].
//
// An Answer must be used by one goroutine only, and must be released after it has been sent,
// or when it will not be sent.
type Answer struct {
	e     *Engine
	by    auth.Principal // the memory is charged to it
	bytes uint64         // of logs
	taken uint64
	made  func() // releases its processor; nil: it has none
}

// work waits for a processor, which the answer holds until Made.
func (a *Answer) work(ctx context.Context) (err error) {
	if a.made == nil {
		a.made, err = a.e.Heavy(ctx, a.by)
	}
	return err
}

// Made says that the answer has been built and only has to be sent, which may take long;
// it releases the answer's processor. It may be called more than once.
func (a *Answer) Made() {
	if a.made != nil {
		a.made()
		a.made = nil
	}
}

// Release frees the memory of the answer. It may be called more than once.
func (a *Answer) Release() {
	a.Made()
	a.bytes = 0
	if a.taken == 0 {
		return
	}
	a.e.answers.Give(ownerOf(a.by), int64(a.taken))
	a.taken = 0
}

// take reserves the memory for so many more bytes of logs.
func (a *Answer) take(bytes uint64) error {
	bytes += a.bytes
	if bytes <= freeAnswer {
		a.bytes = bytes
		return nil
	}
	more := answerCost*bytes - a.taken
	// Memory that this answer itself holds does not count against it.
	if full := a.e.answers.Extend(ownerOf(a.by), int64(a.taken), int64(more)); full != nil {
		return &AnswersError{Own: full.Own || full.Alone}
	}
	a.bytes, a.taken = bytes, a.taken+more
	return nil
}

// room reserves the memory for so many more bytes of logs, and waits for a processor if
// any is needed.
func (a *Answer) room(ctx context.Context, bytes uint64) error {
	if err := a.take(bytes); err != nil || a.taken == 0 {
		return err
	}
	return a.work(ctx)
}

// read reads a task for the answer, up to seq last if that is not 0 (see reading). done
// says that it shows a change that has been made.
// The task may have grown after its header was read, while the answer waited for a
// processor: it is read once enough memory is reserved for its current size.
func (a *Answer) read(ctx context.Context, s store.Scope, id store.TaskID, last uint64, done bool) (*task.View, store.Header, error) {
	how, taken := tasklog.Reading{View: true, Most: freeAnswer, Last: last}, uint64(0)
	for {
		f, h, err := a.e.reader.Load(ctx, s, id, how)
		if err != nil {
			return nil, store.Header{}, tasklog.Translate(err)
		}
		if f != nil {
			return f.View, h, nil
		}
		size := h.Size(how.NoArtifacts)
		err = a.room(ctx, size-taken)
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
			if err := a.work(ctx); err != nil {
				return nil, store.Header{}, err
			}
		}
	}
}

// show reserves memory for a view that was built from so many bytes of a log; without
// room for it, it returns a brief view, for which there always is.
func (a *Answer) show(v *task.View, bytes uint64) *task.View {
	if a.take(bytes) != nil {
		return v.Brief()
	}
	return v
}

// Get returns the current state of a task.
func (a *Answer) Get(ctx context.Context, id string) (*task.View, error) {
	parsed, ok := store.ParseTaskID(id)
	if !ok {
		return nil, task.ErrTaskNotFound
	}
	v, _, err := a.read(ctx, ScopeFor(a.by, auth.Read), parsed, 0 /* last */, false /* done */)
	return v, err
}

// Cancel cancels a task, as [Engine.Cancel] does, and returns its state after that; if
// there is no memory for it, with parts left out.
func (a *Answer) Cancel(ctx context.Context, id ID) (*task.View, error) {
	if err := a.e.Cancel(ctx, a.by, id); err != nil {
		return nil, err
	}
	v, _, err := a.read(ctx, ScopeFor(a.by, auth.Cancel), id, 0 /* last */, true /* done */)
	return v, err
}

// Accepted returns the current state of the task of a message, without waiting for the
// task to pause or end; if there is no memory for it, with parts left out.
func (a *Answer) Accepted(ctx context.Context, sent *Sent) (*task.View, error) {
	v, _, err := a.read(ctx, sent.scope, sent.Task, 0 /* last */, true /* done */)
	return v, err
}

// Snapshot is a task and a header with the seq up to which it is folded: a stream
// continues after it.
type Snapshot struct {
	View   *task.View
	Header Header

	answer *Answer
}

// Made calls [Answer.Made] of the answer that it belongs to.
func (s *Snapshot) Made() { s.answer.Made() }

// Snapshot returns the task with which a stream begins.
func (a *Answer) Snapshot(ctx context.Context, id store.TaskID) (*Snapshot, error) {
	return a.snapshot(ctx, ScopeFor(a.by, auth.Follow), id, 0 /* last */, false /* done */)
}

func (a *Answer) snapshot(ctx context.Context, s store.Scope, id store.TaskID, last uint64, done bool) (*Snapshot, error) {
	v, h, err := a.read(ctx, s, id, last, done)
	if err != nil {
		return nil, err
	}
	return &Snapshot{View: v, Header: h, answer: a}, nil
}

// outline returns the fold of a task without its artifacts.
func (a *Answer) outline(ctx context.Context, scope store.Scope, id store.TaskID) (*task.Fold, error) {
	h, err := a.e.header(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	if err := a.room(ctx, h.Size(true /* noBulk */)); err != nil {
		return nil, err
	}
	f, _, err := a.e.reader.Load(ctx, scope, id, tasklog.Reading{NoArtifacts: true})
	return f, tasklog.Translate(err)
}
