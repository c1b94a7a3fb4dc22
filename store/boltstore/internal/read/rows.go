package read

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// Rows returns a page of rows after the position of a cursor.
func Rows(tx *bolt.Tx, s store.Scope, q store.RowQuery, at []byte) (store.RowPage, error) {
	l := rowLister{tasks: valuesOf(tx, layout.BucketTask), rows: valuesOf(tx, layout.BucketRow), scope: s, query: q, prefix: rowPrefix(s, q), at: at}
	err := l.list(tx)
	return l.page, err
}

// list adds the rows of the page.
func (l *rowLister) list(tx *bolt.Tx) error {
	q, at := &l.query, l.at
	switch {
	case q.Key != nil:
		return l.one(append(l.prefix, q.Key...))
	case q.Index != "":
		prefix := layout.AppendWordPrefix(layout.AppendWord(layout.AppendWord(nil, q.Kind), q.Index), q.Prefix)
		return scan(tx.Bucket(layout.BucketRowIdx).Cursor(), prefix, at, func(k, _ []byte) (bool, error) {
			key, indexKey, err := rowOf(k)
			if err != nil {
				return false, err
			}
			return l.add(key, k, indexKey, l.rows.Get)
		})
	}
	return scan(l.rows.cursor, l.prefix, at, func(k, v []byte) (bool, error) {
		return l.add(k, k, nil, func([]byte) []byte { return v })
	})
}

// rowPrefix returns how the keys of all rows that q may select begin.
func rowPrefix(s store.Scope, q store.RowQuery) []byte {
	switch {
	case q.Context != "":
		return layout.ContextRowKey(q.Kind, s, q.Context, nil)
	case !q.Task.IsZero() || q.Key != nil:
		return layout.RowKey(q.Kind, q.Task, s, nil)
	}
	return layout.AppendWord(nil, q.Kind)
}

// rowLister collects a page of rows.
type rowLister struct {
	tasks, rows values
	scope       store.Scope
	query       store.RowQuery
	prefix      []byte // of the keys of the rows
	at          []byte // the position of the last row
	size        int    // of the values
	page        store.RowPage
}

// one adds the row with a key, if it exists.
func (l *rowLister) one(key []byte) error {
	value := l.rows.Get(key)
	if value == nil {
		return nil
	}
	if _, err := l.add(key, key, nil, l.rows.Get); err != nil {
		return err
	}
	if len(l.page.Rows) > 0 && l.page.Rows[0].Damaged {
		return fmt.Errorf("%w: row %x", store.ErrDataLoss, key)
	}
	return nil
}

// add adds a row that the scope covers, and reports whether the page is full. position is that
// of the row in the list. The value of a row of a foreign task is not read.
func (l *rowLister) add(key, position, indexKey []byte, read func(key []byte) []byte) (full bool, err error) {
	if !bytes.HasPrefix(key, l.prefix) {
		return false, nil // an index has the rows of all places
	}
	row, err := rowAt(l.query.Kind, key)
	if err != nil {
		return false, err
	}
	row.IndexKey = indexKey
	owner := l.scope // of a row of a context the key says so, even if the value is damaged
	if !row.Task.IsZero() {
		// A row of a task that cannot be read is only for System: its owner is lost.
		t, err := Task(l.tasks, l.scope, row.Task)
		if err != nil && (l.scope != store.System() || !errors.Is(err, store.ErrDataLoss)) {
			return false, nil
		}
		owner = t.Owner
		if l.scope != store.System() && !l.scope.Covers(owner) {
			return false, nil
		}
	}
	if !l.query.Keys || row.Task.IsZero() {
		v, err := layout.DecodeRow(key, read(key))
		row.Damaged, row.Context = err != nil, v.Context
		if err == nil {
			row.Rev, row.Value = v.Rev, append([]byte{}, v.Value...)
		}
		if row.Task.IsZero() && l.query.Context == "" {
			owner = v.Owner
		}
	}
	if row.Context = cmp.Or(l.query.Context, row.Context); l.scope != store.System() && !l.scope.Covers(owner) {
		return false, nil
	}
	if row.Owner = owner; l.query.Keys {
		row.Rev, row.Value, row.Damaged = 0, nil, false
	}
	if l.size += len(row.Value); l.query.Ends(len(l.page.Rows), l.size) {
		l.page.Next = l.query.EncodeCursor(l.scope, l.at)
		return true, nil
	}
	l.page.Rows = append(l.page.Rows, row)
	l.at = bytes.Clone(position)
	return false, nil
}

// scan calls fn for each key with prefix, past after when it is not nil, until
// fn says that it has enough.
func scan(c *bolt.Cursor, prefix, after []byte, fn func(k, v []byte) (bool, error)) error {
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
func rowOf(k []byte) (key, indexKey []byte, err error) {
	key = k
	for range 3 {
		var ok bool
		if indexKey, key, ok = layout.CutWord(key); !ok {
			return nil, nil, fmt.Errorf("%w: index key %x", store.ErrDataLoss, k)
		}
	}
	return key, indexKey, nil
}

// rowAt returns the row at key, without its value.
func rowAt(kind string, key []byte) (store.Row, error) {
	_, rest, ok := layout.CutWord(key)
	row := store.Row{Kind: kind}
	if ok {
		row.Task, rest, ok = layout.CutOwner(rest)
	}
	if !ok {
		return store.Row{}, fmt.Errorf("%w: row key %x", store.ErrDataLoss, key)
	}
	row.Key = bytes.Clone(rest)
	return row, nil
}
