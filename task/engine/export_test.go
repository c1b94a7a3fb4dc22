package engine

import (
	"context"
	"fmt"
	"slices"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
)

// Ended reports whether the context of the turn that a message began ends once the
// turn has left, before ctx does.
func (s *Sent) Ended(ctx context.Context) bool {
	<-s.turn.pauses
	select {
	case <-s.turn.ctx.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// Processors lets heavy work have so many, and one more.
func (e *Engine) Processors(n int) { e.heavy.init(n + 1) }

// AtHeavyWork returns how many callers have a processor for heavy work, or wait for one.
func (e *Engine) AtHeavyWork() int {
	_, n := e.heavy.own.Total()
	return n
}

// Lanes returns how many callers have a lane.
func (e *Engine) Lanes() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.lanes.lanes)
}

// AssertTurns has fail called when a turn that is about to wait breaks one of its
// invariants. It is to be called before Run.
func (e *Engine) AssertTurns(fail func(problem string)) {
	e.asserts = func(t *turn) {
		for _, problem := range t.problems() {
			fail(fmt.Sprintf("turn of task %s: %s", t.id, problem))
		}
	}
}

func (t *turn) problems() (problems []string) {
	h := &t.fold.Header
	if t.fence == 0 || !t.told && h.Fence != t.fence {
		problems = append(problems, fmt.Sprintf("its fence is %d, its fold's %d", t.fence, h.Fence))
	}
	if len(t.inflight) > maxInflight {
		problems = append(problems, fmt.Sprintf("%d batches are on their way", len(t.inflight)))
	}
	said := slices.Collect(t.fold.Running())
	var runs []string
	for _, r := range t.runs {
		runs = append(runs, r.entry.Call)
	}
	for _, r := range t.ended {
		runs = append(runs, r.entry.Call)
	}
	slices.Sort(said)
	slices.Sort(runs)
	if !slices.Equal(said, runs) {
		problems = append(problems, fmt.Sprintf("the fold says that %v run, and %v do", said, runs))
	}
	return problems
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
