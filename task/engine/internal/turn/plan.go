package turn

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// askPlanner asks the planner for the next step, for at most its time limit, and publishes what it
// says in the meantime. It does not wait for a planner that ignores the end of its context: a
// later result is discarded. sound is false if the turn is over.
func (t *Turn) askPlanner() (planned rules.Planned, sound bool) {
	limit := t.turns.Env.Limits.PlanTimeout
	ctx, cancel := t.turns.Env.Within(t.ctx, limit, fmt.Errorf("the planner exceeded its limit of %v", limit))
	defer cancel()
	s := newSpeech(t.turns.Env, t.fold, t.Open.Load()-t.Size.Load(), t.turns.WholeText)
	ask := t.question(ctx, s)
	var came *rules.Planned // nil: the planner has ended its goroutine
	over := make(chan struct{})
	t.turns.Env.Spawn(func() {
		defer close(over)
		step, err := ask()
		came = &rules.Planned{Step: step, Err: err}
	})
	sound = t.hear(ctx, s, over)
	s.end(errPlanOver)
	switch {
	case ctx.Err() != nil:
		planned.Err = context.Cause(ctx)
	case !sound:
	case came == nil: // over is closed
		planned.Err = errors.New("the planner ended its goroutine")
	default:
		planned = *came
	}
	if !sound || !t.publishRest(s) {
		return rules.Planned{}, false
	}
	if err := s.lost(); err != nil && planned.Err == nil {
		planned = rules.Planned{Err: err}
	}
	planned.Said, planned.Whole, planned.Again = s.said, s.whole.String(), t.plans == 0
	t.plans++
	return planned, true
}

// question returns the function that asks the planner.
func (t *Turn) question(ctx context.Context, s *speech) func() (*task.Step, error) {
	r := t.turns.Env.Rules()
	spent, by := t.spent(t.fold.Owner), r.Owned(ctx, t.fold)
	return rules.Plan(ctx, r, t.fold, func(p *task.Progress) {
		p.Say, p.Earlier, p.Spent = s.say, t.turns.earlier(t.Owner, t.Task, p.Context), spent
		p.Meanwhile = t.turns.meanwhile(t.Owner, p)
		p.Prepare = func(r *tool.Request) error { return t.turns.Calls.Prepare(by, p.Tools, r) }
	})
}

// Prompt returns what the planner has asked a language model for a step of the task f, which is not
// changed. The error is a [*task.InvalidError] if it has asked none.
func (ts *Turns) Prompt(ctx context.Context, f *fold.Fold, step int) (task.Prompt, error) {
	r := ts.Env.Rules()
	by := r.Owned(ctx, f)
	return rules.Prompt(ctx, r, f, step, func(p *task.Progress) {
		p.Earlier = ts.earlier(f.Header.Owner, f.Header.Task, p.Context)
		p.Meanwhile = ts.meanwhile(f.Header.Owner, p)
		p.Prepare = func(r *tool.Request) error { return ts.Calls.Prepare(by, p.Tools, r) }
	})
}

// hear publishes what the planner says until over is closed or ctx ends. It returns false if the
// turn is over.
func (t *Turn) hear(ctx context.Context, s *speech, over <-chan struct{}) bool {
	for {
		next := t.turns.Env.Wait(over, ctx.Done(), s.ready, t.durable())
		if !t.publishSaid(s) {
			return false
		}
		if next < 2 {
			return true
		}
	}
}

// publishRest publishes the rest of what the planner has said, and waits until all of it is
// durable: only then the step may be written. It returns false if the turn is over.
func (t *Turn) publishRest(s *speech) bool {
	for t.publishSaid(s) {
		switch {
		case len(t.inflight) == 0 && !s.waits():
			return true
		case len(t.inflight) == 0: // there is more text than fits into a chunk
		case t.turns.Env.Wait(t.durable(), t.ctx.Done()) == 1:
			return true
		}
	}
	return false
}

// errPlanOver refuses text of a plan that has ended.
var errPlanOver = errors.New("the plan has ended")

// durable returns a channel that is closed when the oldest batch of chunks is durable; nil: there
// is none.
func (t *Turn) durable() <-chan struct{} {
	if len(t.inflight) == 0 {
		return nil
	}
	return t.inflight[0].Done()
}

// landed takes the oldest batch of chunks, which is done. It returns false if the turn is over.
func (t *Turn) landed() bool {
	if _, err := t.inflight[0].Wait(); err != nil {
		t.lost(err)
		return false
	}
	t.inflight = t.inflight[1:]
	return true
}

// publishSaid queues the text that the planner has handed over, unless the disk is behind. It
// returns false if the turn is over.
func (t *Turn) publishSaid(s *speech) bool {
	for len(t.inflight) > 0 && env.Closed(t.inflight[0].Done()) {
		if !t.landed() {
			return false
		}
	}
	if len(t.inflight) >= maxInflight {
		return true
	}
	text, first, some := s.take()
	if !some {
		return true
	}
	chunks, err := s.chunks(t.turns.Env.Now(), text, first)
	if err != nil {
		s.lose(err)
		return true
	}
	return t.publish(chunks, nil)
}
