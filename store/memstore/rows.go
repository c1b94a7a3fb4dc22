package memstore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"a2a-server/store"
)

type rowID struct {
	kind string
	in   place
	key  string
}

// position is the row's key in [DB].rows: rows sort by kind, then by place, then by key.
func (id rowID) position() []byte {
	at := id.in.append(appendOrdered(make([]byte, 0, 128), id.kind))
	return append(at, id.key...)
}

type row struct {
	id    rowID
	rev   uint64
	value []byte
	index []store.IndexKey
}

// entries calls f with the keys of the row in [DB].index: each index sorts by index key, then by
// place, then by key.
func (r *row) entries(f func(key string)) {
	for _, ix := range r.index {
		var room [192]byte
		at := appendOrdered(appendOrdered(appendOrdered(room[:0], r.id.kind), ix.Index), ix.Key)
		f(string(append(r.id.in.append(at), r.id.key...)))
	}
}

// places are the places of the rows of a batch.
type places struct {
	own     place // the task, or the owner of a batch without a task
	context place // of the task
}

func (p *places) of(c *store.RowChange) rowID {
	if c.OfContext {
		return rowID{c.Kind, p.context, string(c.Key)}
	}
	if !c.Of.IsZero() {
		return rowID{c.Kind, place{owner: c.Of}, string(c.Key)}
	}
	return rowID{c.Kind, p.own, string(c.Key)}
}

// checkContextRows refuses a batch that makes the rows of its context exceed a limit.
func (db *DB) checkContextRows(in places, b *store.Batch) error {
	return b.CheckContextRows(func(kind string, add func(key, value []byte)) error {
		for _, r := range db.rowsIn(kind, in.context) {
			add([]byte(r.id.key), r.value)
		}
		return nil
	})
}

// checkRows reports whether all changes can be made, in order.
func (db *DB) checkRows(in places, b *store.Batch) error {
	return b.CheckRows(func(c *store.RowChange) []byte { return in.of(c).position() }, func(key []byte) (uint64, error) {
		if r, found := db.rows.Get(string(key)); found {
			return r.rev, nil
		}
		return 0, nil
	})
}

// putRows makes changes that checkRows has passed.
func (db *DB) putRows(in places, changes []store.RowChange) {
	for i := range changes {
		c := &changes[i]
		id := in.of(c)
		if c.Delete {
			db.removeRow(id)
			continue
		}
		// The contract hands over byte slices, not the slice of entries.
		r := &row{id: id, rev: 1, value: c.Value, index: slices.Clone(c.Index)}
		if old, found := db.rows.Set(string(id.position()), r); found {
			r.rev = old.rev + 1
			old.entries(func(key string) { db.index.Delete(key) })
		}
		r.entries(func(key string) { db.index.Set(key, r) })
	}
}

// removeRow removes a row, if it is there, with its index entries.
func (db *DB) removeRow(id rowID) {
	if r, found := db.rows.Delete(string(id.position())); found {
		r.entries(func(key string) { db.index.Delete(key) })
	}
}

// rowsIn yields the rows of a kind in a place, in order of their keys. The map must not change
// meanwhile.
func (db *DB) rowsIn(kind string, in place) iter.Seq2[string, *row] {
	return walk(&db.rows, ordered(kind), in.key(), "")
}

// walk yields the rows of a map with keys that begin with base and then prefix, each with its
// position: its key without base. It starts after the position after; "": at the first row.
func walk(rows *btree.Map[string, *row], base, prefix, after string) iter.Seq2[string, *row] {
	return func(yield func(string, *row) bool) {
		rows.Ascend(base+max(prefix, after), func(key string, r *row) bool {
			position := strings.TrimPrefix(key, base)
			if !strings.HasPrefix(key, base) || !strings.HasPrefix(position, prefix) {
				return false
			}
			return after != "" && position == after || yield(position, r)
		})
	}
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

	var page store.RowPage
	var last string
	size := 0
	rows, base, prefix := h.db.query(s, q)
	for position, r := range walk(rows, base, prefix, string(cursor)) {
		if !s.Covers(h.db.owner(r.id.in)) || !selects(q, s, r.id) {
			continue
		}
		one := store.Row{Kind: r.id.kind, Task: r.id.in.task, Owner: h.db.owner(r.id.in), Context: r.id.in.context, Key: []byte(r.id.key), IndexKey: r.indexKey(q.Index, position)}
		if !q.Keys {
			one.Rev, one.Value = r.rev, r.value
		}
		if size += len(one.Value); q.Ends(len(page.Rows), size) {
			page.Next = q.EncodeCursor(s, []byte(last))
			break
		}
		last = position
		page.Rows = append(page.Rows, one)
	}
	return page, nil
}

// indexKey returns the key in an index that gives the row this position in it; nil for "", no index.
func (r *row) indexKey(index, position string) []byte {
	for _, ix := range r.index {
		if ix.Index == index && position == ordered(ix.Key)+r.id.in.key()+r.id.key {
			return ix.Key
		}
	}
	return nil
}

// query returns the map with the rows that q may select, in its order, and how their keys begin; see walk.
func (db *DB) query(s store.Scope, q store.RowQuery) (rows *btree.Map[string, *row], base, prefix string) {
	if q.Index != "" {
		return &db.index, ordered(q.Kind) + ordered(q.Index), escaped(q.Prefix)
	}
	if !q.Task.IsZero() || q.Context != "" || q.Key != nil {
		in := place{task: q.Task}
		if q.Task.IsZero() {
			in = place{owner: s, context: q.Context}
		}
		prefix = in.key() + string(q.Key)
	}
	return &db.rows, ordered(q.Kind), prefix
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

// ordered returns key with an end that sorts before any continuation of a longer key, so that
// a suffix does not disturb the order.
func ordered[T string | []byte](key T) string { return string(appendOrdered(nil, key)) }

// appendOrdered appends ordered of a key.
func appendOrdered[T string | []byte](dst []byte, key T) []byte {
	for i := range len(key) {
		if dst = append(dst, key[i]); key[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}

// escaped returns the common beginning of the results of ordered for all keys that begin with
// prefix.
func escaped(prefix []byte) string { return strings.ReplaceAll(string(prefix), "\x00", "\x00\xff") }
