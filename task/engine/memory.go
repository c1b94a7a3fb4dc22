package engine

import (
	"context"
	"errors"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

// errNoMemory is the error of a search without [Config.Memory].
var errNoMemory = errors.New("this agent has no memory to search")

// SearchMemory implements tool.Context.
func (x *toolContext) SearchMemory(ctx context.Context, query string) (*agent.MemorySearchResponse, error) {
	return x.run.e.search(ctx, *x.ReadonlyContext, query)
}

// SearchMemory implements tool.Context.
func (x *jobContext) SearchMemory(ctx context.Context, query string) (*agent.MemorySearchResponse, error) {
	return x.e.search(ctx, x.ReadonlyContext, query)
}

// search searches the agent's memory for the caller that by identifies.
func (e *Engine) search(ctx context.Context, by task.ReadonlyContext, query string) (*agent.MemorySearchResponse, error) {
	if e.cfg.Memory == nil {
		return nil, errNoMemory
	}
	by.Context = ctx
	found, err := e.cfg.Memory.Search(&by, query)
	if err == nil && found == nil {
		found = &agent.MemorySearchResponse{}
	}
	return found, err
}
