// Package writer is the only writer of the file. It takes all queued batches, checks each on its
// own against the open transaction, applies the batches that pass, commits once, makes the commit
// visible to readers and answers every batch.
//
// A transaction of the writer is a round. While the disk refuses commits, the batches of turns
// wait, and all other batches fail. A panic or a fault in a round breaks the file.
package writer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/counts"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/tail"
)

// The maximum of a commit. A larger batch goes alone.
const (
	maxRoundBytes = 8 << 20
	maxRoundOps   = 4096
	maxYields     = 16 // before a round, while batches come
)

// Config has the parts of a writer.
type Config struct {
	File *boltfile.File

	// The memory of readers, which the writer keeps up to date.
	Counts *counts.Counts
	Tails  *tail.Hub
	Rows   *store.Watchers[string]

	Epoch  uint64                 // of the newest instance
	Synced func(epoch, tx uint64) // called when a commit is durable, before it is acknowledged or read

	Committed func(time.Duration) // called after each commit, with the time it took; nil: not
	Hook      func(step string)   // called before each step; nil: not
}

// Writer is the only goroutine that changes the file.
type Writer struct {
	Config

	queue   queue
	trouble trouble
	ended   sync.WaitGroup

	usage   usage
	waiting []*op  // creates that wait until usage is complete
	putOff  putOff // by the disk

	compressor *layout.Compressor
	copying    atomic.Pointer[Noted] // nil: the file is not being copied

	// The memory of the current round, kept for the next, which is about as large.
	arena  []byte // values
	body   []byte // of a log value
	packed []byte // likewise, compressed
}

// The steps of a round, for tests that kill the process there.
const (
	PointTaken     = "boltstore.taken"     // batches were taken from the queue, nothing is written
	PointApplied   = "boltstore.applied"   // all is in the transaction, nothing is on disk
	PointCommitted = "boltstore.committed" // the commit is on disk, and no caller has its answer yet
)

// New returns a writer, which works once it is started.
func New(c Config) (*Writer, error) {
	compressor, err := layout.NewCompressor()
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return &Writer{Config: c, compressor: compressor, queue: queue{wake: make(chan struct{}, 1)}}, nil
}

// Start starts the writer.
func (w *Writer) Start() { w.ended.Go(w.run) }

// Close commits and answers the queued batches, and ends the writer.
func (w *Writer) Close() {
	w.queue.close()
	w.ended.Wait()
}

func (w *Writer) run() {
	walking := make(chan struct{})
	close(walking)
	for {
		var walk chan struct{} // nil: there is nothing to walk for
		if len(w.waiting) > 0 {
			walk = walking
		}
		select {
		case <-w.queue.wake:
		case <-walk:
		case <-w.putOff.retry:
			w.putOff.retry = nil
			w.look()
		}
		w.count()
		w.gather()
		ops, closed := w.queue.take()
		w.commitAll(ops)
		if w.putOff.why != nil && w.putOff.retry == nil {
			w.putOff.later() // nothing was tried since, or nothing of it was to be written
		}
		if closed && len(ops) == 0 && len(w.putOff.ops) == 0 {
			w.release(w.File.Err())
			return
		}
		if closed {
			w.queue.signal()
		}
	}
}

// count takes a step of counting the usage of owners, if creates wait for it, and continues
// with them when it is known.
func (w *Writer) count() {
	if len(w.waiting) == 0 {
		return
	}
	if err := w.usage.walk(w.File); err != nil {
		w.release(err)
	}
	if w.usage.complete {
		waiting := w.waiting
		w.waiting = nil
		w.commitAll(waiting)
	}
}

// release refuses the creates that wait for the usage of owners.
func (w *Writer) release(err error) {
	answerAll(w.waiting, err)
	w.waiting = nil
}

// gather yields to goroutines that are about to append: a commit costs the same for one batch
// and for many. It ends when nothing has come while every goroutine had a chance to run. A
// timer instead was slower.
func (w *Writer) gather() {
	n := 0
	for range maxYields {
		runtime.Gosched()
		more := w.queue.len()
		if more <= n {
			return
		}
		n = more
	}
}

// commitAll commits ops in their order, in rounds of bounded size.
func (w *Writer) commitAll(ops []*op) {
	ops = w.admit(ops)
	if w.resting() {
		w.queueUp(ops)
		return
	}
	if kept := w.putOff.ops; len(kept) > 0 {
		w.putOff.ops = nil
		ops = append(w.admit(kept), ops...)
	}
	for len(ops) > 0 {
		if w.resting() {
			w.queueUp(ops)
			return
		}
		n, bytes := 0, 0
		for n < len(ops) && n < maxRoundOps && (n == 0 || bytes+ops[n].size <= maxRoundBytes) {
			bytes += ops[n].size
			n++
		}
		w.commit(ops[:n])
		ops = ops[n:]
	}
}

