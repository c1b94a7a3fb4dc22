package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"a2a-server/store"
)

// The bounds of the backoff after the disk has refused a commit.
const (
	firstRetry = 100 * time.Millisecond
	maxRetry   = 5 * time.Second
)

// slowCommit is how long a commit may take before the store is said to be in trouble.
const slowCommit = 5 * time.Second

// unavailableError says that nothing of a round was written, and why. It is a
// store.ErrUnavailable.
type unavailableError struct{ cause error }

func (e *unavailableError) Error() string {
	why := "the disk cannot be written"
	switch {
	case e.was(syscall.ENOSPC):
		why = "the disk is full"
	case e.was(syscall.EDQUOT):
		why = "the quota of the disk is used up"
	case e.was(syscall.EFBIG):
		why = "the file has reached its size limit"
	case e.was(syscall.EROFS):
		why = "the disk is mounted read-only"
	}
	return fmt.Sprintf("%s: nothing was written; the server continues when that is fixed (%v)", why, e.cause)
}

// was reports whether no is the cause. When the file cannot grow, bbolt passes on only the
// text of the system's error.
func (e *unavailableError) was(no syscall.Errno) bool {
	return errors.Is(e.cause, no) || strings.HasSuffix(e.cause.Error(), ": "+no.Error())
}

func (e *unavailableError) Unwrap() error { return e.cause }

func (e *unavailableError) Is(target error) bool { return target == store.ErrUnavailable }

// slowError is the store.ErrUnavailable of a disk that is slow but has refused nothing. Its
// text begins with the cause.
type slowError string

func (e slowError) Error() string { return string(e) }

func (slowError) Is(target error) bool { return target == store.ErrUnavailable }

// trouble is the error that keeps the store from writing for now. It is safe for concurrent
// use.
type trouble struct {
	mu    sync.Mutex
	why   error     // nil: nothing does
	began time.Time // of the commit that is under way; zero: none is
}

func (t *trouble) set(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.why = why
}

// commit notes when a commit began; zero: it has ended.
func (t *trouble) commit(began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = began
}

func (t *trouble) now(now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.why != nil {
		return t.why
	}
	if took := now.Sub(t.began); !t.began.IsZero() && took > slowCommit {
		return slowError(fmt.Sprintf("the disk has been taking %v for one commit: requests wait for it, and continue when it is done", took.Truncate(time.Second)))
	}
	return nil
}

// Trouble returns the error that keeps the store from writing, or nil. After
// store.ErrUnavailable the store recovers by itself when the cause is gone, after
// store.ErrReadOnly never. [DB.Err] returns the error that ends the store for good.
func (db *DB) Trouble() error {
	if err := db.refuses(); err != nil {
		return err
	}
	return db.trouble.now(time.Now())
}

// keeps reports whether an op stays queued when the disk refuses a commit. Only a turn's
// batches do: no client could retry them, and they are few.
func (o *op) keeps() bool { return o.batch != nil && o.batch.Fence != nil }

// putOff holds the ops that the writer delays while the disk cannot be written, or only its
// reserve is left.
type putOff struct {
	ops   []*op            // that go first, in their order
	why   error            // the disk refused the last commit; nil: it did not
	pause time.Duration    // before the next try
	retry <-chan time.Time // its end; nil: nothing waits
}

// later schedules the next try, with backoff.
func (a *putOff) later() {
	a.pause = min(max(2*a.pause, firstRetry), maxRetry)
	a.retry = time.After(a.pause)
}

// refused handles a round that the disk did not accept: batches of turns are kept, all other
// ops fail. Ops delayed by withinReserve stay after them: once it has delayed an op of a task,
// nothing queued later for that task is in the round.
func (w *writer) refused(ops []*op, why error) {
	w.putOff.why = why
	w.db.trouble.set(why)
	kept := make([]*op, 0, len(ops)+len(w.putOff.ops))
	for _, o := range ops {
		o.again()
		if o.keeps() && !w.db.queue.isClosed() {
			kept = append(kept, o)
			continue
		}
		o.answer(why)
	}
	w.putOff.ops = append(kept, w.putOff.ops...)
	w.putOff.later()
}

// taken notes that the disk has accepted a commit.
func (w *writer) taken() {
	w.putOff.why = nil
	if low := w.db.space.short(reserveBytes); low != nil {
		w.db.trouble.set(&unavailableError{low})
		return
	}
	w.db.trouble.set(nil)
	w.putOff.pause = 0
}

// queueUp puts ops after the ops that wait for the next try, after the disk has refused a
// commit. Creates fail at once.
func (w *writer) queueUp(ops []*op) {
	for _, o := range ops {
		if o.batch != nil && o.batch.Creates() {
			o.answer(w.putOff.why)
			continue
		}
		w.putOff.ops = append(w.putOff.ops, o)
	}
}

// withinReserve returns the ops that may be written when only the reserve of the disk is left.
// Creates are refused. Chunks wait, with everything after them in their turns, until there is
// space or their turn has been cut off. When even the reserve is used up, all batches of turns
// wait, and of the other ops only deletions are tried.
func (w *writer) withinReserve(ops []*op) []*op {
	low, last := w.db.space.short(reserveBytes), w.db.space.short(lastBytes) != nil
	if low == nil {
		return ops
	}
	why := &unavailableError{low}
	w.db.trouble.set(why)
	pass := make([]*op, 0, len(ops))
	waiting := map[store.TaskID]bool{}
	for _, o := range w.putOff.ops {
		if o.keeps() {
			waiting[o.batch.Task] = true
		}
	}
	for _, o := range ops {
		switch {
		case o.batch != nil && (o.batch.Creates() || last && !o.keeps()):
			o.answer(why)
		case o.keeps() && (last || o.batch.Rev == nil || waiting[o.batch.Task]) && !w.db.queue.isClosed() && !w.cutOff(o.batch):
			waiting[o.batch.Task] = true
			w.putOff.ops = append(w.putOff.ops, o)
		default:
			pass = append(pass, o)
		}
	}
	if w.putOff.retry == nil {
		w.putOff.later()
	}
	return pass
}

// cutOff reports whether the turn of a batch has been cut off, so that the batch is
// refused without anything being written.
func (w *writer) cutOff(b *store.Batch) (cut bool) {
	_ = w.db.view(context.Background(), func(im *image) error {
		t, err := readTask(im.bucket(bucketTask), b.Scope, b.Task)
		cut = errors.Is(err, store.ErrNotFound) || err == nil && (t.Phase != store.Live || t.Fence != *b.Fence)
		return nil
	})
	return cut
}

// look checks whether the disk can be written again when no op waits that would show it.
func (w *writer) look() {
	if len(w.putOff.ops) > 0 || w.db.Trouble() == nil {
		return
	}
	w.putOff.ops = []*op{newOp(context.Background(), func(r *round) error {
		return r.put(&r.meta, keyEpoch, bytes.Clone(r.meta.Get(keyEpoch)))
	})}
}
