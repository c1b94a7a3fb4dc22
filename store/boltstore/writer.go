package boltstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/klauspost/compress/zstd"

	"a2a-server/store"
)

// The maximum of a commit. A larger batch goes alone.
const (
	maxRoundBytes = 8 << 20
	maxRoundOps   = 4096
	maxKeptOps    = 64 // of a task, whose memory the next round may have
	maxYields     = 16 // before a round, while batches come
)

// writer is the only goroutine that changes the file.
type writer struct {
	db     *DB
	window window

	// Creates that have to be checked against the window while it is still being
	// loaded wait here.
	held []*op
	cut  bool // loading has ended before it had found everything

	usage   usage
	waiting []*op  // creates that wait until usage is whole
	putOff  putOff // by the disk
	rebuilt []byte // how far derived buckets are rebuilt

	compressor *zstd.Encoder

	// The memory of the current round, kept for the next, which is about as large.
	arena  []byte // values
	body   []byte // of a log value
	packed []byte // likewise, compressed
	order  []*work
	works  []*work // that are not in use, at most maxRoundOps
	tasks  map[store.TaskID]*work
	dedup  map[store.Hash]store.TaskID
}

func newWriter(db *DB, window window) *writer {
	return &writer{
		db: db, window: window,
		tasks: map[store.TaskID]*work{}, dedup: map[store.Hash]store.TaskID{},
	}
}

// work returns a task's part of the round, empty.
func (w *writer) work() *work {
	n := len(w.works)
	if n == 0 {
		return &work{}
	}
	t := w.works[n-1]
	w.works = w.works[:n-1]
	return t
}

func (w *writer) run() {
	loaded := w.window.loaded
	walking := make(chan struct{})
	close(walking)
	for {
		var walk chan struct{} // nil: there is nothing to walk for
		rebuild := w.db.rebuilding.under() != nil && w.putOff.retry == nil && w.db.refuses() == nil && !w.db.queue.isClosed()
		if len(w.waiting) > 0 || rebuild {
			walk = walking
		}
		select {
		case <-w.db.queue.wake:
		case <-walk:
		case <-w.putOff.retry:
			w.putOff.retry = nil
			w.look()
		case <-loaded:
			loaded = nil
			w.window.ready, w.cut = w.window.whole, !w.window.whole
			held := w.held
			w.held = nil
			w.commitAll(held)
		}
		w.count()
		w.gather()
		ops, closed := w.db.queue.take()
		w.commitAll(ops)
		if rebuild && !closed && w.db.rebuilding.under() != nil {
			w.rebuild()
		}
		if closed && len(ops) == 0 && len(w.putOff.ops) == 0 {
			w.release(w.db.Err())
			if loaded != nil && len(w.held) > 0 {
				w.db.queue.signal()
				<-loaded
				continue
			}
			return
		}
		if closed {
			w.db.queue.signal()
		}
	}
}

// count takes a step of counting the usage of owners, if creates wait for it, and continues
// with them when it is known.
func (w *writer) count() {
	if len(w.waiting) == 0 {
		return
	}
	if err := w.usage.walk(w.db); err != nil {
		w.release(w.db.met(err, false))
	}
	if w.usage.whole {
		waiting := w.waiting
		w.waiting = nil
		w.commitAll(waiting)
	}
}

// release refuses the creates that wait for the usage of owners.
func (w *writer) release(err error) {
	answerAll(w.waiting, err)
	w.waiting = nil
}

// gather yields to goroutines that are about to append: a commit costs the same for one batch
// and for many. It ends when nothing has come while every goroutine had a chance to run. A
// timer instead was slower.
func (w *writer) gather() {
	n := 0
	for range maxYields {
		runtime.Gosched()
		more := w.db.queue.len()
		if more <= n {
			return
		}
		n = more
	}
}

