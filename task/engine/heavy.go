package engine

import (
	"context"
	"sync"

	"a2a-server/auth"
	"a2a-server/store"
)

// heavy limits how many processors long computations use: reading large requests,
// building large answers, scanning for lists. Go schedules runnable goroutines for 10 ms
// each, so a hundred of these at once would repeatedly keep everybody else from a
// processor for a second. So heavy uses all processors but one, and half of those for one
// caller. It is safe for concurrent use.
type heavy struct {
	all  chan struct{} // a token for each
	each int           // tokens of one caller

	mu      sync.Mutex
	callers map[store.Scope]*heavyCaller
}

// heavyCaller is a caller that has, or waits for, a processor.
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

// light is the size of a request, in bytes, up to which it is processed without waiting
// for a processor.
const light = 64 << 10

// Heavily calls work, which processes so many bytes of a caller's request; if these are
// many, it first waits for a processor as [Engine.Heavy] does. The error is that of work,
// or the cause if ctx ends first.
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

// Heavy waits until a caller may use a processor for a long computation. Call end once to
// release it. The error is the cause if ctx ends first.
func (e *Engine) Heavy(ctx context.Context, by auth.Principal) (end func(), err error) {
	h, who := &e.heavy, ownerOf(by)
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
