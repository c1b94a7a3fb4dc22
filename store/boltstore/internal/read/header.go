// Package read answers the reads of a store from a transaction of its file: pages of a task's log, and
// lists of tasks, rows, due work and audit entries. It does not know who writes.
package read

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// Task returns the header of a task in scope s, else store.ErrNotFound. A damaged header
// is store.ErrDataLoss in every scope: its owner cannot be read.
func Task(tasks layout.Values, s store.Scope, id store.TaskID) (layout.HeaderValue, error) {
	t, err := Header(tasks, id)
	if err != nil {
		return layout.HeaderValue{}, err
	}
	if !t.Visible() || !s.Covers(t.Owner) {
		return layout.HeaderValue{}, store.ErrNotFound
	}
	return t, nil
}

// Header returns the header of a task; rev 0 means that there is none.
func Header(tasks layout.Values, id store.TaskID) (layout.HeaderValue, error) {
	value := tasks.Get(id[:])
	if value == nil {
		return layout.HeaderValue{}, nil
	}
	return layout.DecodeHeader(id, value)
}

// LiveEntryAt returns the entry that is a value of live. It panics when the value is none: the check
// of the file that follows finds it, and live is made anew.
func LiveEntryAt(v []byte) layout.LiveEntry {
	e, ok := layout.DecodeLive(v)
	if !ok {
		panic(fmt.Sprintf("bucket %s has an entry of %d bytes", layout.BucketLive, len(v)))
	}
	return e
}

// values reads a bucket by key, with a single cursor: [bolt.Bucket.Get] makes a cursor for each key.
type values struct{ cursor *bolt.Cursor }

// valuesOf returns the values of a bucket.
func valuesOf(tx *bolt.Tx, bucket []byte) values { return values{tx.Bucket(bucket).Cursor()} }

// Get returns the value of a key, or nil.
func (v values) Get(key []byte) []byte {
	if k, value := v.cursor.Seek(key); bytes.Equal(k, key) {
		return value
	}
	return nil
}

// Before moves a cursor to the last key that is smaller than key; nil: to the last.
func Before(c *bolt.Cursor, key []byte) (k, v []byte) {
	if key == nil {
		return c.Last()
	}
	if k, _ := c.Seek(key); k == nil {
		return c.Last()
	}
	return c.Prev()
}
