package boltstore

import (
	"context"
	"fmt"

	"a2a-server/store"
)

// Read returns a page of a task; see [store.Store].
func (h *Handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if err := h.alive(); err != nil {
		return store.LogPage{}, err
	}
	limit = limit.WithDefaults()
	_, exact := from.Seq()
	if exact {
		if v, ok := h.db.tails.read(s, id, from, limit); ok {
			return v, nil
		}
	}
	p, _ := pagers.Get().(*pager)
	defer func() {
		*p = pager{}
		pagers.Put(p)
	}()
	err := h.db.view(ctx, func(im *image) (err error) {
		if p.task, err = readTask(im.bucket(bucketTask), s, id); err != nil {
			return err
		}
		v, t := &p.view, &p.task.Header
		v.Header, v.Next = *t, from.Start(t, limit.NoBulk)
		if limit.Refuses(t) {
			n, _ := v.Next.Seq()
			v.More = n < t.Seq
			return nil
		}
		p.log, p.limit = im.bucket(bucketLog), limit
		if !exact {
			if err := p.snapshot(); err != nil {
				return err
			}
		}
		return p.read()
	})
	if err != nil {
		return store.LogPage{}, err
	}
	return p.view, nil
}

// values is a bucket that is read only by key.
type values interface{ Get(key []byte) []byte }

// readTask returns the header of a task in scope s, else store.ErrNotFound. A damaged header
// is store.ErrDataLoss in every scope: its owner cannot be read.
func readTask(tasks values, s store.Scope, id store.TaskID) (record, error) {
	t, err := readRecord(tasks, id)
	if err != nil {
		return record{}, err
	}
	if !t.there() || !s.Covers(t.Owner) {
		return record{}, store.ErrNotFound
	}
	return t, nil
}

// readRecord returns the header of a task; rev 0 means that there is none. A damaged bbolt
// page is store.ErrDataLoss here too, not a panic, so that a caller can continue with other
// tasks.
func readRecord(tasks values, id store.TaskID) (t record, err error) {
	defer func() {
		if p := recover(); p != nil {
			t, err = record{}, fmt.Errorf("%w: header of task %s: %v", store.ErrDataLoss, id, p)
		}
	}()
	value := tasks.Get(id[:])
	if value == nil {
		return record{}, nil
	}
	return decodeRecord(id, value)
}
