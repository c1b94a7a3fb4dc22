package memstore

import (
	"context"
	"encoding/binary"

	"a2a-server/store"
)

// duePosition compares by time, then by task, owner, kind and key.
func duePosition(in place, c *store.DueChange) store.DuePosition {
	p := binary.BigEndian.AppendUint64(nil, uint64(c.Time))
	return store.DuePosition(string(p) + in.key() + ordered([]byte(c.Kind)) + string(c.Key))
}

// putDue makes changes and returns by how many the due rows of in have grown.
func (db *DB) putDue(in place, changes []store.DueChange) int {
	before := db.due.Len()
	for i := range changes {
		c := &changes[i]
		p := duePosition(in, c)
		if c.Delete {
			db.due.Delete(string(p))
		} else if _, ok := db.due.Get(string(p)); !ok { // putting an existing row changes nothing
			db.due.Set(string(p), store.Due{Time: c.Time, Task: in.task, Kind: c.Kind, Key: c.Key, Payload: c.Payload, Position: p})
		}
	}
	return db.due.Len() - before
}

// Due lists due work; see [store.Store].
func (h *handle) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) ([]store.Due, store.Millis, error) {
	if err := h.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer h.db.mu.Unlock()
	limit = store.PageSize(limit)
	var rows []store.Due
	var next store.Millis
	h.db.due.Ascend(string(after), func(_ string, d store.Due) bool {
		switch {
		case d.Position == after:
		case d.Time > now || len(rows) == limit:
			next = d.Time
			return false
		default:
			rows = append(rows, d)
		}
		return true
	})
	return rows, next, nil
}
