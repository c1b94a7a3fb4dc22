package memstore

import "a2a-server/store"

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
