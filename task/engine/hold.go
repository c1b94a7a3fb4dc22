package engine

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// maxHeld is how many questions a run may ask and wait for, one after the other: a tool that
// asks and does not wait must not fill the log.
const maxHeld = 64

// A hold is a question of a running tool that waits for the answer.
//
// The turn asks it in a batch of its own steps. The answer is a decision like any other, which
// is durable before the turn reads it from the log and hands it over. A decision depends on
// whether the tool still waits: holding knows, from before the question is durable until the
// wait ends. Questions unknown to it, such as those of an earlier process, are closed before a
// decision on them is considered.
type hold struct {
	run  *run
	ask  rules.Held    // as it is put into a draft
	over chan struct{} // closed when answer and err are set

	answer tool.Answer
	err    error

	// Guarded by run.mu.
	id    string // in holding; "": it is not
	taken bool   // by the turn
	gone  bool   // the wait is over

	unwatch func() bool // see watch; nil: not yet

	// Of the turn: why it is withdrawn, "" if it is not; and whether the engine does it,
	// because it stops.
	why     string
	closing bool
}

// end hands over the answer, or why there is none; a hold ends only once. run.mu must be
// held.
func (h *hold) end(a tool.Answer, err error) {
	if closed(h.over) {
		return
	}
	h.answer, h.err = a, err
	h.forget()
	if h.unwatch != nil {
		h.unwatch()
	}
	close(h.over)
}

// overdue is how long after its deadline a question may still be open before its turn looks
// whether it still runs the task, and how often it does so.
const overdue = time.Second

// watch has the turn read the log again if the question is not over after a time: another
// process that has taken the task over closes it without notice to this one.
func (h *hold) watch(after time.Duration) {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	if closed(h.over) {
		return
	}
	h.unwatch = h.run.e.after(after, func() {
		h.run.turn.tell()
		h.watch(overdue)
	})
}

// forget removes the hold from holding. run.mu must be held.
func (h *hold) forget() {
	if h.id != "" {
		h.run.e.holding.forget(h.id)
		h.id = ""
	}
}

// holding knows how many calls are held, and by which approvals.
type holding struct {
	calls *share.Shares[store.Scope]

	mu     sync.Mutex
	waited map[string]uint64 // by approval id, the fence of the turn whose run waits
}

func (h *holding) init(l *task.Limits) {
	h.calls, h.waited = share.New[store.Scope](int64(l.Held), int64(l.HeldPerCaller)), map[string]uint64{}
}

// tooMany is the text about a limit of calls or tasks that wait for something.
func tooMany(full *share.Full, these, something string) string {
	if full.Own {
		these += " of this caller"
	}
	return fmt.Sprintf("%d %s already wait for %s, which is the limit", full.Limit, these, something)
}

func (h *holding) expect(id string, fence uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waited[id] = fence
}

func (h *holding) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waited, id)
}

// by returns [rules.At].Holds for a task with a fence.
func (h *holding) by(fence uint64) func(approval string) bool {
	return func(approval string) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		at, waits := h.waited[approval]
		return waits && at == fence
	}
}

// AskAndWait implements [tool.Asker].
func (x *toolContext) AskAndWait(ctx context.Context, a tool.Ask) (tool.Answer, error) {
	if ctx.Err() != nil {
		return tool.Answer{}, context.Cause(ctx)
	}
	asked := a
	if err := freeze(&asked); err != nil {
		return tool.Answer{}, fmt.Errorf("%w: %w", tool.ErrNoAnswer, err)
	}
	r := x.run
	calls, owner := r.e.holding.calls, r.turn.owner
	if full := calls.Take(owner, 1); full != nil {
		return tool.Answer{}, fmt.Errorf("%w: %s", tool.ErrNoAnswer, tooMany(full, "calls", "answers"))
	}
	defer calls.Give(owner, 1)
	h := &hold{run: r, ask: rules.Held{Entry: r.entry, Ask: asked}, over: make(chan struct{})}
	if err := r.beginHold(h); err != nil {
		return tool.Answer{}, err
	}
	defer r.endHold(h)
	if r.e.wait(h.over, ctx.Done()) == 1 && !closed(h.over) {
		return tool.Answer{}, context.Cause(ctx)
	}
	h.answer.Ask = a
	return h.answer, h.err
}

// beginHold hands a question over to the turn, and stops the clock of the run.
func (r *run) beginHold(h *hold) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.cut != nil || r.tooMuch != nil:
		return cmp.Or(r.cut, r.tooMuch) // the call ends with that
	case r.hold != nil:
		return fmt.Errorf("%w: the call is already waiting for another answer", tool.ErrNoAnswer)
	case r.held >= maxHeld:
		return fmt.Errorf("%w: the call has asked %d questions, which is the limit", tool.ErrNoAnswer, maxHeld)
	}
	r.hold = h
	r.held++
	r.stopClock()
	signal(r.turn.wake)
	return nil
}

// endHold lets the clock of the run continue. A question that is still open is withdrawn by
// the turn, and takes no decision from now on.
func (r *run) endHold(h *hold) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = nil
	r.startClock()
	if h.gone = true; !closed(h.over) {
		h.forget()
		signal(r.turn.wake)
	}
}

