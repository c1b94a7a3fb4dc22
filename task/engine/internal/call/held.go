package call

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"a2a-server/internal/share"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// maxHeld is how many questions a run may ask and wait for, one after the other: a tool that
// asks and does not wait must not fill the log.
const maxHeld = 64

// A HeldCall is a call that waits for the answer to a question of its tool.
//
// The turn asks it in a batch of its own steps. The answer is a decision like any other, which
// is durable before the turn reads it from the log and hands it over. A decision depends on
// whether the tool still waits: heldCalls knows, from before the question is durable until the
// wait ends. Questions unknown to it, such as those of an earlier process, are closed before a
// decision on them is considered.
type HeldCall struct {
	Ask rules.Held // as it is put into a draft

	// Of the turn: why it is withdrawn, "" if it is not; and whether the engine does it,
	// because it stops.
	Why     string
	Closing bool

	run  *Run
	over chan struct{} // closed when answer and err are set

	answer tool.Answer
	err    error

	// Guarded by run.mu.
	id    string // in heldCalls; "": it is not
	taken bool   // by the turn
	gone  bool   // the wait is over

	unwatch func() bool // see Watch; nil: not yet
}

// end hands over the answer, or why there is none; only the first counts. run.mu must be
// held.
func (h *HeldCall) end(a tool.Answer, err error) {
	if env.Closed(h.over) {
		return
	}
	h.answer, h.err = a, err
	h.forget()
	if h.unwatch != nil {
		h.unwatch()
	}
	close(h.over)
}

// Overdue is how long after its deadline a question may still be open before its turn looks
// whether it still runs the task, and how often it does so.
const Overdue = time.Second

// Watch has the turn read the log again if the question is not over after a time: another
// process that has taken the task over closes it without notice to this one.
func (h *HeldCall) Watch(after time.Duration) {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	if env.Closed(h.over) {
		return
	}
	h.unwatch = h.run.runs.Env.After(after, func() {
		h.run.seat.Notify()
		h.Watch(Overdue)
	})
}

// forget removes the call from heldCalls. run.mu must be held.
func (h *HeldCall) forget() {
	if h.id != "" {
		h.run.runs.held.forget(h.id)
		h.id = ""
	}
}

// heldCalls knows how many calls are held, and by which approvals.
type heldCalls struct {
	shares *share.Shares[store.Scope]

	mu     sync.Mutex
	waited map[string]uint64 // by approval id, the fence of the turn whose run waits
}

func (h *heldCalls) init(l *task.Limits) {
	h.shares, h.waited = share.New[store.Scope](int64(l.Held), int64(l.HeldPerCaller)), map[string]uint64{}
}

func (h *heldCalls) expect(id string, fence uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waited[id] = fence
}

func (h *heldCalls) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waited, id)
}

// by returns [rules.At].Holds for a task with a fence.
func (h *heldCalls) by(fence uint64) func(approval string) bool {
	return func(approval string) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		at, waits := h.waited[approval]
		return waits && at == fence
	}
}

// AskAndWait implements [tool.Asker].
func (x *toolContext) AskAndWait(ctx context.Context, a tool.Question) (tool.Answer, error) {
	if ctx.Err() != nil {
		return tool.Answer{}, context.Cause(ctx)
	}
	asked := a
	if err := freeze(&asked); err != nil {
		return tool.Answer{}, fmt.Errorf("%w: %w", tool.ErrNoAnswer, err)
	}
	r := x.run
	calls, owner := r.runs.held.shares, r.seat.Owner
	if full := calls.Take(owner, 1); full != nil {
		return tool.Answer{}, fmt.Errorf("%w: %s", tool.ErrNoAnswer, env.TooMany(full, "calls", "answers"))
	}
	defer calls.Give(owner, 1)
	h := &HeldCall{run: r, Ask: rules.Held{Entry: r.entry, Ask: asked}, over: make(chan struct{})}
	if err := r.ask(h); err != nil {
		return tool.Answer{}, err
	}
	defer r.endQuestion(h)
	if r.runs.Env.Wait(h.over, ctx.Done()) == 1 && !env.Closed(h.over) {
		return tool.Answer{}, context.Cause(ctx)
	}
	h.answer.Ask = a
	return h.answer, h.err
}

// ask hands a question over to the turn, and stops the clock of the run.
func (r *Run) ask(h *HeldCall) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.cut != nil || r.tooMuch != nil:
		return cmp.Or(r.cut, r.tooMuch) // the call ends with that
	case r.question != nil:
		return fmt.Errorf("%w: the call is already waiting for another answer", tool.ErrNoAnswer)
	case r.held >= maxHeld:
		return fmt.Errorf("%w: the call has asked %d questions, which is the limit", tool.ErrNoAnswer, maxHeld)
	}
	r.question = h
	r.held++
	r.stopClock()
	env.Signal(r.seat.Wake)
	return nil
}

// endQuestion lets the clock of the run continue. A question that is still open is withdrawn by
// the turn, and takes no decision from now on.
func (r *Run) endQuestion(h *HeldCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.question = nil
	r.startClock()
	if h.gone = true; !env.Closed(h.over) {
		h.forget()
		env.Signal(r.seat.Wake)
	}
}

// TakeQuestion returns a question that the turn has not taken, nil if there is none.
func (r *Run) TakeQuestion() *HeldCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.question; h != nil && !h.taken && !env.Closed(h.over) {
		h.taken = true
		return h
	}
	return nil
}

// Gone reports whether the wait is over.
func (h *HeldCall) Gone() bool {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	return h.gone
}

// Finish hands over the answer, or why there is none; only the first counts.
func (h *HeldCall) Finish(a tool.Answer, err error) {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	h.end(a, err)
}

// Expect records that the run waits for the answer to its question, under the fence of its
// turn, before the batch with the question is visible.
func (h *HeldCall) Expect(fence uint64) {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	if h.Ask.Approval != "" && !h.gone && !env.Closed(h.over) {
		h.id = h.Ask.Approval
		h.run.runs.held.expect(h.id, fence)
	}
}

// Unexpect reverts Expect for a batch that was not written.
func (h *HeldCall) Unexpect() {
	h.run.mu.Lock()
	defer h.run.mu.Unlock()
	h.forget()
}
