package writer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/counts"
)

// op is a task of the writer: a batch, or an internal function.
type op struct {
	ctx    context.Context //nolint:containedctx // a queued call carries its caller's; it counts until the op is taken
	batch  *store.Batch    // nil when fn is set
	epoch  uint64          // of the appending handle
	size   int             // of the batch, in bytes
	open   *counts.Count   // of the batch's context, when it has Parked
	fn     func(*round) error
	commit *store.Commit

	queued  *atomic.Int64 // nil: it is not counted
	receipt store.Receipt // tentative until the round has committed
	err     error
}

func (o *op) answer(err error) {
	if o.queued != nil {
		o.queued.Add(-int64(o.size))
	}
	o.open.Release()
	if o.err != nil {
		err = o.err
	}
	if err != nil {
		o.commit.Answer(store.Receipt{}, err)
		return
	}
	o.commit.Answer(o.receipt, nil)
}

// lapsed answers an op whose batch does not hold any more, and reports whether it has.
func (o *op) lapsed() bool {
	if o.batch == nil {
		return false
	}
	if o.err = o.batch.CheckHolds(); o.err != nil {
		o.answer(nil)
	}
	return o.err != nil
}

// newOp returns an op that runs fn.
func newOp(ctx context.Context, fn func(*round) error) *op {
	return &op{ctx: ctx, fn: fn, commit: store.NewCommit()}
}

// again makes an op as if it had not been tried.
func (o *op) again() { o.err, o.receipt = nil, store.Receipt{} }

// answerAll answers all ops that have not been answered.
func answerAll(ops []*op, err error) {
	for _, o := range ops {
		if !o.commit.Answered() {
			o.answer(err)
		}
	}
}

// maxQueued is how many bytes may wait for the disk before only batches of turns, which
// are small, are accepted.
const maxQueued = 256 << 20

// queue holds the ops that wait for the writer.
type queue struct {
	bytes atomic.Int64 // of the batches not answered yet

	wake chan struct{} // holds a token when there may be something to take

	mu     sync.Mutex
	ops    []*op
	closed bool
}

// put reports false when the queue is closed.
func (q *queue) put(o *op) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.ops = append(q.ops, o)
	first := len(q.ops) == 1
	q.mu.Unlock()
	if first {
		q.signal()
	}
	return true
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ops)
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take takes everything.
func (q *queue) take() (ops []*op, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ops, q.ops = q.ops, nil
	return ops, q.closed
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// Append queues b for an instance; see [store.Store]. open counts the open tasks of its context, if
// it has Parked.
func (w *Writer) Append(ctx context.Context, b *store.Batch, epoch uint64, open *counts.Count) *store.Commit {
	o := &op{ctx: ctx, batch: b, epoch: epoch, size: b.Size(), open: open, commit: store.NewCommit()}
	o.queued = &w.queue.bytes
	if o.queued.Add(int64(o.size)) > maxQueued && !o.keeps() {
		o.answer(boltfile.SlowError(fmt.Sprintf("the disk is too slow: %d MiB wait to be written; try again later", maxQueued>>20)))
		return o.commit
	}
	if !w.queue.put(o) {
		o.answer(store.ErrClosed)
	}
	return o.commit
}

// do runs fn in a transaction and returns when it is durable.
func (w *Writer) do(ctx context.Context, fn func(*round) error) error {
	if err := w.File.Err(); err != nil {
		return err
	}
	o := newOp(ctx, fn)
	if !w.queue.put(o) {
		return store.ErrClosed
	}
	_, err := o.commit.Wait()
	return err
}
