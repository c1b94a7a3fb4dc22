package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
)

// heavy limits how many processors long computations use: reading large requests,
// building large answers, scanning for lists, folding large tasks. Go schedules runnable
// goroutines for 10 ms each, so a hundred of these at once would repeatedly keep everybody
// else from a processor for a second. So heavy uses all processors but one, and half of
// those for one caller. Half of one processor is half of its time: between two
// computations, such a caller rests for as long as the first one took. Callers without
// names do not: they are many in one. It is safe for concurrent use.
type heavy struct {
	all  chan struct{} // a token for each
	each int           // tokens of one caller

	busy    atomic.Int64 // how many callers there are
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

const (
	brief       = time.Millisecond      // computations that are shorter need no rest
	longestRest = 50 * time.Millisecond // the same caller's small requests wait for it, too
)

// Heavily calls work, which processes so many bytes of a caller's request. If these are
// many, it first waits for a processor as [Engine.Heavy] does. If they are few, it waits
// only for the long computations of the same caller, so that who is busy with these does
// not take a second processor for many small requests. Callers without names do not wait
// for each other. The error is that of work, or the cause if ctx ends first.
func (e *Engine) Heavily(ctx context.Context, by auth.Principal, bytes int, work func() error) error {
	end, err := func() {}, error(nil)
	switch {
	case bytes > light:
		end, err = e.Heavy(ctx, by)
	case !by.IsAnonymous() && e.heavy.busy.Load() > 0:
		end, err = e.behind(ctx, ownerOf(by))
	}
	if err != nil {
		return err
	}
	defer end()
	return work()
}

// Heavy waits until a caller may use a processor for a long computation. Call end once to
// release it. The error is the cause if ctx ends first.
func (e *Engine) Heavy(ctx context.Context, by auth.Principal) (end func(), err error) {
	return e.processor(ctx, ownerOf(by))
}

// processor is [Engine.Heavy] for whoever may see a scope.
func (e *Engine) processor(ctx context.Context, who store.Scope) (end func(), err error) {
	h := &e.heavy
	leave, err := e.inTurn(ctx, who, h.join(who, true))
	if err != nil {
		return nil, err
	}
	if e.wait(h.all, ctx.Done()) == 1 {
		leave()
		return nil, context.Cause(ctx)
	}
	began := e.now()
	return func() {
		h.all <- struct{}{}
		if rest := h.rest(e.now().Sub(began)); rest > 0 && who != ownerOf(auth.Anonymous()) {
			e.after(rest, leave)
			return
		}
		leave()
	}, nil
}

// rest returns how long a caller may not begin another computation after one that took d.
func (h *heavy) rest(d time.Duration) time.Duration {
	if 2*h.each <= cap(h.all) || d < brief {
		return 0
	}
	return min(d, longestRest)
}

// behind waits for a caller's long computations, if there are any.
func (e *Engine) behind(ctx context.Context, who store.Scope) (end func(), err error) {
	c := e.heavy.join(who, false)
	if c == nil {
		return func() {}, nil
	}
	return e.inTurn(ctx, who, c)
}

// inTurn waits until it is the turn of one of a caller's computations, which has joined.
func (e *Engine) inTurn(ctx context.Context, who store.Scope, c *heavyCaller) (end func(), err error) {
	if e.wait(c.tokens, ctx.Done()) == 1 {
		e.heavy.leave(who, c)
		return nil, context.Cause(ctx)
	}
	return func() {
		c.tokens <- struct{}{}
		e.heavy.leave(who, c)
	}, nil
}

// join counts one more computation of a caller. A caller that has none is made, or is nil.
func (h *heavy) join(who store.Scope, made bool) *heavyCaller {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.callers[who]
	if c == nil {
		if !made {
			return nil
		}
		c = &heavyCaller{tokens: tokens(h.each)}
		h.callers[who] = c
		h.busy.Store(int64(len(h.callers)))
	}
	c.users++
	return c
}

func (h *heavy) leave(who store.Scope, c *heavyCaller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.users--; c.users == 0 {
		delete(h.callers, who)
		h.busy.Store(int64(len(h.callers)))
	}
}
