package memstore

import "a2a-server/store"

type watcher struct {
	scope store.Scope
	wake  chan struct{} // holds a single wake-up: they coalesce
}

// Watch wakes a reader; see [store.Watcher]. The channel of a closed handle never
// receives.
func (h *handle) Watch(s store.Scope, id store.TaskID) (<-chan struct{}, func()) {
	db := h.db
	w := &watcher{scope: s, wake: make(chan struct{}, 1)}
	db.mu.Lock()
	defer db.mu.Unlock()
	if h.dead() {
		return w.wake, func() {}
	}
	if db.watchers[id] == nil {
		db.watchers[id] = make(map[*watcher]struct{})
	}
	db.watchers[id][w] = struct{}{}
	return w.wake, func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		delete(db.watchers[id], w)
		if len(db.watchers[id]) == 0 {
			delete(db.watchers, id)
		}
	}
}

// WatchRows wakes a reader of rows of a kind; see [store.Watcher]. The channel of a
// closed handle never receives.
func (h *handle) WatchRows(s store.Scope, kind string) (<-chan struct{}, func()) {
	h.db.mu.Lock()
	defer h.db.mu.Unlock()
	if h.dead() {
		return make(chan struct{}), func() {}
	}
	return h.db.ofRows.Watch(s, kind)
}

// wakeRows wakes the watchers of changed rows of owner.
func (db *DB) wakeRows(changes []store.RowChange, owner store.Scope) {
	for i := range changes {
		db.ofRows.Wake(changes[i].Kind, owner)
	}
}

// wake tells the watchers of a task, which belongs to owner, that it has changed.
func (db *DB) wake(id store.TaskID, owner store.Scope) {
	for w := range db.watchers[id] {
		if !w.scope.Covers(owner) {
			continue
		}
		select {
		case w.wake <- struct{}{}:
		default: // a wake-up is already waiting
		}
	}
}
