package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
)

// rebuildSlice is how long a transaction of a rebuild reads and writes; its commit comes on
// top.
const rebuildSlice = 20 * time.Millisecond

// rebuilding is whether the derived buckets are incomplete. It is safe for concurrent use.
type rebuilding struct {
	mu    sync.Mutex
	done  chan struct{} // closed when they are complete again; nil: they are
	begun uint64        // how often they were not
}

// begin reports whether they were complete.
func (b *rebuilding) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done != nil {
		return false
	}
	b.done = make(chan struct{})
	b.begun++
	return true
}

func (b *rebuilding) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.done)
	b.done = nil
}

func (b *rebuilding) under() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// WaitForIndexes waits until the derived buckets are complete, or the store cannot be written any
// more.
func (w *Writer) WaitForIndexes(ctx context.Context) error {
	for done := w.rebuilding.under(); done != nil; done = w.rebuilding.under() {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("wait for an index: %w", context.Cause(ctx))
		case <-time.After(time.Second):
			if err := errors.Join(w.file.Refusal(), w.file.Err()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rebuilds returns how often derived buckets have been found damaged, or incomplete, since the
// store was opened.
func (w *Writer) Rebuilds() uint64 {
	w.rebuilding.mu.Lock()
	defer w.rebuilding.mu.Unlock()
	return w.rebuilding.begun
}

// Rebuild rebuilds the derived buckets, and returns when that is done.
func (w *Writer) Rebuild(ctx context.Context) error {
	if err := w.do(ctx, (*round).drop); err != nil {
		return err
	}
	return w.WaitForIndexes(ctx)
}

// damagedDerived reports whether a panic is of a page of a derived bucket.
func damagedDerived(p any) bool {
	e, ok := p.(*boltfile.PageError)
	return ok && slices.ContainsFunc(layout.Derived, func(name []byte) bool { return bytes.Equal(name, e.Bucket) })
}

// met returns [read.ErrRebuilding] if the panic of a reader is of a page of a derived bucket, and nil
// otherwise. It queues the drop of the derived buckets.
func (w *Writer) met(p any) error {
	if !damagedDerived(p) {
		return nil
	}
	if w.rebuilding.begin() {
		w.queue.put(newOp(context.Background(), (*round).drop))
	}
	return read.ErrRebuilding
}

// drop replaces the derived buckets by empty buckets, which the writer fills in slices. The
// pages of the old buckets stay in use and are not walked.
func (r *round) drop() error {
	r.puts++
	r.dirty = true
	all, err := r.tx.CreateBucketIfNotExists(layout.BucketDropped)
	if err != nil {
		return fmt.Errorf("drop an index: %w", err)
	}
	into, err := all.CreateBucketIfNotExists(layout.U64(r.txid))
	if err != nil {
		return fmt.Errorf("drop an index: %w", err)
	}
	for i, b := range []*boltfile.Changing{&r.live, &r.list, &r.listCtx, &r.rowIdx} {
		if err := r.tx.MoveBucket(layout.Derived[i], nil, into); err != nil {
			return fmt.Errorf("drop bucket %s: %w", layout.Derived[i], err)
		}
		made, err := r.tx.CreateBucket(layout.Derived[i])
		if err != nil {
			return fmt.Errorf("make bucket %s: %w", layout.Derived[i], err)
		}
		made.FillPercent = fill
		*b = boltfile.Changing{Bucket: made}
	}
	r.w.rebuilding.begin()
	r.w.rebuilt = nil
	return r.put(&r.meta, layout.KeyRebuild, layout.U64(1))
}

// rebuild writes the next slice of the derived buckets. Commits in between write their own
// changes.
func (w *Writer) rebuild() {
	var at []byte
	done := false
	o := newOp(context.Background(), func(r *round) (err error) {
		at, done, err = r.rebuildSlice(w.rebuilt)
		return err
	})
	w.commit([]*op{o})
	if _, err := o.commit.Wait(); err != nil {
		return
	}
	if w.rebuilt = at; done {
		w.rebuilt = nil
		w.rebuilding.end()
	}
}

// rebuildSlice continues after at: a key of task, or of row after a byte that no task has.
func (r *round) rebuildSlice(at []byte) (next []byte, done bool, err error) {
	if r.meta.Get(layout.KeyRebuild) == nil { // the disk has refused the drop
		return nil, false, r.drop()
	}
	r.dirty = true
	until, n := time.Now().Add(rebuildSlice), 0
	for _, in := range []struct {
		mark   byte
		bucket []byte
		put    func(k, v []byte) error
	}{{'t', layout.BucketTask, r.deriveTask}, {'w', layout.BucketRow, r.deriveRow}} {
		if len(at) > 0 && at[0] > in.mark {
			continue
		}
		c := r.im.Bucket(in.bucket).Cursor()
		k, v := c.First()
		if len(at) > 0 && at[0] == in.mark {
			k, v = c.Seek(append(bytes.Clone(at[1:]), 0))
		}
		for ; k != nil; k, v = c.Next() {
			if err := in.put(k, v); err != nil {
				return nil, false, err
			}
			if n++; n%64 == 0 && time.Now().After(until) {
				return append([]byte{in.mark}, k...), false, nil
			}
		}
	}
	r.puts++
	return nil, true, r.meta.Delete(layout.KeyRebuild)
}

// deriveTask writes the derived entries of a header. The entries of a damaged header are lost.
func (r *round) deriveTask(k, v []byte) error {
	t, err := layout.DecodeHeader(store.TaskID(k), v)
	if err != nil || !t.Visible() {
		return nil //nolint:nilerr // reading the task says so
	}
	if t.Phase == store.Live {
		entry := layout.LiveEntryOf(&t.Header)
		return r.put(&r.live, k, entry.Encode())
	}
	list, byContext := layout.ListKeys(&t.Header)
	_ = r.put(&r.list, list, nil)
	return r.put(&r.listCtx, byContext, nil)
}

func (r *round) deriveRow(k, v []byte) error {
	kind, _, _ := layout.CutWord(k)
	row, err := layout.DecodeRow(k, v)
	if err != nil {
		return nil //nolint:nilerr // reading the row says so
	}
	for _, ix := range row.Index {
		_ = r.put(&r.rowIdx, layout.IndexKey(string(kind), ix, k), nil)
	}
	return r.err
}
