package writer

import (
	"bytes"
	"fmt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
)

// putDue returns how many due rows there are more than before.
func (r *round) putDue(b *store.Batch, t *work) (more int) {
	for i := range b.Due {
		c := &b.Due[i]
		key := layout.DueKey(c.Time, b.Task, b.Scope, c.Kind, c.Key)
		there := r.due.Get(key) != nil
		switch {
		case c.Delete && there:
			r.delete(r.due, key)
			more--
		case !c.Delete && !there:
			_ = r.put(r.due, key, r.keepParts(layout.BucketDue, key, c.Payload))
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
		r.nextAudit = max(r.next(r.audit), layout.ReadU64(r.meta.Get(layout.KeyAudit)))
	}
	n := layout.U64(r.nextAudit)
	_ = r.put(r.audit, n, r.keepParts(layout.BucketAudit, n, task[:], entry))
	r.nextAudit++
}

// rowKeyOf returns the key of a row of a batch. t is the batch's task, nil: it has none.
func rowKeyOf(b *store.Batch, t *work, c *store.RowChange) []byte {
	if c.OfContext {
		return layout.ContextRowKey(c.Kind, t.now.Owner, t.now.Context, c.Key)
	}
	if !c.Of.IsZero() {
		return layout.RowKey(c.Kind, store.TaskID{}, c.Of, c.Key)
	}
	return layout.RowKey(c.Kind, b.Task, b.Scope, c.Key)
}

// checkRows checks the revs of b's rows before any is written.
func (r *round) checkRows(b *store.Batch, t *work) error {
	return b.CheckRows(func(c *store.RowChange) []byte { return rowKeyOf(b, t, c) }, func(key []byte) (uint64, error) {
		have, err := r.readRow(key)
		return have.Rev, err
	})
}

// readRow returns the zero rowValue when there is no row.
func (r *round) readRow(key []byte) (layout.RowValue, error) {
	value := r.row.Get(key)
	if value == nil {
		return layout.RowValue{}, nil
	}
	return layout.DecodeRow(key, value)
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
		if have.Rev > 0 {
			r.deleteIndex(c.Kind, key, &have)
		}
		if c.OfContext && have.Rev > 0 {
			r.charge(key, t.now.Owner, -int64(store.RowBytes(c.Key, have.Value)))
		}
		if c.Delete {
			if have.Rev > 0 {
				r.delete(r.row, key)
			}
			continue
		}
		now := layout.RowValue{Rev: have.Rev + 1, Index: c.Index, Value: c.Value}
		switch {
		case b.Task.IsZero():
			now.Owner = b.Scope
		case !c.Of.IsZero():
			now.Owner = c.Of
		case c.OfContext:
			now.Owner, now.Context = t.now.Owner, t.now.Context
			r.charge(key, now.Owner, int64(store.RowBytes(c.Key, c.Value)))
		}
		if packed := r.keep(func(b []byte) []byte { b, _ = r.w.compressor.Compress(b, c.Value); return b }); len(packed) > 0 {
			now.Packed = packed
		}
		_ = r.put(r.row, key, r.keepSealed(layout.BucketRow, key, now.Append))
		for _, ix := range c.Index {
			_ = r.put(r.rowIdx, layout.IndexKey(c.Kind, ix, key), nil)
		}
	}
}

func (r *round) deleteIndex(kind string, key []byte, v *layout.RowValue) {
	for _, ix := range v.Index {
		r.delete(r.rowIdx, layout.IndexKey(kind, ix, key))
	}
}

// foundRow is a row that is to be removed.
type foundRow struct {
	kind  string
	key   []byte // in the bucket
	short int    // length of the key that the row has for its user
	value layout.RowValue
}

// rowsAt returns the rows of a task or a context, whatever their kind. prefix returns the
// beginning of their keys.
func (r *round) rowsAt(prefix func(kind string) []byte) (found []foundRow, err error) {
	c := r.row.Cursor()
	for k, _ := c.First(); k != nil; {
		word, _, ok := layout.CutWord(k)
		if !ok {
			return nil, fmt.Errorf("%w: row key %x", store.ErrDataLoss, k)
		}
		kind := string(word)
		begin := prefix(kind)
		for k, v := c.Seek(begin); k != nil && bytes.HasPrefix(k, begin); k, v = c.Next() {
			row, err := layout.DecodeRow(k, v)
			if err != nil {
				return nil, err
			}
			found = append(found, foundRow{kind, bytes.Clone(k), len(k) - len(begin), row})
		}
		next := layout.After(layout.AppendWord(nil, kind))
		k, _ = c.Seek(next)
	}
	return found, nil
}

// deleteRows removes rows found by rowsAt.
func (r *round) deleteRows(found []foundRow, owner store.Scope) error {
	for i := range found {
		f := &found[i]
		r.rows = append(r.rows, changedRow{f.kind, owner})
		if f.value.Context != "" {
			r.charge(f.key, owner, -int64(f.short+len(f.value.Value)))
		}
		r.deleteIndex(f.kind, f.key, &f.value)
		r.delete(r.row, f.key)
	}
	return r.err
}
