package turn

import (
	"context"
	"errors"
	"fmt"

	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// askPlanner asks the planner for the next step, for at most its time limit, and publishes what
// it says in the meantime. It does not wait for a planner that ignores the end of its context: a
// later result is discarded. sound is false if the turn is over.
func (t *Turn) askPlanner() (planned rules.Planned, sound bool) {
	limit := t.turns.env.Limits.PlanTimeout
	ctx, cancel := t.turns.env.Within(t.ctx, limit, fmt.Errorf("the planner exceeded its limit of %v", limit))
	defer cancel()
	s := newSpeech(t)
	defer s.end(errPlanOver)
	spent, by := t.spent(t.fold.Owner), t.turns.env.Rules().Owned(ctx, t.fold)
	ask := rules.Plan(ctx, t.turns.env.Rules(), t.fold, func(p *task.Progress) {
		p.Say, p.Earlier, p.Spent = s.say, t.earlier(p), spent
		p.Prepare = func(r *tool.Request) error { return t.turns.Calls.Prepare(by, p.Tools, r) }
	})
	var came rules.Planned
	returned, over := false, make(chan struct{})
	t.turns.env.Spawn(func() {
		defer close(over)
		step, err := ask()
		s.end(errPlanOver)
		came, returned = rules.Planned{Step: step, Err: err}, true
	})
	for running := true; running; {
		switch t.turns.env.Wait(over, ctx.Done(), s.ready, t.durable()) {
		case 0, 1:
			running = false
		case 3:
			s.signal() // there may be text that waited for room
		}
		if !t.publishSaid(s) {
			return rules.Planned{}, false
		}
	}
	switch {
	case ctx.Err() != nil:
		planned.Err = context.Cause(ctx)
	case !returned: // over is closed
		planned.Err = errors.New("the planner ended its goroutine")
	default:
		planned = came
	}
	s.end(errPlanOver)
	for s.waits() || len(t.inflight) > 0 { // the step is written only when its text is durable
		if t.turns.env.Wait(t.durable(), t.ctx.Done()) == 1 {
			break
		}
		if !t.publishSaid(s) {
			return rules.Planned{}, false
		}
	}
	planned.Said, planned.Whole, planned.Again = s.said, s.whole.String(), t.plans == 0
	t.plans++
	return planned, true
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

// publishSaid queues the text that the planner has handed over, unless the disk is behind. It
// returns false if the turn is over.
func (t *Turn) publishSaid(s *speech) bool {
	for len(t.inflight) > 0 && env.Closed(t.inflight[0].Done()) {
		if _, err := t.inflight[0].Wait(); err != nil {
			t.lost(err)
			return false
		}
		t.inflight = t.inflight[1:]
	}
	if len(t.inflight) >= maxInflight {
		return true
	}
	text, first, some := s.take()
	if !some {
		return true
	}
	content, err := s.publisher.Content(text)
	if err == nil {
		var chunk output.RunEvent
		if chunk, err = s.publisher.Chunk(t.turns.env.Now(), s.artifact, saidName, output.Chunk{Content: content, First: first}); err == nil {
			return t.publish([]output.RunEvent{chunk}, nil)
		}
	}
	s.end(err) // it is too large for an event
	return true
}
