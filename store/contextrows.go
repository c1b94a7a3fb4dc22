package store

import (
	"fmt"
	"maps"
	"slices"
)

// RowBound limits rows: how many there are, and how many bytes their keys and values
// have in all. 0: no limit.
type RowBound struct {
	Rows, Bytes uint64
}

// Add adds a row to the usage.
func (b *RowBound) Add(key, value []byte) {
	b.Rows++
	b.Bytes += RowBytes(key, value)
}

// RowBytes returns the bytes that a row of a context adds to its owner's usage, and to the
// total that Batch.ContextRows limits.
func RowBytes(key, value []byte) uint64 { return uint64(len(key) + len(value)) }

// Check returns a *ContextRowsError if rows of a kind grow from before to after and
// exceed the limit then.
func (b RowBound) Check(kind string, before, after RowBound) error {
	tooMany := b.Rows > 0 && after.Rows > b.Rows && after.Rows > before.Rows
	tooLarge := b.Bytes > 0 && after.Bytes > b.Bytes && after.Bytes > before.Bytes
	if tooMany || tooLarge {
		return &ContextRowsError{Kind: kind, Would: after, Limit: b}
	}
	return nil
}

// CheckContextRows returns a *ContextRowsError if b makes the rows of its context exceed
// b.ContextRows. It is for implementations. each calls add with all rows of a kind that the
// context has before b.
func (b *Batch) CheckContextRows(each func(kind string, add func(key, value []byte)) error) error {
	if b.ContextRows == (RowBound{}) {
		return nil
	}
	kinds := map[string]bool{}
	for i := range b.Rows {
		if b.Rows[i].OfContext {
			kinds[b.Rows[i].Kind] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		var before, after RowBound
		rows := map[string]uint64{} // the size of each
		err := each(kind, func(key, value []byte) {
			before.Add(key, value)
			rows[string(key)] = RowBytes(key, value)
		})
		if err != nil {
			return err
		}
		for i := range b.Rows {
			c := &b.Rows[i]
			if !c.OfContext || c.Kind != kind {
				continue
			}
			if rows[string(c.Key)] = RowBytes(c.Key, c.Value); c.Delete {
				delete(rows, string(c.Key))
			}
		}
		for _, size := range rows {
			after.Rows, after.Bytes = after.Rows+1, after.Bytes+size
		}
		if err := b.ContextRows.Check(kind, before, after); err != nil {
			return err
		}
	}
	return nil
}

// ContextRowsError says that a batch would exceed its ContextRows.
type ContextRowsError struct {
	Kind  string   // of the rows
	Would RowBound // the total after the batch
	Limit RowBound
}

// Error names the total after the batch, and the limit.
func (e *ContextRowsError) Error() string {
	return fmt.Sprintf("the context would have %d rows of kind %s with %d bytes; at most %d rows with %d bytes are allowed", e.Would.Rows, e.Kind, e.Would.Bytes, e.Limit.Rows, e.Limit.Bytes)
}
