package memstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
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

// places are what the rows of a batch belong to.
type places struct {
	own     place // the task, or the owner of a batch without one
	context place // of the task
}

func (p *places) of(c *store.RowChange) rowID {
	if c.OfContext {
		return rowID{c.Kind, p.context, string(c.Key)}
	}
	return rowID{c.Kind, p.own, string(c.Key)}
}

// checkContextRows refuses a batch that makes the rows of its context exceed a limit.
func (db *DB) checkContextRows(in places, b *store.Batch) error {
	if b.ContextRows == (store.RowBound{}) {
		return nil
	}
	before := map[string]store.RowBound{} // by kind
	values := map[rowID][]byte{}          // of the rows of the context
	for id, r := range db.rows {
		if id.in == in.context {
			used := before[id.kind]
			used.Add([]byte(id.key), r.value)
			before[id.kind], values[id] = used, r.value
		}
	}
	after := maps.Clone(before)
	for i := range b.Rows {
		c := &b.Rows[i]
		if !c.OfContext {
			continue
		}
		id, used := in.of(c), after[c.Kind]
		if value, ok := values[id]; ok {
			used.Remove(c.Key, value)
			delete(values, id)
		}
		if !c.Delete {
			used.Add(c.Key, c.Value)
			values[id] = c.Value
		}
		after[c.Kind] = used
	}
	for _, kind := range slices.Sorted(maps.Keys(after)) {
		if err := b.ContextRows.Check(kind, before[kind], after[kind]); err != nil {
			return err
		}
	}
	return nil
}

// checkRows reports whether all of changes can be made, one after the other.
func (db *DB) checkRows(in places, changes []store.RowChange) error {
	revs := make(map[rowID]uint64, len(changes)) // as the changes before leave them
	for i := range changes {
		c := &changes[i]
		id := in.of(c)
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
func (db *DB) putRows(in places, changes []store.RowChange) {
	for i := range changes {
		c := &changes[i]
		id := in.of(c)
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
	if err := q.Validate(s); err != nil {
		return store.RowPage{}, err
	}
	cursor, err := q.DecodeCursor(s)
	if err != nil {
		return store.RowPage{}, err
	}

	var hits []hit
	for id, r := range h.db.rows {
		if !s.Covers(h.db.owner(id.in)) || !selects(q, s, id) {
			continue
		}
		found := store.Row{Kind: id.kind, Task: id.in.task, Context: id.in.context, Key: []byte(id.key), Rev: r.rev, Value: r.value}
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
func selects(q store.RowQuery, s store.Scope, id rowID) bool {
	if q.Kind != id.kind || q.Context != "" && id.in != (place{owner: s, context: q.Context}) {
		return false
	}
	if q.Key != nil { // of a task, or of a context, or of an owner alone: never of any
		return q.Task == id.in.task && q.Context == id.in.context && string(q.Key) == id.key
	}
	return q.Task.IsZero() || q.Task == id.in.task
}

// positions returns the row's positions in the order of q: one, or with an index one
// for each of its entries there. Positions compare as (index key, task, owner, key).
func positions(q store.RowQuery, id rowID, r row) []string {
	position := id.in.key() + id.key
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