// resting reports whether the disk has refused the last commit and the next has to wait.
// Closing the store does not wait.
func (w *Writer) resting() bool {
	return w.putOff.why != nil && w.putOff.retry != nil && !w.queue.isClosed()
}

// admit delays creates that need the usage of owners until it is known, and answers ops whose
// context has ended.
func (w *Writer) admit(ops []*op) []*op {
	admitted := ops[:0]
	for _, o := range ops {
		if err := o.ctx.Err(); err != nil {
			o.err = fmt.Errorf("append: %w", context.Cause(o.ctx))
			o.answer(nil)
			continue
		}
		if !w.usage.complete && o.batch != nil && o.batch.Disk.Owner > 0 {
			w.waiting = append(w.waiting, o)
			continue
		}
		admitted = append(admitted, o)
	}
	return admitted
}

// commit applies ops in one transaction and answers them. When applying fails, although not
// every op is at fault, it tries each alone.
func (w *Writer) commit(ops []*op) {
	w.at(PointTaken)
	if err := w.File.Failure(); err != nil {
		answerAll(ops, err)
		return
	}
	need := int64(0)
	for _, o := range ops {
		need += int64(o.size)
	}
	w.File.Space.Take(2*need, time.Now())
	if ops = slices.DeleteFunc(w.withinReserve(ops), (*op).lapsed); len(ops) == 0 {
		return
	}
	began := time.Now()
	err := w.try(ops)
	if err == nil && w.Committed != nil {
		w.Committed(time.Since(began))
	}
	switch unavailable := (*boltfile.UnavailableError)(nil); {
	case err == nil:
	case errors.As(err, &unavailable):
		w.refused(ops, unavailable)
	case len(ops) == 1:
		ops[0].answer(err)
	default:
		for i, o := range ops {
			if w.resting() {
				w.queueUp(ops[i:])
				return
			}
			o.again()
			w.commit([]*op{o})
		}
	}
}

// try applies ops and commits. It returns an error when nothing was written and no op was
// answered; when the outcome of a commit is unknown, it answers every op.
func (w *Writer) try(ops []*op) (err error) {
	file := w.File
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			answerAll(ops, file.Break(p))
			err = nil
		}
	}()
	r, err := w.begin()
	if err != nil {
		return err
	}
	file.Space.Used = r.tx.Size()
	file.Space.Zero()
	defer r.end()
	r.openBuckets()
	passed := 0
	for _, o := range ops {
		if r.run(o) {
			passed++
		}
		if r.err != nil {
			_ = r.tx.Rollback()
			return r.err
		}
	}
	if passed == 0 || !r.dirty {
		// A commit without changes still writes and syncs twice.
		if err := r.tx.Rollback(); err != nil {
			return err
		}
	} else {
		if r.flush(); r.err != nil {
			_ = r.tx.Rollback()
			return r.err
		}
		w.at(PointApplied)
		w.trouble.commit(time.Now())
		err := r.tx.Commit()
		w.trouble.commit(time.Time{})
		if err != nil {
			return w.failed(r.txid, err, ops)
		}
		if err := file.StillThere(); err != nil {
			return w.lost(err, ops)
		}
		w.Epoch = max(w.Epoch, r.epoch)
		w.Synced(w.Epoch, r.txid)
		file.Reach(r.txid)
		w.taken()
		w.at(PointCommitted)
		r.publish()
	}
	answerAll(ops, nil)
	return nil
}

// failed determines the outcome of a failed commit. bbolt does not say which of its steps
// failed: writing the pages, their sync, writing the meta page, or its sync. If it failed
// before the last step, readers see nothing of the commit, and the round can be retried.
// Otherwise the commit may be there, or be gone after a power loss, and only reopening the
// file decides.
func (w *Writer) failed(txid uint64, cause error, ops []*op) error {
	if w.undone(txid) {
		return &boltfile.UnavailableError{Cause: cause}
	}
	return w.lost(cause, ops)
}

// lost ends the store: it is not known whether a commit will be there when the file is
// reopened.
func (w *Writer) lost(cause error, ops []*op) error {
	answerAll(ops, w.File.Fail(cause))
	return nil
}

// undone reports whether readers see nothing of a transaction whose commit failed.
func (w *Writer) undone(txid uint64) bool {
	tx, err := w.File.Tx(false /* writable */)
	if err != nil {
		return false
	}
	seen := uint64(tx.ID())
	_ = tx.Rollback()
	return seen < txid // else it may be there
}

func (w *Writer) at(step string) {
	if w.Hook != nil {
		w.Hook(step)
	}
}
