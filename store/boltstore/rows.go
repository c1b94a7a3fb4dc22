package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
)

// rowKeyOf returns the key of a row of a batch. t is the batch's task, nil: it has none.
func rowKeyOf(b *store.Batch, t *work, c *store.RowChange) []byte {
	if c.OfContext {
		return contextRowKey(c.Kind, t.now.Owner, t.now.Context, c.Key)
	}
	return rowKey(c.Kind, b.Task, b.Scope, c.Key)
}

// checkRows checks the revs of b's rows before any is written.
func (r *round) checkRows(b *store.Batch, t *work) error {
	return b.CheckRows(func(c *store.RowChange) []byte { return rowKeyOf(b, t, c) }, func(key []byte) (uint64, error) {
		have, err := r.readRow(key)
		return have.rev, err
	})
}

// readRow returns the zero rowValue when there is no row.
func (r *round) readRow(key []byte) (rowValue, error) {
	value := r.row.Get(key)
	if value == nil {
		return rowValue{}, nil
	}
	return decodeRow(key, value)
}

func (r *round) putRows(b *store.Batch, t *work) {
	for i := range b.Rows {
		c := &b.Rows[i]
		key := rowKeyOf(b, t, c)
		have, err := r.readRow(key)
		if err != nil {
			r.err = err
			return
		}
		if have.rev > 0 {
			r.deleteIndex(c.Kind, key, &have)
		}
		if c.OfContext && have.rev > 0 {
			r.charge(key, t.now.Owner, -int64(store.RowBytes(c.Key, have.value)))
		}
		if c.Delete {
			if have.rev > 0 {
				r.delete(&r.row, key)
			}
			continue
		}
		now := rowValue{rev: have.rev + 1, index: c.Index, value: c.Value}
		switch {
		case b.Task.IsZero():
			now.owner = b.Scope
		case c.OfContext:
			now.owner, now.context = t.now.Owner, t.now.Context
			r.charge(key, now.owner, int64(store.RowBytes(c.Key, c.Value)))
		}
		if packed := r.keep(func(b []byte) []byte { b, _ = r.w.compress(b, c.Value); return b }); len(packed) > 0 {
			now.packed = packed
		}
		_ = r.put(&r.row, key, r.keepSealed(bucketRow, key, now.append))
		for _, ix := range c.Index {
			_ = r.put(&r.rowIdx, indexKey(c.Kind, ix, key), nil)
		}
	}
}

func (r *round) deleteIndex(kind string, key []byte, v *rowValue) {
	for _, ix := range v.index {
		r.delete(&r.rowIdx, indexKey(kind, ix, key))
	}
}

// foundRow is a row that is to be removed.
type foundRow struct {
	kind  string
	key   []byte // in the bucket
	short int    // length of the key that the row has for its user
	value rowValue
}

// rowsAt returns the rows of a task or a context, whatever their kind. prefix returns the
// beginning of their keys.
func (r *round) rowsAt(prefix func(kind string) []byte) (found []foundRow, err error) {
	c := r.row.Cursor()
	for k, _ := c.First(); k != nil; {
		word, _, ok := cutWord(k)
		if !ok {
			return nil, fmt.Errorf("%w: row key %x", store.ErrDataLoss, k)
		}
		kind := string(word)
		begin := prefix(kind)
		for k, v := c.Seek(begin); k != nil && bytes.HasPrefix(k, begin); k, v = c.Next() {
			row, err := decodeRow(k, v)
			if err != nil {
				return nil, err
			}
			found = append(found, foundRow{kind, bytes.Clone(k), len(k) - len(begin), row})
		}
		next := after(appendWord(nil, kind))
		k, _ = c.Seek(next)
	}
	return found, nil
}

// deleteRows removes rows found by rowsAt.
func (r *round) deleteRows(found []foundRow, owner store.Scope) error {
	for i := range found {
		f := &found[i]
		r.rows = append(r.rows, changedRow{f.kind, owner})
		if f.value.context != "" {
			r.charge(f.key, owner, -int64(f.short+len(f.value.value)))
		}
		r.deleteIndex(f.kind, f.key, &f.value)
		r.delete(&r.row, f.key)
	}
	return r.err
}

