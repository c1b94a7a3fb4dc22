package writer

import (
	"bytes"
	"context"
	"errors"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
)

// The bounds of the backoff after the disk has refused a commit.
const (
	firstRetry = 100 * time.Millisecond
	maxRetry   = 5 * time.Second
)

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
func (w *Writer) refused(ops []*op, why error) {
	w.putOff.why = why
	w.trouble.set(why)
	kept := make([]*op, 0, len(ops)+len(w.putOff.ops))
	for _, o := range ops {
		o.again()
		if o.keeps() && !w.queue.isClosed() {
			kept = append(kept, o)
			continue
		}
		o.answer(why)
	}
	w.putOff.ops = append(kept, w.putOff.ops...)
	w.putOff.later()
}

// taken notes that the disk has accepted a commit.
func (w *Writer) taken() {
	w.putOff.why = nil
	if low := w.File.Space.Short(boltfile.ReserveBytes); low != nil {
		w.trouble.set(&boltfile.UnavailableError{Cause: low})
		return
	}
	w.trouble.set(nil)
	w.putOff.pause = 0
}

// queueUp puts ops after the ops that wait for the next try, after the disk has refused a
// commit. Creates fail at once.
func (w *Writer) queueUp(ops []*op) {
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
func (w *Writer) withinReserve(ops []*op) []*op {
	low, last := w.File.Space.Short(boltfile.ReserveBytes), w.File.Space.Short(boltfile.LastBytes) != nil
	if low == nil {
		return ops
	}
	why := &boltfile.UnavailableError{Cause: low}
	w.trouble.set(why)
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
		case o.keeps() && (last || o.batch.Rev == nil || waiting[o.batch.Task]) && !w.queue.isClosed() && !w.cutOff(o.batch):
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
func (w *Writer) cutOff(b *store.Batch) (cut bool) {
	_ = w.File.View(context.Background(), func(tx *bolt.Tx) error {
		t, err := read.Task(tx.Bucket(layout.BucketTask), b.Scope, b.Task)
		cut = errors.Is(err, store.ErrNotFound) || err == nil && (t.Phase != store.Live || t.Fence != *b.Fence)
		return nil
	})
	return cut
}

// look checks whether the disk can be written again when no op waits that would show it.
func (w *Writer) look() {
	if len(w.putOff.ops) > 0 || w.Trouble() == nil {
		return
	}
	w.putOff.ops = []*op{newOp(context.Background(), func(r *round) error {
		return r.put(r.meta, layout.KeyEpoch, bytes.Clone(r.meta.Get(layout.KeyEpoch)))
	})}
}
