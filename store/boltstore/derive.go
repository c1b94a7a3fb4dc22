package boltstore

import (
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// derivedAtOnce is how many keys of task or row a transaction reads while the derived buckets are made.
const derivedAtOnce = 10_000

// drop replaces the derived buckets by empty buckets that [derive] has to fill. If the old are damaged,
// their pages stay in use and are never read.
func drop(tx *bolt.Tx, damaged bool) error {
	for _, name := range layout.Derived {
		if err := dropBucket(tx, name, damaged); err != nil {
			return fmt.Errorf("drop bucket %s: %w", name, err)
		}
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("make bucket %s: %w", name, err)
		}
	}
	return tx.Bucket(layout.BucketMeta).Put(layout.KeyRebuild, layout.U64(1))
}

func dropBucket(tx *bolt.Tx, name []byte, damaged bool) error {
	switch {
	case tx.Bucket(name) == nil:
		return nil
	case !damaged:
		return tx.DeleteBucket(name)
	}
	all, err := tx.CreateBucketIfNotExists(layout.BucketDropped)
	if err != nil {
		return err
	}
	into, err := all.CreateBucketIfNotExists(layout.U64(uint64(tx.ID())))
	if err != nil {
		return err
	}
	return tx.MoveBucket(name, nil, into)
}

// derive fills the derived buckets from task and row, and returns when that is durable. It has no effect
// on entries that are there, so that after a crash it begins again.
func derive(file *bolt.DB) error {
	for _, from := range []struct {
		bucket []byte
		put    func(tx *bolt.Tx, k, v []byte) error
	}{{layout.BucketTask, deriveTask}, {layout.BucketRow, deriveRow}} {
		var at []byte // the last key that was read
		for more := true; more; {
			err := file.Update(func(tx *bolt.Tx) error {
				for _, name := range layout.Derived {
					tx.Bucket(name).FillPercent = layout.FillPercent
				}
				c := tx.Bucket(from.bucket).Cursor()
				k, v := c.Seek(append(at, 0))
				for n := 0; k != nil && n < derivedAtOnce; n++ {
					if err := from.put(tx, k, v); err != nil {
						return err
					}
					at = append(at[:0], k...)
					k, v = c.Next()
				}
				more = k != nil
				return nil
			})
			if err != nil {
				return fmt.Errorf("make the indexes of the store: %w", err)
			}
		}
	}
	return file.Update(func(tx *bolt.Tx) error { return tx.Bucket(layout.BucketMeta).Delete(layout.KeyRebuild) })
}

// deriveTask writes the derived entries of a header. The entries of a damaged header are lost.
func deriveTask(tx *bolt.Tx, k, v []byte) error {
	t, err := layout.DecodeHeader(store.TaskID(k), v)
	if err != nil || !t.Visible() {
		return nil //nolint:nilerr // reading the task says so
	}
	if t.Phase == store.Live {
		entry := layout.LiveEntryOf(&t.Header)
		return tx.Bucket(layout.BucketLive).Put(k, entry.Encode())
	}
	list, byContext := layout.ListKeys(&t.Header)
	if err := tx.Bucket(layout.BucketList).Put(list, nil); err != nil {
		return err
	}
	return tx.Bucket(layout.BucketListCtx).Put(byContext, nil)
}

func deriveRow(tx *bolt.Tx, k, v []byte) error {
	kind, _, _ := layout.CutWord(k)
	row, err := layout.DecodeRow(k, v)
	if err != nil {
		return nil //nolint:nilerr // reading the row says so
	}
	for _, ix := range row.Index {
		if err := tx.Bucket(layout.BucketRowIdx).Put(layout.IndexKey(string(kind), ix, k), nil); err != nil {
			return err
		}
	}
	return nil
}
