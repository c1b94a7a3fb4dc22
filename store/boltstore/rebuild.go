package boltstore

import (
	"context"
	"fmt"

	"a2a-server/store"
)

// Rebuild rebuilds live, list, list.ctx and rowidx from the headers and the rows, in one
// commit. It is for repair: if the file is sound, nothing observable changes.
func (db *DB) Rebuild(ctx context.Context) error {
	return db.do(ctx, func(r *round) error {
		for _, b := range []struct {
			name   []byte
			bucket *changing
		}{{bucketLive, &r.live}, {bucketList, &r.list}, {bucketListCtx, &r.listCtx}, {bucketRowIdx, &r.rowIdx}} {
			r.puts++
			b.bucket.proveTo(nil, nil)
			if err := r.tx.DeleteBucket(b.name); err != nil {
				return fmt.Errorf("delete bucket %s: %w", b.name, err)
			}
			made, err := r.tx.CreateBucket(b.name)
			if err != nil {
				return fmt.Errorf("make bucket %s: %w", b.name, err)
			}
			*b.bucket = changing{Bucket: made}
		}
		r.dirty = true
		r.task.proveTo(nil, nil)
		r.row.proveTo(nil, nil)
		if err := r.task.ForEach(func(k, v []byte) error {
			t, err := decodeRecord(store.TaskID(k), v)
			if err != nil || !t.there() {
				return err
			}
			if t.Phase == store.Live {
				entry := liveEntryOf(&t.Header)
				return r.put(&r.live, k, entry.encode())
			}
			list, byContext := listKeys(&t.Header)
			_ = r.put(&r.list, list, nil)
			return r.put(&r.listCtx, byContext, nil)
		}); err != nil {
			return err
		}
		return r.row.ForEach(func(k, v []byte) error {
			kind, _, _ := cutWord(k)
			row, err := decodeRow(k, v)
			if err != nil {
				return err
			}
			for _, ix := range row.index {
				_ = r.put(&r.rowIdx, indexKey(string(kind), ix, k), nil)
			}
			return r.err
		})
	})
}
