package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
)

// deleteContext removes the rows of a task's context if the task, which is about to be
// deleted, is the last in it.
func (r *round) deleteContext(t *work) error {
	owner, contextID := t.now.Owner, t.now.Context
	if contextID == "" {
		return nil
	}
	found, err := r.rowsAt(func(kind string) []byte { return layout.ContextRowKey(kind, owner, contextID, nil) })
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
		if other != t && other.now.Visible() && other.now.Owner == owner && other.now.Context == contextID {
			return true
		}
	}
	is := func(id store.TaskID) bool {
		if _, known := r.tasks[id]; known {
			return false // it was looked at above
		}
		rec, err := read.Header(r.task, id)
		if err != nil {
			return errors.Is(err, store.ErrDataLoss)
		}
		return rec.Visible() && rec.Owner == owner && rec.Context == contextID
	}
	sc, cx := owner.Key(), store.ContextKey(contextID)
	prefix := layout.ContextPrefix(sc, cx)
	c := r.listCtx.Cursor()
	for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if _, id, err := store.ParseTaskPosition(k[len(prefix):]); err != nil || is(id) {
			return true
		}
	}
	c = r.live.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if e := read.LiveEntryAt(v); e.Owner == sc && e.Context == cx && is(store.TaskID(k)) {
			return true
		}
	}
	return false
}

// deleteStep is the number of log values that a step removes, so that no commit takes long and
// freed pages are reused.
const deleteStep = 256

// Delete removes a task; see [store.Store].
func (w *Writer) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
	err := w.do(ctx, func(r *round) error { return r.markDeleting(s, id, audit) })
	if errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err != nil {
		return fmt.Errorf("delete task %s: %w", id, err)
	}
	for done := false; !done; {
		err := w.do(ctx, func(r *round) (err error) {
			done, err = r.deleteSome(id)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete task %s: %w: %w", id, store.ErrUnfinished, err)
		}
	}
	return nil
}

// markDeleting makes the task unfindable, and adds an audit entry unless it is nil. As System it
// also passes for a task whose deletion has begun.
func (r *round) markDeleting(s store.Scope, id store.TaskID, audit []byte) error {
	t, err := r.load(id)
	if err != nil {
		return err
	}
	if t.now.Deleting && s == store.System() {
		return nil
	}
	if !t.now.Visible() || !s.Covers(t.now.Owner) {
		return store.ErrNotFound
	}
	if t.now.Phase != store.Final || t.now.Due > 0 {
		return store.ErrBusy
	}
	found, err := r.rowsAt(func(kind string) []byte { return layout.RowKey(kind, id, store.Scope{}, nil) })
	if err != nil {
		return err
	}
	if err := r.deleteRows(found, t.now.Owner); err != nil {
		return err
	}
	if err := r.deleteContext(t); err != nil {
		return err
	}
	// The due row's time is the task's own, so that it is found again.
	key := layout.DueKey(id.Created(), id, store.Scope{}, store.DueDelete, nil)
	_ = r.put(r.due, key, r.keepParts(layout.BucketDue, key))
	if audit != nil {
		r.putAudit(id, audit)
	}
	t.now.Deleting, t.changed = true, true
	return r.err
}

// deleteSome removes some of the newest log values, and with the last of them the
// header.
func (r *round) deleteSome(id store.TaskID) (done bool, err error) {
	t, err := r.load(id)
	if err != nil {
		return false, err
	}
	if !t.now.Deleting {
		return true, nil // another call was faster
	}
	for range deleteStep {
		if t.now.LastAt == 0 {
			break
		}
		v, err := layout.ReadHead(r.log, id, t.now.LastAt, t.now.Values)
		if err != nil {
			return false, err
		}
		r.cut = true
		r.delete(r.log, layout.U64(t.now.LastAt))
		t.now.LastAt, t.now.Values = v.Prev, v.K-1
	}
	if t.now.LastAt != 0 {
		t.changed = true
		return false, r.err
	}
	r.delete(r.due, layout.DueKey(id.Created(), id, store.Scope{}, store.DueDelete, nil))
	r.delete(r.task, id[:])
	delete(r.tasks, id) // gone: nothing of it is to be written at the end
	t.changed, t.gone = false, true
	return true, r.err
}
