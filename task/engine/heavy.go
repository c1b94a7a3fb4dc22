package engine

import (
	"context"
	"sync"

	"a2a-server/auth"
	"a2a-server/store"
)

// heavy gives out processors for what takes one for long: large requests that are read,
// large answers that are made, lists that look far. Go lets whatever can run take turns of 10 ms, so that a
// hundred of these at once would keep everybody else from a processor for a second, time
// and again. So it uses all processors but one, and half of
// those for one caller. It is safe for concurrent use.
type heavy struct {
	all  chan struct{} // a token for each
	each int           // tokens of one caller

	mu      sync.Mutex
	callers map[store.Scope]*heavyCaller
}

// heavyCaller is a caller who has, or waits for, a processor.
type heavyCaller struct {
	tokens chan struct{}
	users  int // of this value, guarded by heavy.mu
}

func (h *heavy) init(processors int) {
	n := max(1, processors-1)
	h.all, h.each, h.callers = tokens(n), max(1, n/2), map[store.Scope]*heavyCaller{}
}

func tokens(n int) chan struct{} {
	c := make(chan struct{}, n)
	for range n {
		c <- struct{}{}
	}
	return c
}

// light is how many bytes of a request are worked on without waiting for a processor.
const light = 64 << 10

// Heavily does work for a caller that takes as long as so many bytes of a request need,
// with a processor for long when these are many. The error is the work's, or the cause of
// ctx's end.
func (e *Engine) Heavily(ctx context.Context, by auth.Principal, bytes int, work func() error) error {
	if bytes > light {
		end, err := e.Heavy(ctx, by)
		if err != nil {
			return err
		}
		defer end()
	}
	return work()
}

// Heavy waits until a caller may have a processor for long, and returns what gives it
// back, to be called once. The error is the cause of ctx's end.
func (e *Engine) Heavy(ctx context.Context, by auth.Principal) (end func(), err error) {
	h, who := &e.heavy, ScopeOf(by)
	h.mu.Lock()
	c := h.callers[who]
	if c == nil {
		c = &heavyCaller{tokens: tokens(h.each)}
		h.callers[who] = c
	}
	c.users++
	h.mu.Unlock()
	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if c.users--; c.users == 0 {
			delete(h.callers, who)
		}
	}
	if e.wait(c.tokens, ctx.Done()) == 1 {
		leave()
		return nil, context.Cause(ctx)
	}
	if e.wait(h.all, ctx.Done()) == 1 {
		c.tokens <- struct{}{}
		leave()
		return nil, context.Cause(ctx)
	}
	return func() {
		h.all <- struct{}{}
		c.tokens <- struct{}{}
		leave()
	}, nil
}
