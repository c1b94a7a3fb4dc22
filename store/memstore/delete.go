package memstore

import (
	"context"
	"maps"

	"a2a-server/store"
)

// Delete removes a task in one step; see [store.Store].
func (h *handle) Delete(ctx context.Context, s store.Scope, id store.TaskID) error {
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.db.mu.Unlock()
	t, err := h.db.find(s, id)
	if err != nil {
		return err
	}
	if t.header.Phase != store.Final || t.header.Due > 0 {
		return store.ErrBusy
	}
	delete(h.db.tasks, id)
	last := h.db.isLast(&t.header)
	context := place{owner: t.header.Owner, context: t.header.Context}
	maps.DeleteFunc(h.db.rows, func(r rowID, _ row) bool {
		if r.in.task != id && (!last || r.in != context) {
			return false
		}
		h.db.ofRows.Wake(r.kind, t.header.Owner)
		return true
	})
	h.db.wake(id, t.header.Owner) // a reader that waits has to learn that it is gone
	return nil
}

// isLast reports whether no other task is in the context of a task that has been removed.
func (db *DB) isLast(gone *store.Header) bool {
	if gone.Context == "" {
		return false
	}
	for _, t := range db.tasks {
		if t.header.Owner == gone.Owner && t.header.Context == gone.Context {
			return false
		}
	}
	return true
}
