package mcptoolset

import (
	"context"
	"fmt"

	"a2a-server/tool"
)

// maxHolders is how many callers may have a call on a server with [Config].Ask at the same
// time, each on a connection of its own.
const maxHolders = 16

// caller identifies the caller. Without authentication, all callers are the same.
type caller struct{ tenant, user string }

// turn lets the calls of a caller run one at a time. Guarded by Toolset.mu, except the
// channel.
type turn struct {
	slot  chan struct{} // capacity 1
	users int           // that have it, or wait for it
}

// turn waits until no other call of the caller runs, if the server may ask: each caller holds
// at most one connection, however many of its questions are open. end must be called when the
// call has ended. An error means that nothing was sent.
func (t *Toolset) turn(ctx tool.Context) (end func(), err error) {
	if !t.cfg.Ask {
		return func() {}, nil
	}
	by := caller{ctx.Tenant(), ctx.UserID()}
	t.mu.Lock()
	its := t.turns[by]
	if its == nil {
		its = &turn{slot: make(chan struct{}, 1)}
		t.turns[by] = its
	}
	its.users++
	t.waiting++
	t.mu.Unlock()
	select {
	case its.slot <- struct{}{}:
	case <-t.alive.Done():
		err = t.shut()
	case <-ctx.Done():
		err = fmt.Errorf("MCP server %s: nothing was called, because another call of the same caller has not ended: %w: %w", t.cfg.Name, tool.ErrNoEffect, context.Cause(ctx))
	}
	t.mu.Lock()
	t.waiting--
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if its.users--; its.users == 0 {
			delete(t.turns, by)
		}
	}
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		<-its.slot
		leave()
	}, nil
}
