package boltstore

import (
	"bytes"
	"errors"
	"fmt"

	"a2a-server/store"
)

// checkContextRows refuses a batch that makes the rows of its context exceed a limit, counting
// earlier writes of the round.
func (r *round) checkContextRows(b *store.Batch, t *work) error {
	return b.CheckContextRows(func(kind string, add func(key, value []byte)) error {
		prefix := contextRowKey(kind, t.now.Owner, t.now.Context, nil)
		c := r.row.Cursor()
		for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
			row, err := decodeRow(k, v)
			if err != nil {
				return err
			}
			add(k[len(prefix):], row.value)
		}
		return nil
	})
}

// deleteContext removes the rows of a task's context if the task, which is about to be
// deleted, is the last in it.
func (r *round) deleteContext(t *work) error {
	owner, contextID := t.now.Owner, t.now.Context
	if contextID == "" {
		return nil
	}
	found, err := r.rowsAt(func(kind string) []byte { return contextRowKey(kind, owner, contextID, nil) })
	if err != nil || len(found) == 0 || r.shared(t) {
		return err
	}
	return r.deleteRows(found, owner)
}

// shared reports whether a context has another task than t, as the round stands. The indexes
// show the state before the round. A task with an unreadable header may be in the context.
func (r *round) shared(t *work) bool {
	owner, contextID := t.now.Owner, t.now.Context
	for _, other := range r.tasks {
		if other != t && other.now.there() && other.now.Owner == owner && other.now.Context == contextID {
			return true
		}
	}
	is := func(id store.TaskID) bool {
		if _, known := r.tasks[id]; known {
			return false // it was looked at above
		}
		rec, err := readRecord(&r.task, id)
		if err != nil {
			return errors.Is(err, store.ErrDataLoss)
		}
		return rec.there() && rec.Owner == owner && rec.Context == contextID
	}
	if r.w.db.rebuilding.under() != nil {
		return true // for all that is known: its rows stay
	}
	sc, cx := owner.Key(), store.ContextKey(contextID)
	prefix := ctxPrefix(sc, cx)
	c := r.im.bucket(bucketListCtx).Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if _, id, err := store.ParseTaskPosition(k[len(prefix):]); err != nil || is(id) {
			return true
		}
	}
	c = r.im.bucket(bucketLive).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if e := decodeLive(v); e.owner == sc && e.context == cx && is(store.TaskID(k)) {
			return true
		}
	}
	return false
}

// chargedRow is a change of a context's row, which its owner's usage counts.
type chargedRow struct {
	key   []byte // in the bucket
	owner store.Scope
	bytes int64
}

// charge notes by how much a row of a context changes its owner's usage.
func (r *round) charge(key []byte, owner store.Scope, n int64) {
	r.charged = append(r.charged, chargedRow{key, owner, n})
	if r.grown != nil {
		r.grown[owner] += n
	}
}

// moveRow records the change that a round has made to a row of a context.
func (u *usage) moveRow(c *chargedRow) {
	if u.owners == nil || !u.whole && bytes.Compare(c.key, u.rows) >= 0 {
		return // the walk has not reached it yet
	}
	u.add(c.owner, uint64(c.bytes))
}

// walkRows takes the next step through the rows of contexts and of scopes, which are the first
// of each kind. It reports whether it has reached the end.
func (u *usage) walkRows(rows *bucket, steps int) (whole bool, err error) {
	c := rows.Cursor()
	k, v := c.First()
	if u.rows != nil {
		k, v = c.Seek(u.rows)
	}
	for range steps {
		if k == nil {
			return true, nil
		}
		kind, rest, ok := cutWord(k)
		if !ok {
			return false, fmt.Errorf("%w: row key %x", store.ErrDataLoss, k)
		}
		if len(rest) < 32 || store.TaskID(rest[:16]) != (store.TaskID{}) {
			u.rows = after(appendWord(nil, kind))
			k, v = c.Seek(u.rows)
			continue
		}
		if row, err := decodeRow(k, v); err == nil && row.context != "" { // else the owner is unknown
			u.add(row.owner, store.RowBytes(rest[32:], row.value))
		}
		u.rows = append(bytes.Clone(k), 0) // the next possible key
		k, v = c.Next()
	}
	return false, nil
}
