package engine_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// outlet is a toolset that may be out of reach.
type outlet struct {
	tools []tool.Tool

	mu   sync.Mutex
	down bool
}

var errDown = errors.New("connection refused")

func (r *outlet) Name() string { return "outlet" }

func (r *outlet) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, errDown
	}
	return r.tools, nil
}

func (r *outlet) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// timed gives a test a world in a bubble, on memory.
func bubbled(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, unstarted(t, &memDisk{memstore.New()})) })
}

// startWith starts an engine with an outlet beside the usual toolset, and a planner that
// makes the given steps.
func (w *world) startWith(r *outlet, steps ...*task.Step) {
	w.t.Helper()
	w.startAs(func(cfg *engine.Config) {
		cfg.Tools = tool.NewRegistry(tool.NewToolset("test", w.tools.all()...), r)
		if len(steps) > 0 {
			cfg.Planner = &stepper{n: len(steps), step: func(i int) *task.Step { return steps[i] }, inline: true}
		}
	})
}

// callsOf is a step of calls: tool and arguments in turn.
func callsOf(pairs ...string) *task.Step {
	s := &task.Step{}
	for i := 0; i < len(pairs); i += 2 {
		s.Calls = append(s.Calls, task.PlannedCall{Tool: pairs[i], Args: []byte(pairs[i+1])})
	}
	return s
}

// startOnly starts an engine with no other toolset.
func (w *world) startOnly(r *outlet) {
	w.t.Helper()
	w.startAs(func(cfg *engine.Config) { cfg.Tools = tool.NewRegistry(r) })
}
