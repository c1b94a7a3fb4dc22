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
		h.db.audit = append(h.db.audit, store.AuditEntry{N: uint64(len(h.db.audit)) + 1, Task: id, Data: audit})
	}
	delete(h.db.tasks, id)
	last := h.db.isLast(&t.header)
	places := []place{{task: id}}
	if last {
		places = append(places, place{owner: t.header.Owner, context: t.header.Context})
	}
	for _, r := range h.db.rowsOf(places) {
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

// rowsOf returns all rows of places.
func (db *DB) rowsOf(places []place) []*row {
	var found []*row
	for _, kind := range db.kinds() {
		for _, p := range places {
			for _, r := range db.rowsIn(kind, p) {
				found = append(found, r)
			}
		}
	}
	return found
}

// kinds returns the kinds of which there are rows.
func (db *DB) kinds() []string {
	var kinds []string
	for from, more := "", true; more; {
		more = false
		db.rows.Ascend(from, func(_ string, r *row) bool {
			kinds = append(kinds, r.id.kind)
			from, more = escaped([]byte(r.id.kind))+"\x00\x01", true // after all rows of the kind
			return false
		})
	}
	return kinds
}