// clock is how long a run may still take, not counting the time for which it is held.
// run.mu guards it.
type clock struct {
	left  time.Duration
	since time.Time   // it runs
	unset func() bool // nil: it is stopped
}

// startClock makes the run end when its time is over. r.mu must be held.
func (r *run) startClock() {
	if r.ended || r.stopped || r.clock.unset != nil {
		return
	}
	r.clock.since = r.e.now()
	r.clock.unset = r.e.after(r.clock.left, func() { r.stop(errToolTimeout) })
}

// stopClock stops the clock. r.mu must be held.
func (r *run) stopClock() {
	if r.clock.unset == nil {
		return
	}
	r.clock.unset()
	r.clock.unset = nil
	// The time may have been set in between.
	took := min(max(r.e.now().Sub(r.clock.since), 0), r.clock.left)
	r.clock.left = max(r.clock.left-took, time.Millisecond)
}

// takeHold returns a question that the turn has not taken, nil if there is none.
func (r *run) takeHold() *hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.hold; h != nil && !h.taken && !closed(h.over) {
		h.taken = true
		return h
	}
	return nil
}

// isGone reports whether the wait is over.
func (h *hold) isGone() bool {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	return h.gone
}

// finish is end for callers that do not hold run.mu.
func (h *hold) finish(a tool.Answer, err error) {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	h.end(a, err)
}

var errClosing = fmt.Errorf("%w: %w", tool.ErrNoAnswer, errShutdown)

// collectHolds takes the questions that runs ask, and the holds whose wait is over; when the
// engine stops, all holds.
func (t *turn) collectHolds() {
	for _, r := range t.runs {
		if h := r.takeHold(); h != nil {
			t.asking = append(t.asking, h)
		}
	}
	if len(t.asking)+len(t.holds) == 0 {
		return
	}
	t.e.mu.Lock()
	draining := t.e.draining
	t.e.mu.Unlock()
	if draining {
		for _, h := range t.asking {
			h.finish(tool.Answer{}, errClosing)
		}
		t.asking = nil
	}
	for _, h := range t.holds {
		switch gone := h.isGone(); {
		case h.why != "":
			continue
		case gone:
			h.why = "the call does not wait for the answer any longer"
		case draining:
			h.why, h.closing = errShutdown.Error(), true
		default:
			continue
		}
		t.leaving = append(t.leaving, h)
	}
}

// holdInputs adds the writes about holds to the inputs of a step.
func (t *turn) holdInputs(in []rules.Input) []rules.Input {
	for _, h := range t.leaving {
		in = append(in, rules.Withdrawn{Approval: h.ask.Approval, Why: h.why})
	}
	for _, h := range t.asking {
		in = append(in, &h.ask)
	}
	return in
}

// expect records in holding which questions of the next batch a call waits for, before the
// batch is visible.
func (t *turn) expect() {
	for _, h := range t.asking {
		h.run.mu.Lock()
		if h.ask.Approval != "" && !h.gone && !closed(h.over) {
			h.id = h.ask.Approval
			t.e.holding.expect(h.id, t.fence)
		}
		h.run.mu.Unlock()
	}
}

// unexpect reverts expect for a batch that was not written.
func (t *turn) unexpect() {
	for _, h := range t.asking {
		h.run.mu.Lock()
		h.forget()
		h.run.mu.Unlock()
	}
}

// answer records the resolutions, written by a step or found in the log, of the questions that
// hold the calls of the turn, and hands over their answers.
func (t *turn) answer() {
	for _, h := range t.asking {
		if err := h.ask.Refused; err != nil {
			h.finish(tool.Answer{}, fmt.Errorf("%w: %w", tool.ErrNoAnswer, err))
			continue
		}
		t.e.at(PointHeld)
		t.holds = append(t.holds, h)
		h.watch(t.fold.HeldUntil(h.ask.Approval).Sub(t.e.now()) + overdue)
	}
	t.asking, t.leaving = nil, nil
	t.yield()
	left := t.holds[:0]
	for _, h := range t.holds {
		a, ended, err := t.fold.HeldAnswer(h.ask.Approval, h.ask.Ask)
		switch {
		case !ended:
			left = append(left, h)
			continue
		case err == nil:
			t.e.at(PointAnswered)
		case h.closing:
			err = errClosing
		}
		h.finish(a, err)
	}
	clear(t.holds[len(left):])
	t.holds = left
}

// yield gives the place of the turn back while it only waits for answers, which may take
// hours, and takes a place again when it continues. It need not wait for that: there is room,
// or for a moment there is one turn too many.
func (t *turn) yield() {
	waits := t.fold.Holds()
	if waits == t.placeless {
		return
	}
	t.placeless = waits
	e := t.e
	e.mu.Lock()
	if waits {
		e.lanes.free(&t.place)
	} else {
		e.lanes.hold(&t.place, t.owner, settled, e.now())
	}
	e.mu.Unlock()
	if waits {
		t.pause()
		e.next()
	}
}

// dropHolds ends all holds because the turn is over.
func (t *turn) dropHolds(why error) {
	for _, list := range [][]*hold{t.asking, t.holds} {
		for _, h := range list {
			h.finish(tool.Answer{}, why)
		}
	}
	t.asking, t.holds, t.leaving = nil, nil, nil
}
