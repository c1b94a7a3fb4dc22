package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"

	"a2a-server/store"
)

// putDue returns how many due rows there are more than before.
func (r *round) putDue(b *store.Batch, t *work) (more int) {
	for i := range b.Due {
		c := &b.Due[i]
		key := dueKey(c.Time, b.Task, b.Scope, c.Kind, c.Key)
		there := r.due.Get(key) != nil
		switch {
		case c.Delete && there:
			r.delete(&r.due, key)
			more--
		case !c.Delete && !there:
			_ = r.put(&r.due, key, r.keepMarked(bucketDue, key, c.Payload))
			more++
		}
	}
	if t != nil {
		t.now.Due = uint32(int(t.now.Due) + more)
	}
	return more
}

func (r *round) putAudit(task store.TaskID, entry []byte) {
	if r.nextAudit == 0 {
		if r.nextAudit = r.next(&r.audit); r.err != nil {
			return
		}
	}
	n := u64(r.nextAudit)
	_ = r.put(&r.audit, n, r.keepMarked(bucketAudit, n, task[:], entry))
	r.nextAudit++
}

// Due lists due work; see [store.Store].
func (h *Handle) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) (due []store.Due, next store.Millis, err error) {
	limit = store.PageSize(limit)
	var at []byte
	if after != "" {
		at = []byte(after)
	}
	err = h.view(ctx, func(im *image) error {
		return scan(im.bucket(bucketDue).Cursor(), nil, at, func(k, v []byte) (bool, error) {
			d := decodeDue(k, v)
			// The time of a damaged row may itself be damaged: it says nothing about later
			// rows, and no page ends with it, so that the next page begins where it should.
			if d.Damaged && d.Time > now {
				return false, nil
			}
			if d.Time > now || len(due) >= limit && !due[len(due)-1].Damaged {
				next = d.Time
				return true, nil
			}
			due = append(due, d)
			return false, nil
		})
	})
	if err != nil {
		return nil, 0, err
	}
	return due, next, nil
}

// decodeDue returns the row at k, copied.
func decodeDue(k, v []byte) store.Due {
	d := store.Due{Position: store.DuePosition(k), Damaged: true}
	if len(k) < 8 {
		return d
	}
	d.Time = store.Millis(binary.BigEndian.Uint64(k))
	task, rest, ok := cutOwner(k[8:])
	var kind []byte
	if ok {
		kind, rest, ok = cutWord(rest)
	}
	if !ok {
		return d
	}
	d.Task, d.Kind, d.Key = task, string(kind), bytes.Clone(rest)
	payload, err := unmark(bucketDue, k, v)
	if err != nil {
		return d
	}
	d.Payload, d.Damaged = append([]byte{}, payload...), false
	return d
}

// Audit lists the audit; see [store.AuditLog].
func (h *Handle) Audit(ctx context.Context, after uint64, limit int) (entries []store.AuditEntry, err error) {
	limit = store.PageSize(limit)
	err = h.view(ctx, func(im *image) error {
		return scan(im.bucket(bucketAudit).Cursor(), nil, u64(after), func(k, v []byte) (bool, error) {
			// No page ends with a damaged entry: its number may itself be damaged.
			if len(entries) >= limit && !entries[len(entries)-1].Damaged {
				return true, nil
			}
			entry := store.AuditEntry{N: readU64(k), Damaged: true}
			if v, err := unmark(bucketAudit, k, v); err == nil && len(v) >= 16 {
				entry.Task, entry.Data, entry.Damaged = store.TaskID(v[:16]), bytes.Clone(v[16:]), false
			}
			entries = append(entries, entry)
			return false, nil
		})
	})
	return entries, err
}
