package writer

import (
	"bytes"
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/layout"
)

// moveRow records the change that a round has made to a row of a context.
func (u *usage) moveRow(key []byte, owner store.Scope, n int64) {
	if u.owners == nil || !u.complete && bytes.Compare(key, u.rows) >= 0 {
		return // the walk has not reached it yet
	}
	u.add(owner, uint64(n))
}

// walkRows takes the next step through the rows of contexts and of scopes, which are the first
// of each kind. It reports whether it has reached the end.
func (u *usage) walkRows(rows *bolt.Bucket, steps int) (complete bool, err error) {
	c := rows.Cursor()
	k, v := c.First()
	if u.rows != nil {
		k, v = c.Seek(u.rows)
	}
	for range steps {
		if k == nil {
			return true, nil
		}
		kind, rest, ok := layout.CutWord(k)
		if !ok {
			return false, fmt.Errorf("%w: row key %x", store.ErrDataLoss, k)
		}
		if len(rest) < 32 || store.TaskID(rest[:16]) != (store.TaskID{}) {
			u.rows = layout.After(layout.AppendWord(nil, kind))
			k, v = c.Seek(u.rows)
			continue
		}
		if row, err := layout.DecodeRow(k, v); err == nil && row.Context != "" { // else the owner is unknown
			u.add(row.Owner, store.RowBytes(rest[32:], row.Value))
		}
		u.rows = append(bytes.Clone(k), 0) // the next possible key
		k, v = c.Next()
	}
	return false, nil
}

// usageStep is how many headers the writer reads between two rounds, about a millisecond's
// worth, while it counts the usage of owners.
const usageStep = 1024

// usage is the disk usage of each owner, which Batch.Disk limits. It is derived from the
// headers and the rows of contexts, and not stored: for the first batch that asks, the
// writer walks them, a step between any two rounds, and maintains the usage from then on.
// Only the writer uses it, so that the walk and commits made meanwhile never overlap.
type usage struct {
	owners   map[[16]byte]uint64
	walked   store.TaskID // tasks up to here are in
	tasks    bool         // all are
	rows     []byte       // rows of contexts before this key are in
	complete bool         // everything is
}

// charge returns the usage of a task.
func charge(t *layout.HeaderValue) uint64 {
	if t.Rev == 0 {
		return 0
	}
	return t.DiskBytes()
}

// move records the change that a round has made to a task.
func (u *usage) move(before, now *layout.HeaderValue, gone bool) {
	if u.owners == nil || !u.tasks && string(now.Task[:]) > string(u.walked[:]) {
		return // the walk has not reached it yet
	}
	was, is := charge(before), charge(now)
	if gone {
		is = 0
	}
	u.add(now.Owner, is-was)
}

// add adds n, which may be the two's complement of a decrease.
func (u *usage) add(owner store.Scope, n uint64) {
	key := owner.Key()
	if u.owners[key] += n; u.owners[key] == 0 {
		delete(u.owners, key)
	}
}

// walk takes the next step. When it returns an error it begins again.
func (u *usage) walk(file *boltfile.File) error {
	if u.owners == nil {
		u.owners = map[[16]byte]uint64{}
	}
	err := file.View(context.Background(), func(tx *bolt.Tx) (err error) {
		if u.tasks {
			u.complete, err = u.walkRows(tx.Bucket(layout.BucketRow), usageStep)
			return err
		}
		c := tx.Bucket(layout.BucketTask).Cursor()
		k, v := c.Seek(u.walked[:])
		for n := 0; n < usageStep; k, v = c.Next() {
			if k == nil {
				u.tasks = true
				return nil
			}
			id := store.TaskID(k)
			t, err := layout.DecodeHeader(id, v)
			if err != nil || bytes.Compare(id[:], u.walked[:]) <= 0 {
				continue // the owner is unknown, or it is in
			}
			u.add(t.Owner, charge(&t))
			u.walked = id
			n++
		}
		return nil
	})
	if err != nil {
		*u = usage{}
	}
	return err
}
