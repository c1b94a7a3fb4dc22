package engine

import (
	"context"
	"fmt"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/processors"
	"a2a-server/task/engine/internal/turn"
)

// Ended reports whether the context of the turn that a message began ends once the
// turn has left, before ctx does.
func (s *Sent) Ended(ctx context.Context) bool {
	<-s.landed.Turn.Paused()
	select {
	case <-s.landed.Turn.Context().Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// Processors lets heavy work have so many, and one more.
func (e *Engine) Processors(n int) { *e.processors = *processors.New(e.env, n+1) }

// AtHeavyWork returns how many callers have a processor for heavy work, or wait for one.
func (e *Engine) AtHeavyWork() int { return e.processors.Callers() }

// Lanes returns how many callers have a lane.
func (e *Engine) Lanes() int { return e.turns.Scheduler.Callers() }

// AssertTurns has fail called when a turn that is about to wait breaks one of its
// invariants. It is to be called before Run.
func (e *Engine) AssertTurns(fail func(problem string)) {
	e.turns.Check = func(t *turn.Turn) {
		for _, problem := range t.Problems() {
			fail(fmt.Sprintf("turn of task %s: %s", t.Task, problem))
		}
	}
}

// Get is [Answer.Get] of an answer that is released at once, as are the others here.
func (e *Engine) Get(ctx context.Context, by auth.Principal, id string) (*task.View, error) {
	a := e.Answer(by)
	defer a.Release()
	return a.Get(ctx, id)
}

// List is [Answer.List].
func (e *Engine) List(ctx context.Context, by auth.Principal, q Query) (*TaskPage, error) {
	a := e.Answer(by)
	defer a.Release()
	return a.List(ctx, q)
}

// Snapshot is [Answer.Snapshot].
func (e *Engine) Snapshot(ctx context.Context, by auth.Principal, id store.TaskID) (*Snapshot, error) {
	a := e.Answer(by)
	defer a.Release()
	return a.Snapshot(ctx, id)
}

// Await is [Answer.Await].
func (e *Engine) Await(ctx context.Context, sent *Sent) (*task.View, error) {
	a := e.Answer(auth.Anonymous())
	defer a.Release()
	return a.Await(ctx, sent)
}

// Accepted is [Answer.Accepted].
func (e *Engine) Accepted(ctx context.Context, sent *Sent) (*task.View, error) {
	a := e.Answer(auth.Anonymous())
	defer a.Release()
	return a.Accepted(ctx, sent)
}
