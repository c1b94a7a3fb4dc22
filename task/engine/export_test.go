package engine

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/processors"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/rules"
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

// Processors lets long computations have so many, and one more.
func (e *Engine) Processors(n int) { *e.processors = *processors.New(e.env, n+1) }

// AtProcessors returns how many callers have a processor, or wait for one.
func (e *Engine) AtProcessors() int { return e.processors.Callers() }

// CallerQueues returns how many callers have a queue.
func (e *Engine) CallerQueues() int { return e.turns.Scheduler.Callers() }

// AssertTurns has fail called when a turn that is about to wait breaks one of its
// invariants. It is to be called before Run.
func (e *Engine) AssertTurns(fail func(problem string)) {
	e.turns.Check = func(id store.TaskID, problems []string) {
		for _, problem := range problems {
			fail(fmt.Sprintf("turn of task %s: %s", id, problem))
		}
	}
}

// Get is [ReadReservation.Get] of a reservation that is released at once, as are the others here.
func (e *Engine) Get(ctx context.Context, by auth.Principal, id string) (*task.View, error) {
	a := e.ReserveRead(by)
	defer a.Release()
	return a.Get(ctx, id)
}

// Cancel is [ReadReservation.Cancel].
func (e *Engine) Cancel(ctx context.Context, by auth.Principal, id store.TaskID) error {
	a := e.ReserveRead(by)
	defer a.Release()
	_, err := a.Cancel(ctx, id)
	return err
}

// DecideVia decides an approval of a task in a scope, by a way of package approval.
func (e *Engine) DecideVia(ctx context.Context, via string, by auth.Principal, scope store.Scope, id store.TaskID, answer approval.Decision) error {
	_, err := e.turns.ChangeAs(ctx, turn.Sender{By: by, Via: via}, scope, id, func(by auth.Principal) (rules.Input, error) {
		return rules.Decisions{By: by, Via: via, List: []approval.Decision{answer}}, nil
	})
	if errors.Is(err, rules.ErrNoChange) {
		return nil
	}
	return tasklog.Translate(err)
}

// List is [ReadReservation.List].
func (e *Engine) List(ctx context.Context, by auth.Principal, q Query) (*TaskPage, error) {
	a := e.ReserveRead(by)
	defer a.Release()
	return a.List(ctx, q)
}

// StreamStart is [ReadReservation.StreamStart].
func (e *Engine) StreamStart(ctx context.Context, by auth.Principal, id store.TaskID) (*StreamStart, error) {
	a := e.ReserveRead(by)
	defer a.Release()
	return a.StreamStart(ctx, id)
}

// Await is [ReadReservation.Await].
func (e *Engine) Await(ctx context.Context, sent *Sent) (*task.View, error) {
	a := e.ReserveRead(auth.Anonymous())
	defer a.Release()
	return a.Await(ctx, sent)
}

// Accepted is [ReadReservation.Accepted].
func (e *Engine) Accepted(ctx context.Context, sent *Sent) (*task.View, error) {
	a := e.ReserveRead(auth.Anonymous())
	defer a.Release()
	return a.Accepted(ctx, sent)
}

// Waited is Await until the task of a message has ended, or waits for an answer or a decision, also of
// others.
func (e *Engine) Waited(ctx context.Context, sent *Sent) (*task.View, error) {
	r := e.ReserveRead(auth.Anonymous())
	defer r.Release()
	if v, size, err := sent.landed.Await(ctx); err != nil {
		return nil, err
	} else if v != nil {
		return r.show(v, size), nil
	}
	wakes, stop := e.core.env.Store.Watch(sent.scope, sent.Task)
	defer stop()
	for {
		v, h, err := r.read(ctx, sent.scope, sent.Task, 0 /* last */, true /* done */)
		if err != nil || turn.Rests(&h) || h.Phase == store.Parked && v.Says(`"elsewhere":[`) {
			return v, err
		}
		if e.core.env.Wait(wakes, ctx.Done(), e.core.env.Ctx.Done()) > 0 {
			return nil, fmt.Errorf("wait for task %s: %w", sent.Task, context.Cause(ctx))
		}
	}
}
