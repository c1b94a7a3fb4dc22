package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
)

func (r *round) putDue(b *store.Batch, t *work) {
	for i := range b.Due {
		c := &b.Due[i]
		key := dueKey(c.Time, b.Task, b.Scope, c.Kind, c.Key)
		there := r.due.Get(key) != nil
		switch {
		case c.Delete && there:
			r.delete(r.due, key)
			if t != nil {
				t.now.Due--
			}
		case !c.Delete && !there:
			_ = r.put(r.due, key, r.keep(func(b []byte) []byte { return append(b, c.Payload...) }))
			if t != nil {
				t.now.Due++
			}
		}
	}
}

func (r *round) putAudit(task store.TaskID, entry []byte) {
	if r.nextAudit == 0 {
		key, _ := r.audit.Cursor().Last()
		r.nextAudit = readU64(key) + 1
	}
	_ = r.put(r.audit, u64(r.nextAudit), r.keep(func(b []byte) []byte { return append(append(b, task[:]...), entry...) }))
	r.nextAudit++
}

// Due lists due work; see [store.Store].
func (h *Handle) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) (due []store.Due, next store.Millis, err error) {
	if err := h.alive(); err != nil {
		return nil, 0, err
	}
	limit = store.PageSize(limit)
	var at []byte
	if after != "" {
		at = []byte(after)
	}
	err = h.db.view(ctx, func(tx *bolt.Tx) error {
		return scan(tx.Bucket(bucketDue), nil, at, func(k, v []byte) (bool, error) {
			d, err := decodeDue(k, v)
			if err != nil {
				return false, err
			}
			if d.Time > now || len(due) == limit {
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

func decodeDue(k, v []byte) (store.Due, error) {
	if len(k) < 8 {
		return store.Due{}, fmt.Errorf("%w: due key %x", store.ErrDamaged, k)
	}
	d := store.Due{Time: store.Millis(binary.BigEndian.Uint64(k)), Payload: append([]byte{}, v...)}
	task, rest, ok := cutOwner(k[8:])
	var kind []byte
	if ok {
		kind, rest, ok = cutWord(rest)
	}
	if !ok {
		return store.Due{}, fmt.Errorf("%w: due key %x", store.ErrDamaged, k)
	}
	d.Task, d.Kind, d.Key, d.Position = task, string(kind), bytes.Clone(rest), store.DuePosition(k)
	return d, nil
}

// Audit lists the audit; see [store.AuditLog].
func (h *Handle) Audit(ctx context.Context, after uint64, limit int) (entries []store.AuditEntry, err error) {
	if err := h.alive(); err != nil {
		return nil, err
	}
	limit = store.PageSize(limit)
	err = h.db.view(ctx, func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketAudit).Cursor()
		for k, v := c.Seek(u64(after + 1)); k != nil && len(entries) < limit; k, v = c.Next() {
			if len(v) < 16 {
				return fmt.Errorf("%w: audit entry %d", store.ErrDamaged, readU64(k))
			}
			entries = append(entries, store.AuditEntry{N: readU64(k), Task: store.TaskID(v[:16]), Data: bytes.Clone(v[16:])})
		}
		return nil
	})
	return entries, err
}
