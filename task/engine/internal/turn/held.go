package turn

import (
	"fmt"

	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

var errClosing = fmt.Errorf("%w: %w", tool.ErrNoAnswer, env.ErrShutdown)

// collectHeld takes the questions that runs ask, and the held calls whose wait is over; when the
// engine stops, all held calls.
func (t *Turn) collectHeld() {
	for _, r := range t.runs {
		if h := r.TakeQuestion(); h != nil {
			t.asking = append(t.asking, h)
		}
	}
	if len(t.asking)+len(t.held) == 0 {
		return
	}
	draining := t.turns.Scheduler.Draining()
	if draining {
		for _, h := range t.asking {
			h.Finish(tool.Answer{}, errClosing)
		}
		t.asking = nil
	}
	for _, h := range t.held {
		switch gone := h.Gone(); {
		case h.Why != "":
			continue
		case gone:
			h.Why = "the call does not wait for the answer any longer"
		case draining:
			h.Why, h.Closing = env.ErrShutdown.Error(), true
		default:
			continue
		}
		t.leaving = append(t.leaving, h)
	}
}

// heldInputs adds the writes about held calls to the inputs of a step.
func (t *Turn) heldInputs(in []rules.Input) []rules.Input {
	for _, h := range t.leaving {
		in = append(in, rules.Withdrawn{Approval: h.Ask.Approval, Why: h.Why})
	}
	for _, h := range t.asking {
		in = append(in, &h.Ask)
	}
	return in
}

// expect records which questions of the next batch a call waits for, before the batch is
// visible.
func (t *Turn) expect() {
	for _, h := range t.asking {
		h.Expect(t.place.Fence)
	}
}

// unexpect reverts expect for a batch that was not written.
func (t *Turn) unexpect() {
	for _, h := range t.asking {
		h.Unexpect()
	}
}

// answer records the resolutions, written by a step or found in the log, of the questions that
// hold the calls of the turn, and hands over their answers.
func (t *Turn) answer() {
	for _, h := range t.asking {
		if err := h.Ask.Refused; err != nil {
			h.Finish(tool.Answer{}, fmt.Errorf("%w: %w", tool.ErrNoAnswer, err))
			continue
		}
		t.turns.Env.At(env.PointHeld)
		t.held = append(t.held, h)
		h.Watch(t.fold.HeldUntil(h.Ask.Approval).Sub(t.turns.Env.Now()) + call.Overdue)
	}
	t.asking, t.leaving = nil, nil
	t.yield()
	left := t.held[:0]
	for _, h := range t.held {
		a, ended, err := t.fold.HeldAnswer(h.Ask.Approval, h.Ask.Ask)
		switch {
		case !ended:
			left = append(left, h)
			continue
		case err == nil:
			t.turns.Env.At(env.PointAnswered)
		case h.Closing:
			err = errClosing
		}
		h.Finish(a, err)
	}
	clear(t.held[len(left):])
	t.held = left
}

// yield gives the place of the turn back while it only waits for answers, which may take
// hours, and takes a place again when it continues. It need not wait for that: there is room,
// or for a moment there is one turn too many.
func (t *Turn) yield() {
	waits := t.fold.Holds()
	if waits == t.placeless {
		return
	}
	t.placeless = waits
	if !waits {
		t.turns.Scheduler.Resume(&t.place)
		return
	}
	t.turns.Scheduler.Yield(&t.place)
	t.pause()
	t.turns.Scheduler.Next()
}

// dropHeld ends all waits for answers because the turn is over.
func (t *Turn) dropHeld(why error) {
	for _, list := range [][]*call.HeldCall{t.asking, t.held} {
		for _, h := range list {
			h.Finish(tool.Answer{}, why)
		}
	}
	t.asking, t.held, t.leaving = nil, nil, nil
}
