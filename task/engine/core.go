package engine

import (
	"context"
	"math"

	"a2a-server/auth"
	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task/engine/internal/due"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/processors"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
)

// core is what the clients' views of an engine share with it. It is safe for concurrent use.
type core struct {
	env        *env.Env
	cfg        Config
	processors *processors.Processors
	reader     *tasklog.Reader
	turns      *turn.Turns
	due        *due.Work
	reserved   *share.Shares[store.Scope] // bytes of memory, by ReadReservations
	observers  observers
	audits     store.Watchers[struct{}]
	messages   messageRows
}

// Processor waits until a caller may use a processor for a long computation. Call end once to
// release it. The error is the cause if ctx ends first.
func (c *core) Processor(ctx context.Context, by auth.Principal) (end func(), err error) {
	return c.processors.Take(ctx, ownerOf(by))
}

// header is [Engine.Header] for a scope.
func (c *core) header(ctx context.Context, scope store.Scope, id store.TaskID) (Header, error) {
	page, err := c.env.Store.Read(ctx, scope, id, store.After(math.MaxInt64), store.Limit{Events: 1, Bytes: 1})
	return page.Header, tasklog.Translate(err)
}

// audited wakes the watchers of the audit.
func (c *core) audited() { c.audits.Wake(struct{}{}, store.System()) }
