package store

import (
	"sync"
	"sync/atomic"
)

// Watchers wakes the watchers of tasks by their ids, or of rows by their kinds; see [Watcher].
// It is for implementations, and safe for concurrent use. Its zero value is ready to use.
type Watchers[K comparable] struct {
	n  atomic.Int64 // of all watchers
	mu sync.Mutex
	of map[K]map[*watcher]struct{}
}

type watcher struct {
	scope Scope
	wake  chan struct{} // capacity 1: wake-ups coalesce
}

// Watch adds a watcher of key, until stop is called.
func (w *Watchers[K]) Watch(s Scope, key K) (wake <-chan struct{}, stop func()) {
	one := &watcher{scope: s, wake: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of = map[K]map[*watcher]struct{}{}
	}
	if w.of[key] == nil {
		w.of[key] = map[*watcher]struct{}{}
	}
	w.of[key][one] = struct{}{}
	w.n.Add(1)
	return one.wake, sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.n.Add(-1)
		if delete(w.of[key], one); len(w.of[key]) == 0 {
			delete(w.of, key)
		}
	})
}

// Len returns how many watchers there are.
func (w *Watchers[K]) Len() int { return int(w.n.Load()) }

// Wake wakes the watchers of key that may see what belongs to owner. It costs next to nothing
// without watchers.
func (w *Watchers[K]) Wake(key K, owner Scope) {
	if w.n.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.of[key] {
		if !one.scope.Covers(owner) {
			continue
		}
		select {
		case one.wake <- struct{}{}:
		default: // a wake-up is waiting already
		}
	}
}
