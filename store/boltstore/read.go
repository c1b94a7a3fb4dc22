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
	_, exact := from.Seq()
	if exact {
		if v, ok := h.db.tails.read(s, id, from, limit); ok {
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
		v.Next = from.Start(&t.Header, limit.NoBulk)
		if limit.Refuses(&t.Header) {
			n, _ := v.Next.Seq()
			v.More = n < t.Seq
			return nil
		}
		p := pager{log: tx.Bucket(bucketLog), task: &t, limit: limit, view: &v}
		if !exact {
			if err := p.snapshot(); err != nil {
				return err
			}
		}
		return p.read()
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
