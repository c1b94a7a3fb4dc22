package memstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"a2a-server/store"
)

type dueID struct {
	time store.Millis
	in   place
	kind string
	key  string
}

// position compares by time, then by task, owner, kind and key.
func (d dueID) position() store.DuePosition {
	p := binary.BigEndian.AppendUint64(nil, uint64(d.time))
	p = append(p, d.in.task[:]...)
	if d.in.task.IsZero() {
		owner := d.in.owner.Key()
		p = append(p, owner[:]...)
	}
	p = append(p, ordered([]byte(d.kind))...)
	return store.DuePosition(append(p, d.key...))
}

// putDue makes changes and returns by how many the due rows of in have grown.
func (db *DB) putDue(in place, changes []store.DueChange) int {
	before := len(db.due)
	for i := range changes {
		c := &changes[i]
		id := dueID{c.Time, in, c.Kind, string(c.Key)}
		if c.Delete {
			delete(db.due, id)
		} else if _, ok := db.due[id]; !ok { // putting one that is there changes nothing
			db.due[id] = c.Payload
		}
	}
	return len(db.due) - before
}

// Due lists due work; see [store.Store].
func (h *handle) Due(ctx context.Context, now store.Millis, after store.DuePosition, limit int) ([]store.Due, store.Millis, error) {
	if err := h.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer h.db.mu.Unlock()
	var rows []store.Due
	for id, payload := range h.db.due {
		if p := id.position(); p > after {
			rows = append(rows, store.Due{Time: id.time, Task: id.in.task, Kind: id.kind, Key: []byte(id.key), Payload: payload, Position: p})
		}
	}
	slices.SortFunc(rows, func(a, b store.Due) int { return cmp.Compare(a.Position, b.Position) })
	limit = store.PageSize(limit)
	for i, d := range rows {
		if d.Time > now || i == limit {
			return rows[:i:i], d.Time, nil
		}
	}
	return rows, 0, nil
}
