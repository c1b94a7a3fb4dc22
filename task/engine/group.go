package engine

import "sync"

// group counts running work, and waits until there is none: a sync.WaitGroup that waits
// through the host. Its zero value is empty.
type group struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n comes to 0; nil: without a waiter
}

func (g *group) add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
}

func (g *group) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// none returns a channel that is closed when the group is empty.
func (g *group) none() <-chan struct{} {
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

// begin runs f concurrently, and counts it as busy until it returns.
func (e *Engine) begin(f func()) {
	e.busy.add()
	e.spawn(func() {
		defer e.busy.done()
		f()
	})
}
