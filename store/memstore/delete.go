package memstore

import (
	"context"

	"a2a-server/store"
)

// Delete removes a task in one step; see [store.Store].
func (h *handle) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
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
	if audit != nil {
		h.db.putAudit(id, audit)
	}
	delete(h.db.tasks, id)
	last := h.db.isLast(&t.header)
	var rows []*row
	for _, r := range walk(&h.db.rows, "", "", "") {
		if r.id.in.task == id || last && r.id.in == (place{owner: t.header.Owner, context: t.header.Context}) {
			rows = append(rows, r)
		}
	}
	for _, r := range rows {
		h.db.removeRow(r.id)
		h.db.ofRows.Wake(r.id.kind, t.header.Owner)
	}
	h.db.ofTasks.Wake(id, t.header.Owner) // a reader that waits has to learn that it is gone
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
