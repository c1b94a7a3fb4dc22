// Package read answers the reads of a store from an image of its file: pages of a task's log, and
// lists of tasks, rows, due work and audit entries. It does not know who writes.
package read

import (
	"fmt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
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

// Header returns the header of a task; rev 0 means that there is none. A damaged bbolt
// page is store.ErrDataLoss here too, not a panic, so that a caller can continue with other
// tasks.
func Header(tasks layout.Values, id store.TaskID) (t layout.HeaderValue, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = layout.HeaderValue{}, fmt.Errorf("%w: header of task %s: %v", store.ErrDataLoss, id, p)
		}
	}()
	value := tasks.Get(id[:])
	if value == nil {
		return layout.HeaderValue{}, nil
	}
	return layout.DecodeHeader(id, value)
}

// LiveEntryAt returns the entry that is a value of live. It panics when the value is none, as an
// image does where it is damaged.
func LiveEntryAt(v []byte) layout.LiveEntry {
	e, ok := layout.DecodeLive(v)
	if !ok {
		panic(boltfile.NewPageError(layout.BucketLive, fmt.Errorf("bucket %s has an entry of %d bytes", layout.BucketLive, len(v))))
	}
	return e
}

// ErrRebuilding is the store.ErrUnavailable of a read that needs derived buckets.
const ErrRebuilding = boltfile.SlowError("an index of the store was damaged and is being rebuilt: lists continue when that is done; try again later")

// CheckIndexes returns ErrRebuilding while the derived buckets that im sees are incomplete.
func CheckIndexes(im *boltfile.Image) error {
	if im.Bucket(layout.BucketMeta).Get(layout.KeyRebuild) != nil {
		return ErrRebuilding
	}
	return nil
}