// commitAll commits ops in their order, in rounds of bounded size.
func (w *writer) commitAll(ops []*op) {
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
func (w *writer) resting() bool {
	return w.putOff.why != nil && w.putOff.retry != nil && !w.db.queue.isClosed()
}

// admit delays batches that need the window until it is loaded, and answers ops whose context
// has ended.
func (w *writer) admit(ops []*op) []*op {
	admitted := ops[:0]
	for _, o := range ops {
		if err := o.ctx.Err(); err != nil {
			o.err = fmt.Errorf("append: %w", context.Cause(o.ctx))
			o.answer(nil)
			continue
		}
		if !w.window.ready && o.batch != nil && !o.batch.Dedup.IsZero() {
			if w.cut {
				o.answer(cmp.Or(w.db.refuses(), w.db.Err())) // an error is set: else the window were ready
				continue
			}
			w.held = append(w.held, o)
			w.window.want()
			continue
		}
		if !w.usage.whole && o.batch != nil && o.batch.Disk.Owner > 0 {
			w.waiting = append(w.waiting, o)
			continue
		}
		admitted = append(admitted, o)
	}
	return admitted
}

// commit applies ops in one transaction and answers them. When applying fails, although not
// every op is at fault, it tries each alone.
func (w *writer) commit(ops []*op) {
	w.at(PointTaken)
	if err := w.db.refuses(); err != nil {
		answerAll(ops, err)
		return
	}
	need := int64(0)
	for _, o := range ops {
		need += int64(o.size)
	}
	w.db.space.take(2*need, time.Now())
	if ops = w.withinReserve(ops); len(ops) == 0 {
		return
	}
	err := w.try(ops)
	switch unavailable := (*unavailableError)(nil); {
	case err == nil:
	case errors.Is(err, errDerived):
		for _, o := range ops {
			o.again()
		}
		switch err := w.dropDerived(); {
		case err == nil:
			w.commit(ops)
		case errors.As(err, &unavailable):
			w.refused(ops, unavailable)
		default:
			answerAll(ops, w.db.met(err, false /* locked */))
		}
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

// errDerived says that a round has met damage in a derived bucket, and did nothing.
var errDerived = errors.New("a derived bucket is damaged")

// dropDerived drops the derived buckets. An *unavailableError means that the disk has refused it,
// and that nothing was written.
func (w *writer) dropDerived() error {
	o := newOp(context.Background(), (*round).drop)
	err := w.try([]*op{o})
	if err == nil {
		_, err = o.commit.Wait()
	}
	return err
}

// try applies ops and commits. It returns an error when nothing was written and no op was
// answered; when the outcome of a commit is unknown, it answers every op.
func (w *writer) try(ops []*op) (err error) {
	db := w.db
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var r *round
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		// bbolt panics where its pages are damaged. Until the meta page is written, that
		// loses nothing.
		free := r != nil && rollback(r.tx)
		if free && damagedDerived(p) && w.undone(r.txid) {
			err = errDerived
			return
		}
		fail := db.fail
		if r == nil || w.undone(r.txid) {
			fail = db.met
		}
		answerAll(ops, fail(p, !free))
		err = nil
	}()
	if r, err = w.begin(); err != nil {
		return err
	}
	db.space.used = r.tx.Size()
	db.space.zero()
	defer r.end()
	r.open()
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
		db.trouble.commit(time.Now())
		err := r.tx.Commit()
		db.trouble.commit(time.Time{})
		if err != nil {
			return w.failed(r.txid, err, ops)
		}
		if err := db.stillThere(); err != nil {
			return w.lost(err, ops)
		}
		db.durable.reach(r.txid)
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
func (w *writer) failed(txid uint64, cause error, ops []*op) error {
	if w.undone(txid) {
		return &unavailableError{cause}
	}
	return w.lost(cause, ops)
}

// lost ends the store: it is not known whether a commit will be there when the file is
// reopened.
func (w *writer) lost(cause error, ops []*op) error {
	answerAll(ops, w.db.fail(cause, false))
	return nil
}

// undone reports whether readers see nothing of a transaction whose commit failed.
func (w *writer) undone(txid uint64) (undone bool) {
	defer func() { undone = recover() == nil && undone }()
	tx, err := w.db.tx(false /* writable */)
	if err != nil {
		return false
	}
	seen := uint64(tx.ID())
	_ = tx.Rollback()
	return seen < txid // else it may be there
}

func (w *writer) at(point string) {
	if w.db.hook != nil {
		w.db.hook(point)
	}
}
