package writer

import (
	"math/bits"
	"slices"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// apply checks a batch against the transaction as it stands, and writes it.
func (r *round) apply(o *op) error {
	b := o.batch
	var t *work
	var next store.Header
	if b.Task.IsZero() {
		if b.Scope.IsZero() {
			return store.ErrNotFound
		}
	} else {
		var err error
		if t, err = r.load(b.Task); err != nil {
			return err
		}
		var h *store.Header
		if t.now.Visible() {
			h = &t.now.Header
		}
		if next, o.receipt, err = store.Next(h, b, o.epoch); err != nil {
			return err
		}
		if t.now.Deleting {
			return store.ErrNotFound
		}
	}
	if err := r.checkRows(b, t); err != nil {
		return err
	}
	if err := r.checkContextRows(b, t); err != nil {
		return err
	}
	if err := r.checkParked(o); err != nil {
		return err
	}

	if b.Disk != (store.Disk{}) {
		var err error
		if o.receipt.Disk, err = b.Fits(r.used(b.Scope)); err != nil {
			return err
		}
	}

	r.size += uint64(o.size) + batchBytes
	aside := b.IsAside()
	if t != nil && !aside {
		before := t.now
		t.add(o, next)
		r.countOpen(&before, &t.now)
		r.countDisk(&before, &t.now)
		r.dirty = true
	}
	owner := b.Scope
	if t != nil {
		owner = t.now.Owner
	}
	for i := range b.Rows {
		r.rows = append(r.rows, changedRow{b.Rows[i].Kind, owner})
	}
	r.putRows(b, t)
	if more := r.putDue(b, t); aside && more != 0 {
		t.changed = true // apart from that, an aside leaves the header as it is
	}
	for _, entry := range b.Audit {
		r.putAudit(b.Task, entry)
	}
	return r.err
}

// add takes a batch that has passed into the task's part of the round.
func (t *work) add(o *op, next store.Header) {
	b := o.batch
	if b.KeepsSnapshot(t.now.Seq, t.now.Rev, t.now.Header.Snapshot) {
		t.snapshot, next.Snapshot = b.Snapshot.Bytes, b.Snapshot.After
		if b.Snapshot.Bulk != nil {
			t.bulk, next.BulkSnapshot = b.Snapshot.Bulk, b.Snapshot.After
		}
	}
	t.count += uint64(len(b.Events))
	t.plain = t.plain || slices.ContainsFunc(b.Events, func(e store.Event) bool { return !e.Bulk })
	t.now.Header = next
	t.changed = true
	t.batches = append(t.batches, o)
}

// flush writes the changes of each task in the round.
func (r *round) flush() {
	var position uint64 // in the log
	for _, t := range r.order {
		if !t.changed {
			continue
		}
		if t.count > 0 || t.snapshot != nil {
			if position++; position == 1 {
				position = r.next(r.log)
			}
			r.putValue(t, position)
		}
		r.putDerived(t)
		id := t.now.Task
		_ = r.put(r.task, id[:], r.keepSealed(layout.BucketTask, id[:], t.now.Append))
	}
}

// putValue writes the events of t as a value of the log.
func (r *round) putValue(t *work, position uint64) {
	h := layout.LogHead{
		Task: t.now.Task, K: t.before.Values + 1, Prev: t.before.LastAt,
		First: t.first, Pub: t.pub, Events: t.count,
		Snapshot: t.snapshot != nil, Bulk: t.bulk != nil, OnlyBulk: t.count > 0 && !t.plain,
	}
	jump, err := r.jumpFrom(&t.before, h.K)
	if err != nil {
		r.err = err
		return
	}
	h.Jump = jump
	key := layout.U64(position)
	body := r.w.body[:0]
	for _, o := range t.batches {
		for i := range o.batch.Events {
			body = layout.AppendEvent(body, &o.batch.Events[i])
		}
	}
	if h.Snapshot {
		body = layout.AppendSnapshot(body, t.now.Header.Snapshot, t.snapshot)
	}
	if h.Bulk {
		body = layout.AppendSnapshot(body, t.now.BulkSnapshot, t.bulk)
	}
	if r.w.body = body; cap(body) > layout.MaxCompressed {
		r.w.body = nil
	}
	packed, ok := r.w.compressor.Compress(r.w.packed[:0], body)
	if r.w.packed = packed; ok {
		h.Compressed, body = true, packed
	}
	value := r.keepSealed(layout.BucketLog, key, func(b []byte) []byte { return append(h.Append(b, key), body...) })
	_ = r.put(r.log, key, value)
	t.now.LastAt, t.now.Values = position, h.K
	if h.Snapshot {
		t.now.SnapshotAt = position
	}
	if h.Bulk {
		t.now.BulkAt = position
	}
}

// jumpFrom returns the position of value k−lowbit(k) of a task, found on the jump chain
// of value k−1, which is its newest.
func (r *round) jumpFrom(t *layout.HeaderValue, k uint64) (uint64, error) {
	target := k - 1<<bits.TrailingZeros64(k)
	if target == 0 {
		return 0, nil
	}
	at := t.Newest()
	for at.K != target {
		h, err := layout.ReadHead(r.log, t.Task, at.Position, at.K)
		if err != nil {
			return 0, err
		}
		at = h.Far()
	}
	return at.Position, nil
}

// putDerived moves the task's rows of live, list and list.ctx.
func (r *round) putDerived(t *work) {
	var was, is [2][]byte
	wasLive, isLive := t.before.Visible() && t.before.Phase == store.Live, t.now.Visible() && t.now.Phase == store.Live
	if t.before.Visible() && !wasLive {
		was[0], was[1] = layout.ListKeys(&t.before.Header)
	}
	if t.now.Visible() && !isLive {
		is[0], is[1] = layout.ListKeys(&t.now.Header)
	}
	for i, b := range []*bolt.Bucket{r.list, r.listCtx} {
		if string(was[i]) == string(is[i]) {
			continue
		}
		if was[i] != nil {
			r.delete(b, was[i])
		}
		if is[i] != nil {
			_ = r.put(b, is[i], nil)
		}
	}
	id := t.now.Task
	switch {
	case isLive:
		if entry := layout.LiveEntryOf(&t.now.Header); !wasLive || entry != layout.LiveEntryOf(&t.before.Header) {
			_ = r.put(r.live, id[:], entry.Encode())
		}
	case wasLive && !isLive:
		r.delete(r.live, id[:])
	}
}
