package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"a2a-server/store"
)

// derived are the buckets that are made from task and row.
var derived = [][]byte{bucketLive, bucketList, bucketListCtx, bucketRowIdx}

var (
	bucketDropped = []byte("dropped") // damaged derived buckets, by transaction: they are not walked
	keyRebuild    = []byte("rebuild") // in meta while derived buckets are incomplete
)

// rebuildSlice is how long a transaction of a rebuild reads and writes; its commit comes on
// top.
const rebuildSlice = 20 * time.Millisecond

// errRebuilding is the store.ErrUnavailable of a read that needs derived buckets.
const errRebuilding = slowError("an index of the store was damaged and is being rebuilt: lists continue when that is done; try again later")

// rebuilding is whether the derived buckets are incomplete. It is safe for concurrent use.
type rebuilding struct {
	mu    sync.Mutex
	done  chan struct{} // closed when they are whole again; nil: they are
	begun uint64        // how often they were not
}

// begin reports whether they were whole.
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

// wait waits until they are whole, or the store cannot be written any more.
func (b *rebuilding) wait(ctx context.Context, db *DB) error {
	for done := b.under(); done != nil; done = b.under() {
		select {
		case <-done:
		case <-ctx.Done():
			return fmt.Errorf("wait for an index: %w", context.Cause(ctx))
		case <-time.After(time.Second):
			if err := errors.Join(db.refuses(), db.Err()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rebuilds returns how often derived buckets have been found damaged, or incomplete, since the
// store was opened. A growing number means that the disk has returned a bad page: tell the
// operator.
func (db *DB) Rebuilds() uint64 {
	db.rebuilding.mu.Lock()
	defer db.rebuilding.mu.Unlock()
	return db.rebuilding.begun
}

// Rebuild rebuilds live, list, list.ctx and rowidx from the headers and the rows, as the store
// does when it meets damage in them, and returns when that is done. If the file is sound,
// nothing observable changes, but lists are store.ErrUnavailable meanwhile.
func (db *DB) Rebuild(ctx context.Context) error {
	if err := db.do(ctx, (*round).drop); err != nil {
		return err
	}
	return db.rebuilding.wait(ctx, db)
}

// whole returns errRebuilding while the derived buckets that im sees are incomplete.
func (im *image) whole() error {
	if im.bucket(bucketMeta).Get(keyRebuild) != nil {
		return errRebuilding
	}
	return nil
}

// damagedDerived reports whether a panic is of a page of a derived bucket.
func damagedDerived(p any) bool {
	e, ok := p.(*pageError)
	return ok && slices.ContainsFunc(derived, func(name []byte) bool { return bytes.Equal(name, e.bucket) })
}

// met queues the drop of the derived buckets if a reader has found damage in them.
func (b *rebuilding) met(db *DB) {
	if b.begin() {
		db.queue.put(newOp(context.Background(), (*round).drop))
	}
}

// drop replaces the derived buckets by empty buckets, which the writer fills in slices. The
// pages of the old buckets stay in use and are not walked.
func (r *round) drop() error {
	r.puts++
	r.dirty = true
	all, err := r.tx.CreateBucketIfNotExists(bucketDropped)
	if err != nil {
		return fmt.Errorf("drop an index: %w", err)
	}
	into, err := all.CreateBucketIfNotExists(u64(r.txid))
	if err != nil {
		return fmt.Errorf("drop an index: %w", err)
	}
	for i, b := range []*changing{&r.live, &r.list, &r.listCtx, &r.rowIdx} {
		if err := r.tx.MoveBucket(derived[i], nil, into); err != nil {
			return fmt.Errorf("drop bucket %s: %w", derived[i], err)
		}
		made, err := r.tx.CreateBucket(derived[i])
		if err != nil {
			return fmt.Errorf("make bucket %s: %w", derived[i], err)
		}
		made.FillPercent = fill
		*b = changing{Bucket: made}
	}
	r.w.db.rebuilding.begin()
	r.w.rebuilt = nil
	return r.put(&r.meta, keyRebuild, u64(1))
}

// rebuild writes the next slice of the derived buckets. Commits in between write their own
// changes.
func (w *writer) rebuild() {
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
		w.db.rebuilding.end()
	}
}

// rebuildSlice continues after at: a key of task, or of row after a byte that no task has.
func (r *round) rebuildSlice(at []byte) (next []byte, done bool, err error) {
	if r.meta.Get(keyRebuild) == nil { // the disk has refused the drop
		return nil, false, r.drop()
	}
	r.dirty = true
	until, n := time.Now().Add(rebuildSlice), 0
	for _, in := range []struct {
		mark   byte
		bucket []byte
		put    func(k, v []byte) error
	}{{'t', bucketTask, r.deriveTask}, {'w', bucketRow, r.deriveRow}} {
		if len(at) > 0 && at[0] > in.mark {
			continue
		}
		c := r.im.bucket(in.bucket).Cursor()
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
	return nil, true, r.meta.Delete(keyRebuild)
}

// deriveTask writes the derived entries of a header. The entries of a damaged header are lost.
func (r *round) deriveTask(k, v []byte) error {
	t, err := decodeRecord(store.TaskID(k), v)
	if err != nil || !t.there() {
		return nil //nolint:nilerr // reading the task says so
	}
	if t.Phase == store.Live {
		entry := liveEntryOf(&t.Header)
		return r.put(&r.live, k, entry.encode())
	}
	list, byContext := listKeys(&t.Header)
	_ = r.put(&r.list, list, nil)
	return r.put(&r.listCtx, byContext, nil)
}

func (r *round) deriveRow(k, v []byte) error {
	kind, _, _ := cutWord(k)
	row, err := decodeRow(k, v)
	if err != nil {
		return nil //nolint:nilerr // reading the row says so
	}
	for _, ix := range row.index {
		_ = r.put(&r.rowIdx, indexKey(string(kind), ix, k), nil)
	}
	return r.err
}
