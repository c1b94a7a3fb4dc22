package store

import (
	"sync"
	"sync/atomic"
)

// RowWatchers wakes the watchers of rows of a kind; see [Watcher]. It is for
// implementations, and safe for concurrent use. Its zero value is ready to use.
type RowWatchers struct {
	n     atomic.Int64 // of all watchers
	mu    sync.Mutex
	kinds map[string]map[*rowWatcher]struct{}
}

type rowWatcher struct {
	scope Scope
	wake  chan struct{} // capacity 1: wake-ups coalesce
}

// Watch implements WatchRows of [Watcher].
func (w *RowWatchers) Watch(s Scope, kind string) (wake <-chan struct{}, stop func()) {
	one := &rowWatcher{scope: s, wake: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kinds == nil {
		w.kinds = map[string]map[*rowWatcher]struct{}{}
	}
	if w.kinds[kind] == nil {
		w.kinds[kind] = map[*rowWatcher]struct{}{}
	}
	w.kinds[kind][one] = struct{}{}
	w.n.Add(1)
	return one.wake, sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.n.Add(-1)
		if delete(w.kinds[kind], one); len(w.kinds[kind]) == 0 {
			delete(w.kinds, kind)
		}
	})
}

// Wake wakes the watchers of a kind that may see a row of owner's. It costs next to nothing
// without watchers.
func (w *RowWatchers) Wake(kind string, owner Scope) {
	if w.n.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.kinds[kind] {
		if !one.scope.Covers(owner) {
			continue
		}
		select {
		case one.wake <- struct{}{}:
		default: // a wake-up is waiting already
		}
	}
}
