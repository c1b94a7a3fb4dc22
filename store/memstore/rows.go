package memstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"a2a-server/store"
)

type rowID struct {
	kind string
	in   place
	key  string
}

type row struct {
	rev   uint64
	value []byte
	index []store.IndexKey
}

// checkRows reports whether all of changes can be made, one after the other.
func (db *DB) checkRows(in place, changes []store.RowChange) error {
	revs := make(map[rowID]uint64, len(changes)) // as the changes before leave them
	for i := range changes {
		c := &changes[i]
		id := rowID{c.Kind, in, string(c.Key)}
		rev, ok := revs[id]
		if !ok {
			rev = db.rows[id].rev
		}
		if c.IfRev != store.Any && c.IfRev != rev {
			return fmt.Errorf("%w: row %s %q has rev %d", store.ErrConflict, c.Kind, c.Key, rev)
		}
		revs[id] = rev + 1
		if c.Delete {
			revs[id] = 0
		}
	}
	return nil
}

// putRows makes changes that checkRows has passed.
func (db *DB) putRows(in place, changes []store.RowChange) {
	for i := range changes {
		c := &changes[i]
		id := rowID{c.Kind, in, string(c.Key)}
		if c.Delete {
			delete(db.rows, id)
			continue
		}
		// The contract hands over byte slices, not the slice of entries.
		db.rows[id] = row{rev: db.rows[id].rev + 1, value: c.Value, index: slices.Clone(c.Index)}
	}
}

// hit is a row at one of its positions in the order of a query.
type hit struct {
	position string
	row      store.Row
}

// Rows lists rows; see [store.RowQuery].
func (h *handle) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	if err := h.lock(ctx); err != nil {
		return store.RowPage{}, err
	}
	defer h.db.mu.Unlock()
	if q.Key != nil && q.Task.IsZero() && !s.IsOwner() && !s.IsZero() {
		return store.RowPage{}, fmt.Errorf("%w: a row's key needs its task or an owner", store.ErrInvalid)
	}
	if len(q.Prefix) > 0 && q.Index == "" {
		return store.RowPage{}, fmt.Errorf("%w: a prefix needs an index", store.ErrInvalid)
	}
	cursor, err := q.DecodeCursor(s)
	if err != nil {
		return store.RowPage{}, err
	}

	var hits []hit
	for id, r := range h.db.rows {
		if !s.Covers(h.db.owner(id.in)) || !selects(q, id) {
			continue
		}
		found := store.Row{Kind: id.kind, Task: id.in.task, Key: []byte(id.key), Rev: r.rev, Value: r.value}
		for _, p := range positions(q, id, r) {
			if cursor == nil || p > string(cursor) {
				hits = append(hits, hit{p, found})
			}
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return strings.Compare(a.position, b.position) })
	// An entry that a row has twice is one entry.
	hits = slices.CompactFunc(hits, func(a, b hit) bool { return a.position == b.position })

	var page store.RowPage
	if n := store.PageSize(q.Limit); len(hits) > n {
		hits = hits[:n]
		page.Next = q.EncodeCursor(s, []byte(hits[n-1].position))
	}
	for _, f := range hits {
		page.Rows = append(page.Rows, f.row)
	}
	return page, nil
}

// selects reports whether q asks for a row with this id, wherever it is indexed.
func selects(q store.RowQuery, id rowID) bool {
	if q.Kind != id.kind {
		return false
	}
	if q.Key != nil { // of a task, or of an owner alone: never of any task
		return q.Task == id.in.task && string(q.Key) == id.key
	}
	return q.Task.IsZero() || q.Task == id.in.task
}

// positions returns the row's positions in the order of q: one, or with an index one
// for each of its entries there. Positions compare as (index key, task, owner, key).
func positions(q store.RowQuery, id rowID, r row) []string {
	var owner [16]byte
	if id.in.task.IsZero() {
		owner = id.in.owner.Key()
	}
	position := string(id.in.task[:]) + string(owner[:]) + id.key
	if q.Index == "" {
		return []string{position}
	}
	var all []string
	for _, ix := range r.index {
		if ix.Index == q.Index && bytes.HasPrefix(ix.Key, q.Prefix) {
			all = append(all, ordered(ix.Key)+position)
		}
	}
	return all
}

// ordered returns key with an end that sorts before all that may follow in a longer
// key, so that what follows it does not disturb the order.
func ordered(key []byte) string {
	return strings.ReplaceAll(string(key), "\x00", "\x00\xff") + "\x00\x00"
}
