package env

import "sync"

// Group counts running work, and waits until there is none: a sync.WaitGroup that waits
// through the host. Its zero value is empty.
type Group struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n comes to 0; nil: without a waiter
}

// Add counts one more.
func (g *Group) Add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
}

// Done counts one less.
func (g *Group) Done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// None returns a channel that is closed when the group is empty.
func (g *Group) None() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	empty := g.empty
	if empty == nil {
		empty = make(chan struct{})
	}
	if g.n == 0 {
		close(empty)
		return empty
	}
	g.empty = empty
	return empty
}

// Begin runs f concurrently, and counts it as busy until it returns.
func (e *Env) Begin(f func()) {
	e.Busy.Add()
	e.Spawn(func() {
		defer e.Busy.Done()
		f()
	})
}
