package memstore

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"a2a-server/store"
)

type dueID struct {
	time store.Millis
	in   place
	kind string
	key  string
}

// compare orders by time, then by task, owner, kind and key.
func (a dueID) compare(b dueID) int {
	var owners int
	if a.in.owner != b.in.owner { // the rare case, and keys are hashes
		keyA, keyB := a.in.owner.Key(), b.in.owner.Key()
		owners = bytes.Compare(keyA[:], keyB[:])
	}
	return cmp.Or(
		cmp.Compare(a.time, b.time),
		bytes.Compare(a.in.task[:], b.in.task[:]),
		owners,
		strings.Compare(a.kind, b.kind),
		strings.Compare(a.key, b.key),
	)
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
func (h *handle) Due(ctx context.Context, now store.Millis, limit int) ([]store.Due, store.Millis, error) {
	if err := h.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer h.db.mu.Unlock()
	ids := make([]dueID, 0, len(h.db.due))
	for id := range h.db.due {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, dueID.compare)
	var due []store.Due
	for _, id := range ids {
		if id.time > now || len(due) >= limit {
			return due, id.time, nil
		}
		due = append(due, store.Due{Time: id.time, Task: id.in.task, Kind: id.kind, Key: []byte(id.key), Payload: h.db.due[id]})
	}
	return due, 0, nil
}
