// Package processors shares the processors of the machine between the callers whose requests
// take long to compute.
package processors

import (
	"context"
	"math"

	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
)

// Processors limits how many processors long computations use: reading large requests, building
// large answers, scanning for lists, folding large tasks. Go schedules runnable goroutines for
// 10 ms each, so a hundred of these at once would repeatedly keep all other work from a
// processor for a second. So they get all processors but one, and half of them for one
// caller. It is safe for concurrent use.
type Processors struct {
	env *env.Env
	own *share.Shares[store.Scope] // how many computations a caller may have
	all *share.Shares[store.Scope] // and how many run
}

// New returns the Processors of a machine with so many.
func New(e *env.Env, processors int) *Processors {
	n := int64(max(1, processors-1))
	return &Processors{
		env: e,
		own: share.New[store.Scope](math.MaxInt64, max(1, n/2)), all: share.New[store.Scope](n, n),
	}
}

// light is the size of a request, in bytes, up to which it is processed without waiting
// for a processor.
const light = 64 << 10

// Process calls work, which processes so many bytes of a caller's request. If these are
// many, it first waits for a processor as [Processors.Take] does. If they are few, it waits
// only for the long computations of the same caller, so that a caller that is busy with
// these does not take a second processor for many small requests. Callers without names do
// not wait for each other. The error is that of work, or the cause if ctx ends first.
func (p *Processors) Process(ctx context.Context, owner store.Scope, anonymous bool, bytes int, work func() error) error {
	end, err := func() {}, error(nil)
	switch {
	case bytes > light:
		end, err = p.Take(ctx, owner)
	case !anonymous && p.own.Held(owner) > 0:
		end, err = p.wait(ctx, p.own, owner)
	}
	if err != nil {
		return err
	}
	defer end()
	return work()
}

// Take waits until an owner may use a processor for a long computation. Call end once to
// release it. The error is the cause if ctx ends first.
func (p *Processors) Take(ctx context.Context, owner store.Scope) (end func(), err error) {
	leave, err := p.wait(ctx, p.own, owner)
	if err != nil {
		return nil, err
	}
	release, err := p.wait(ctx, p.all, owner)
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		release()
		leave()
	}, nil
}

// Callers returns how many callers have a processor, or wait for one.
func (p *Processors) Callers() int {
	_, n := p.own.Total()
	return n
}

// wait waits for a unit of shares.
func (p *Processors) wait(ctx context.Context, of *share.Shares[store.Scope], owner store.Scope) (end func(), err error) {
	granted, give := of.Wait(owner)
	if p.env.Wait(granted, ctx.Done()) == 1 {
		give()
		return nil, context.Cause(ctx)
	}
	return give, nil
}
