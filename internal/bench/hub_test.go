package bench

import (
	"context"
	"sync"
)

// hub is what a bare server needs to have many readers follow one source: the
// number of chunks that are there, and a channel that wakes who waits for more.
type hub struct {
	mu   sync.Mutex
	flow flow
	now  *turn
}

// turn is one run of chunks that readers follow.
type turn struct {
	want int

	mu   sync.Mutex
	n    int
	wake chan struct{}
}

func newHub() *hub { return &hub{now: &turn{}} }

// announce makes the turn that the next readers follow.
func (h *hub) announce(f flow) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.flow, h.now = f, &turn{want: f.N, wake: make(chan struct{})}
}

func (h *hub) turn() *turn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// open lets the announced chunks come.
func (h *hub) open() {
	h.mu.Lock()
	t, f := h.now, h.flow
	h.mu.Unlock()
	go t.run(f) // ends by itself, after f.N chunks
}

func (t *turn) advance(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n = n
	close(t.wake)
	t.wake = make(chan struct{})
}

// wait returns how many chunks there are when they are more than n.
func (t *turn) wait(ctx context.Context, n int) (int, error) {
	for {
		t.mu.Lock()
		at, wake := t.n, t.wake
		t.mu.Unlock()
		if at > n {
			return at, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
