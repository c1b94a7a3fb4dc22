package memstore

import (
	"context"
	"slices"

	"a2a-server/store"
)

// Read returns a page of a task's log; see [store.Store].
func (h *handle) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	if err := h.lock(ctx); err != nil {
		return store.LogPage{}, err
	}
	defer h.db.mu.Unlock()
	t, err := h.db.find(s, id)
	if err != nil {
		return store.LogPage{}, err
	}
	v := store.LogPage{Header: t.header}
	_, exact := from.Seq()
	from = from.Start(&t.header, limit.NoBulk)
	after, _ := from.Seq()
	v.Fill(t.events[min(after, t.header.Seq):], from, limit.WithDefaults())
	if !exact && !limit.Refuses(&t.header) {
		v.Snapshot = t.snapshot
		if !limit.NoBulk {
			v.Bulk = t.bulk
		}
	}
	return v, nil
}

func (db *DB) putAudit(id store.TaskID, entries ...[]byte) {
	for _, data := range entries {
		db.audit = append(db.audit, store.AuditEntry{N: uint64(len(db.audit)) + 1, Task: id, Data: data})
	}
}

// Audit lists audit entries; see [store.AuditLog].
func (h *handle) Audit(ctx context.Context, after uint64, limit int) ([]store.AuditEntry, error) {
	if err := h.lock(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.Unlock()
	later := h.db.audit[min(after, uint64(len(h.db.audit))):] // entry n is at n-1
	return slices.Clone(later[:min(store.PageSize(limit), len(later))]), nil
}

// Watch wakes a reader; see [store.Watcher].
func (h *handle) Watch(s store.Scope, id store.TaskID) (<-chan struct{}, func()) {
	return watch(h, &h.db.ofTasks, s, id)
}

// WatchRows wakes a reader of rows of a kind; see [store.Watcher].
func (h *handle) WatchRows(s store.Scope, kind string) (<-chan struct{}, func()) {
	return watch(h, &h.db.ofRows, s, kind)
}

// watch adds a watcher. The channel of a closed handle never receives.
func watch[K comparable](h *handle, w *store.Watchers[K], s store.Scope, key K) (<-chan struct{}, func()) {
	h.db.mu.Lock()
	defer h.db.mu.Unlock()
	if h.dead() {
		return make(chan struct{}), func() {}
	}
	return w.Watch(s, key)
}

// wakeRows wakes the watchers of changed rows of owner.
func (db *DB) wakeRows(changes []store.RowChange, owner store.Scope) {
	for i := range changes {
		db.ofRows.Wake(changes[i].Kind, owner)
	}
}
