package engine

import (
	"context"
	"math"

	"a2a-server/auth"
	"a2a-server/internal/share"
	"a2a-server/store"
)

// heavy limits how many processors long computations use: reading large requests, building
// large answers, scanning for lists, folding large tasks. Go schedules runnable goroutines for
// 10 ms each, so a hundred of these at once would repeatedly keep all other work from a
// processor for a second. So heavy uses all processors but one, and half of them for one
// caller. It is safe for concurrent use.
type heavy struct {
	own *share.Shares[store.Scope] // how many computations a caller may have
	all *share.Shares[store.Scope] // and how many run
}

func (h *heavy) init(processors int) {
	n := int64(max(1, processors-1))
	h.own, h.all = share.New[store.Scope](math.MaxInt64, max(1, n/2)), share.New[store.Scope](n, n)
}

// light is the size of a request, in bytes, up to which it is processed without waiting
// for a processor.
const light = 64 << 10

// Heavily calls work, which processes so many bytes of a caller's request. If these are
// many, it first waits for a processor as [Engine.Heavy] does. If they are few, it waits
// only for the long computations of the same caller, so that a caller that is busy with
// these does not take a second processor for many small requests. Callers without names do
// not wait for each other. The error is that of work, or the cause if ctx ends first.
func (e *Engine) Heavily(ctx context.Context, by auth.Principal, bytes int, work func() error) error {
	end, err := func() {}, error(nil)
	switch {
	case bytes > light:
		end, err = e.Heavy(ctx, by)
	case !by.IsAnonymous() && e.heavy.own.Held(ownerOf(by)) > 0:
		end, err = e.inTurn(ctx, e.heavy.own, ownerOf(by))
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

// processor is [Engine.Heavy] for the owner of a scope.
func (e *Engine) processor(ctx context.Context, of store.Scope) (end func(), err error) {
	leave, err := e.inTurn(ctx, e.heavy.own, of)
	if err != nil {
		return nil, err
	}
	release, err := e.inTurn(ctx, e.heavy.all, of)
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		release()
		leave()
	}, nil
}

// inTurn waits for a unit.
func (e *Engine) inTurn(ctx context.Context, of *share.Shares[store.Scope], who store.Scope) (end func(), err error) {
	granted, give := of.Wait(who)
	if e.wait(granted, ctx.Done()) == 1 {
		give()
		return nil, context.Cause(ctx)
	}
	return give, nil
}
