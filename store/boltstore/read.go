package boltstore

import (
	"context"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

// Read returns a page of a task; see [store.Store].
func (h *Handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.View, error) {
	if err := h.alive(); err != nil {
		return store.View{}, err
	}
	limit = limit.WithDefaults()
	n, exact := from.Seq()
	if exact {
		if v, ok := h.db.tails.read(s, id, n, limit); ok {
			return v, nil
		}
	}
	var v store.View
	err := h.db.view(ctx, func(tx *bolt.Tx) error {
		t, err := readTask(tx.Bucket(bucketTask), s, id)
		if err != nil {
			return err
		}
		v.Header = t.Header
		log := tx.Bucket(bucketLog)
		if exact || t.snapshot == 0 {
			return readPage(log, &t, n, 0, limit, &v)
		}
		if err := readSnapshot(log, &t, &v); err != nil {
			return err
		}
		return readPage(log, &t, t.Header.Snapshot, t.snapshot, limit, &v)
	})
	if err != nil {
		return store.View{}, err
	}
	return v, nil
}

// readTask returns a task that s may see.
func readTask(tasks *bolt.Bucket, s store.Scope, id store.TaskID) (record, error) {
	value := tasks.Get(id[:])
	if value == nil {
		return record{}, store.ErrNotFound
	}
	t, err := decodeRecord(id, value)
	if err != nil {
		return record{}, err
	}
	if !t.there() || !s.Covers(t.Owner) {
		return record{}, store.ErrNotFound
	}
	return t, nil
}
