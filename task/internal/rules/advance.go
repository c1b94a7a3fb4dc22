package rules

import (
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Next is the work that a task needs after [Draft.Advance].
type Next int

// The values of Next.
const (
	NextNothing Next = iota // it waits, has ended, or has calls running
	NextPlan                // a planner that is not inline, or that waits for the operator, has to plan the next step: see [Plan]
	NextAgain               // the draft is large: commit it, then advance again
)

// maxDraft is how many bytes of events a draft may have before it is committed.
const maxDraft = 1 << 20

// advance is Advance, with the lookup that has accepted the message of a new task.
func advance(add additions, b basis, accepted Lookup) (additions, Next) {
	for add.phase != store.Final && add.err == nil {
		s := b.Step()
		switch {
		case s != nil && !s.Finished():
			if add = advanceCalls(add, b, s); add.err == nil && !s.Finished() {
				return settle(add, b, s), NextNothing
			}
		case add.size() > maxDraft:
			return add, NextAgain
		case !b.inline() || !b.Held.IsZero():
			return add, NextPlan
		default:
			next, err := plan(b, accepted)
			if err != nil {
				return plannerFailed(add, b, err), NextNothing
			}
			add, accepted = addStep(add, b, next), Lookup{}
		}
	}
	return add, NextNothing
}

// advanceCalls moves each call of the step as far as it goes.
func advanceCalls(add additions, b basis, s *fold.Step) additions {
	// All calls are examined before any starts: an approval for one may hold its siblings.
	ready := make([]*Execution, len(s.Progress))
	held, entering := false, 0 // calls that may be entered, and have not been
	for i, c := range s.Progress {
		switch {
		case waits(b, c):
		case c.State == fold.CallPlanned:
			add, ready[i] = mayEnter(add, b, c, lookUp(b, c), entering)
		case c.State == fold.CallDecided:
			add, ready[i] = decided(add, b, c, entering)
		}
		if ready[i] != nil {
			entering++
		}
		undecided := c.State == fold.CallAsked || ready[i] == nil && c.Retry != nil && c.State != fold.CallDone
		held = held || b.HoldSiblings && c.Attempt == 0 && undecided
	}
	for i, c := range s.Progress {
		if waits(b, c) {
			continue
		}
		switch c.State {
		case fold.CallRunning:
			if !running(b, c, add.launch) {
				add = died(add, b, c, entering)
			}
		case fold.CallPlanned, fold.CallDecided:
			if ready[i] != nil && (c.Attempt > 0 || !held) {
				entering--
				add = enterCall(add, b, c, ready[i])
			}
		case fold.CallUncertain:
			add = uncertain(add, b, c, entering)
		case fold.CallWaiting:
			add = goOn(add, b, c, entering)
		case fold.CallAsked, fold.CallDone:
		}
		if !waits(b, c) { // its time has come, and its siblings keep it from starting
			add.unretry(c)
		}
	}
	return add
}

// settle sets the phase and state of a task while calls of its step are open.
func settle(add additions, b basis, s *fold.Step) additions {
	pending, says := b.Pending(), ""
	if add.troubled {
		says = troubles(s)
	}
	waits := len(pending) > 0 // otherwise for a timer
	if b.Busy() > 0 {
		waits = b.WaitsMeanwhile()
	} else if add.phase = store.Parked; s.Ask != nil {
		return add // said when the step was added
	}
	state := a2a.TaskStateWorking
	if waits {
		state = waitingState(b, pending)
	}
	if task.StateName(b.Header.State) != state || says != "" || (add.news() || add.kept && roomToRepeat(b)) && len(pending) > 0 || state == a2a.TaskStateWorking && !b.SaysItWaitsFor(pending) {
		return tell(add, b, state, pending, says)
	}
	if add.voted && len(pending) > 0 {
		return tellVotes(add, b, state, pending)
	}
	if stale, err := waitsStale(b, pending); err != nil || !stale {
		return add.failed(err) // nothing is new
	}
	return tell(add, b, state, pending, "")
}

// decided returns the entry of a call that was approved and may be entered. It ends a
// call that was not approved.
func decided(add additions, b basis, c *fold.Call, entering int) (additions, *Execution) {
	a := b.Approval(c.Approval)
	switch a.State { //nolint:exhaustive // the other states are handled together
	case approval.Approved, approval.Edited:
		return mayEnter(add, b, c, lookUp(b, c), entering)
	case approval.Responded:
		return complete(add, b, c, task.OutcomeResponded, a.Resolution.Response), nil
	case approval.Rejected:
		return rejected(add, b, c, a), nil
	case approval.Expired:
		if a.Kind == approval.KindOutcome {
			return finish(add, b, c, ending{outcome: task.OutcomeUnknown, problem: "the result of the call is unknown and nobody decided in time"}), nil
		}
		if result := refusal(b, c, "expired"); result != nil {
			return complete(add, b, c, task.OutcomeExpired, result), nil
		}
		return notRun(add, b, c, ending{outcome: task.OutcomeExpired, problem: "nobody approved the call in time"}), nil
	default:
		return add.failed(fmt.Errorf("call %s is decided by approval %s, which is %s", c.ID, a.ID, a.State)), nil
	}
}

// died records that the outcome of a call is unknown because its process is gone, and
// continues from there.
func died(add additions, b basis, c *fold.Call, entering int) additions {
	const why = "the server stopped while it ran"
	if c.Canceled {
		add = addChildCancel(add, b, c)
		return endCanceled(add, b, c, why, nil)
	}
	add = unknown(add, b, c, event.CauseDied, why)
	return uncertain(add, b, c, entering)
}

// Automatic repeats of a call after its process died: their number, and the pause before each.
// The first has no pause, because the tool may not be the cause of the death.
const (
	maxRepeats  = 3
	firstRepeat = 5 * time.Second
	maxRepeat   = time.Minute
)

// uncertain continues from a call whose outcome is unknown. If the process died, a call
// declared read-only or idempotent, at each entry and now, is repeated automatically, a few times; after another cause
// it ends with an error, or after a restoration, a person is asked. A call with a checkpoint is entered again with it if the process
// died and the tool is and was the same, equally often: a tool that kills the process at every entry must not do so forever,
// even with new checkpoints. For any other call, and after the repeats, a person is asked.
func uncertain(add additions, b basis, c *fold.Call, entering int) additions {
	l := lookUp(b, c)
	x := validated(b, c, l)
	switch {
	case x.trouble != nil:
		return postpone(add, b, c, x.trouble)
	case x.invalid != nil:
		// It cannot be run again. Its outcome is still unknown.
		return endInvalid(add, b, c, x.invalid)
	}
	if c.Cause == event.CauseRestored {
		return askOutcome(add, b, c, &x) // it may have ended since, and more may have followed
	}
	safe := c.Safe && repeatable(x.entry.Tool)
	x.changed = c.Changed || c.Digest != "" && c.Digest != x.entry.Digest
	again := c.Cause == event.CauseDied && (safe || c.Checkpoint && !x.changed)
	switch {
	case safe && c.Cause != event.CauseDied:
		return finish(add, b, c, ending{outcome: task.OutcomeError, problem: fmt.Sprintf("%s has no result: %s", c.Tool, c.Why)})
	case again && c.Repeats < maxRepeats:
		if c.Repeats > 0 && c.Retry == nil {
			return retryAfter(add, b, c, backoff(c.Repeats, firstRepeat, maxRepeat), c.Why)
		}
		var e *Execution
		if add, e = mayEnter(add, b, c, l, entering); e == nil {
			return add
		}
		return startCall(add, b, c, e, c.Attempt)
	}
	return askOutcome(add, b, c, &x)
}

// goOn enters a suspended call again when all of its questions are answered, or its timer
// has fired; for a call that is watched, when a look has found a change. While a restored store waits for its operator, no timer fires.
func goOn(add additions, b basis, c *fold.Call, entering int) additions {
	ready := len(c.Asks) > 0
	for _, ask := range c.Asks {
		if a := b.Approval(ask.Approval); a == nil || a.State == approval.Pending {
			ready = false
		}
	}
	due := b.Held.IsZero() && c.Wake != nil && !b.Now.Before(*c.Wake) && (!c.Watch || c.Looked)
	if !ready && !due {
		return add
	}
	add, e := mayEnter(add, b, c, lookUp(b, c), entering)
	if e == nil {
		return add
	}
	return resumeCall(add, b, c, e)
}

// plannerFailed ends the task because its planner cannot continue.
func plannerFailed(add additions, b basis, cause error) additions {
	problem(b, "planner failed", cause)
	why := visible.Shorten(cause.Error(), fold.MaxProblem)
	add = fault(add, b, why)
	return endTask(add, b, a2a.TaskStateFailed, b.message("The task failed: "+why))
}
