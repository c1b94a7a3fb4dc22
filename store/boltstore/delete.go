package boltstore

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/store"
)

// deleteStep is the number of log values that a step removes, so that no commit takes long and
// freed pages are reused.
const deleteStep = 256

// Delete removes a task; see [store.Store].
func (h *Handle) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
	if err := h.alive(); err != nil {
		return err
	}
	err := h.db.do(ctx, func(r *round) error { return r.markDeleting(s, id, audit) })
	if errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err != nil {
		return fmt.Errorf("delete task %s: %w", id, err)
	}
	for done := false; !done; {
		err := h.db.do(ctx, func(r *round) (err error) {
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
	if t.now.deleting && s == store.System() {
		return nil
	}
	if !t.now.there() || !s.Covers(t.now.Owner) {
		return store.ErrNotFound
	}
	if t.now.Phase != store.Final || t.now.Due > 0 {
		return store.ErrBusy
	}
	found, err := r.rowsAt(func(kind string) []byte { return rowKey(kind, id, store.Scope{}, nil) })
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
	key := dueKey(id.Created(), id, store.Scope{}, store.DueDelete, nil)
	_ = r.put(&r.due, key, r.keepMarked(bucketDue, key))
	if audit != nil {
		r.putAudit(id, audit)
	}
	t.now.deleting, t.changed = true, true
	return r.err
}

// deleteSome removes some of the newest log values, and with the last of them the
// header.
func (r *round) deleteSome(id store.TaskID) (done bool, err error) {
	t, err := r.load(id)
	if err != nil {
		return false, err
	}
	if !t.now.deleting {
		return true, nil // another call was faster
	}
	for range deleteStep {
		if t.now.last == 0 {
			break
		}
		v, err := readHead(&r.log, id, t.now.last, t.now.values)
		if err != nil {
			return false, err
		}
		r.cut = true
		r.delete(&r.log, u64(t.now.last))
		t.now.last, t.now.values = v.prev, v.k-1
	}
	if t.now.last != 0 {
		t.changed = true
		return false, r.err
	}
	r.delete(&r.due, dueKey(id.Created(), id, store.Scope{}, store.DueDelete, nil))
	r.delete(&r.task, id[:])
	delete(r.tasks, id) // gone: nothing of it is to be written at the end
	t.changed, t.gone = false, true
	return true, r.err
}