// Rows lists rows; see [store.Store].
func (h *Handle) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	if err := q.Validate(s); err != nil {
		return store.RowPage{}, err
	}
	at, err := q.DecodeCursor(s)
	if err != nil {
		return store.RowPage{}, err
	}
	l := rowLister{scope: s, query: q, prefix: rowPrefix(s, q), at: at}
	if s.IsZero() {
		return l.page, nil
	}
	err = h.view(ctx, func(im *image) error {
		l.tasks, l.rows = im.bucket(bucketTask), im.bucket(bucketRow)
		switch {
		case q.Key != nil:
			return l.one(append(l.prefix, q.Key...))
		case q.Index != "":
			if err := im.whole(); err != nil {
				return err
			}
			prefix := appendWordPrefix(appendWord(appendWord(nil, q.Kind), q.Index), q.Prefix)
			return scan(im.bucket(bucketRowIdx).Cursor(), prefix, at, func(k, _ []byte) (bool, error) {
				key, err := rowOf(k)
				if err != nil {
					return false, err
				}
				return l.add(key, l.rows.Get(key), k)
			})
		}
		return scan(l.rows.Cursor(), l.prefix, at, func(k, v []byte) (bool, error) { return l.add(k, v, k) })
	})
	if err != nil {
		return store.RowPage{}, err
	}
	return l.page, nil
}

// rowPrefix returns how the keys of all rows that q may select begin.
func rowPrefix(s store.Scope, q store.RowQuery) []byte {
	switch {
	case q.Context != "":
		return contextRowKey(q.Kind, s, q.Context, nil)
	case !q.Task.IsZero() || q.Key != nil:
		return rowKey(q.Kind, q.Task, s, nil)
	}
	return appendWord(nil, q.Kind)
}

// rowLister collects a page of rows.
type rowLister struct {
	tasks, rows *bucket
	scope       store.Scope
	query       store.RowQuery
	prefix      []byte // of the keys of the rows
	at          []byte // the position of the last row
	page        store.RowPage
}

// one adds the row with a key, if it exists.
func (l *rowLister) one(key []byte) error {
	value := l.rows.Get(key)
	if value == nil {
		return nil
	}
	if _, err := l.add(key, value, key); err != nil {
		return err
	}
	if len(l.page.Rows) > 0 && l.page.Rows[0].Damaged {
		return fmt.Errorf("%w: row %x", store.ErrDataLoss, key)
	}
	return nil
}

// add adds a row that the scope covers, and reports whether the page is full. position is that
// of the row in the list.
func (l *rowLister) add(key, value, position []byte) (full bool, err error) {
	if !bytes.HasPrefix(key, l.prefix) {
		return false, nil // an index has the rows of all places
	}
	row, owner, err := rowAt(l.query.Kind, key, value)
	if err != nil {
		return false, err
	}
	switch {
	case l.query.Context != "":
		row.Context, owner = l.query.Context, l.scope // the key says so, even if the value is damaged
	case !row.Task.IsZero():
		// A row of a task that cannot be read is only for System: its owner is lost.
		t, err := readTask(l.tasks, l.scope, row.Task)
		if err != nil && (l.scope != store.System() || !errors.Is(err, store.ErrDataLoss)) {
			return false, nil
		}
		owner = t.Owner
	}
	if l.scope != store.System() && !l.scope.Covers(owner) {
		return false, nil
	}
	if len(l.page.Rows) == store.PageSize(l.query.Limit) {
		l.page.Next = l.query.EncodeCursor(l.scope, l.at)
		return true, nil
	}
	l.page.Rows = append(l.page.Rows, row)
	l.at = bytes.Clone(position)
	return false, nil
}

// scan calls fn for each key with prefix, past after when it is not nil, until
// fn says that it has enough.
func scan(c *cursor, prefix, after []byte, fn func(k, v []byte) (bool, error)) error {
	k, v := c.Seek(prefix)
	if after != nil {
		if k, v = c.Seek(after); bytes.Equal(k, after) {
			k, v = c.Next()
		}
	}
	for ; k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if enough, err := fn(k, v); enough || err != nil {
			return err
		}
	}
	return nil
}

// rowOf returns the key of the row that a key of rowidx names, after the words of its kind, its
// index and its index key.
func rowOf(k []byte) ([]byte, error) {
	rest := k
	for range 3 {
		var ok bool
		if _, rest, ok = cutWord(rest); !ok {
			return nil, fmt.Errorf("%w: index key %x", store.ErrDataLoss, k)
		}
	}
	return rest, nil
}

// rowAt returns the row at key, copied, and the owner of a row without a task, unless the
// row is damaged. A nil value means that the row, which an index names, is missing.
func rowAt(kind string, key, value []byte) (store.Row, store.Scope, error) {
	_, rest, ok := cutWord(key)
	row := store.Row{Kind: kind}
	if ok {
		row.Task, rest, ok = cutOwner(rest)
	}
	if !ok {
		return store.Row{}, store.Scope{}, fmt.Errorf("%w: row key %x", store.ErrDataLoss, key)
	}
	row.Key = bytes.Clone(rest)
	v, err := decodeRow(key, value)
	if err != nil {
		row.Damaged = true
		return row, store.Scope{}, nil //nolint:nilerr // the row says so
	}
	row.Context, row.Rev, row.Value = v.context, v.rev, append([]byte{}, v.value...)
	return row, v.owner, nil
}
