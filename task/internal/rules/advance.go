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

// Advance adds to the draft everything that can be decided now: plans, checks, questions,
// starts, results, and whether the task waits or ends.
func (d *Draft) Advance() (n Next, err error) {
	defer d.rules.guard(d.f.View.TaskID(), "code supplied by the application", &err)
	for d.phase != store.Final && d.err == nil {
		s := d.f.Step()
		switch {
		case s != nil && !s.Finished():
			if d.advanceCalls(s); d.err == nil && !s.Finished() {
				d.settle(s)
				return NextNothing, d.err
			}
		case d.size() > maxDraft:
			return NextAgain, nil
		case !d.rules.inline() || !d.at.Held.IsZero():
			return NextPlan, nil
		default:
			next, err := plan(d.basis, d.accepted)
			d.accepted = Lookup{}
			if err != nil {
				d.plannerFailed(err)
				return NextNothing, d.err
			}
			d.addStep(next)
		}
	}
	return NextNothing, d.err
}

// advanceCalls moves each call of the step as far as it goes.
func (d *Draft) advanceCalls(s *fold.Step) {
	// All calls are examined before any starts: an approval for one may hold its siblings.
	ready := make([]*Execution, len(s.Progress))
	held, entering := false, 0 // calls that may be entered, and have not been
	for i, c := range s.Progress {
		switch {
		case waits(d.basis, c):
		case c.State == fold.CallPlanned:
			ready[i] = d.mayEnter(c, lookUp(d.basis, c), entering)
		case c.State == fold.CallDecided:
			ready[i] = d.decided(c, entering)
		}
		if ready[i] != nil {
			entering++
		}
		undecided := c.State == fold.CallAsked || ready[i] == nil && c.Retry != nil && c.State != fold.CallDone
		held = held || d.rules.HoldSiblings && c.Attempt == 0 && undecided
	}
	for i, c := range s.Progress {
		switch c.State {
		case fold.CallRunning:
			if !running(d.basis, c, d.launch) {
				d.died(c, entering)
			}
		case fold.CallPlanned, fold.CallDecided:
			if ready[i] != nil && (c.Attempt > 0 || !held) {
				entering--
				d.enterCall(c, ready[i])
			}
		case fold.CallUncertain:
			if !waits(d.basis, c) {
				d.uncertain(c, entering)
			}
		case fold.CallWaiting:
			if !waits(d.basis, c) {
				d.goOn(c, entering)
			}
		case fold.CallAsked, fold.CallDone:
		}
		if !waits(d.basis, c) { // its time has come, and its siblings keep it from starting
			d.unretry(c)
		}
	}
}

// settle sets the phase and state of a task while calls of its step are open.
func (d *Draft) settle(s *fold.Step) {
	pending, says := d.f.Pending(), ""
	if d.troubled {
		says = troubles(s)
	}
	waits := len(pending) > 0 // otherwise for a timer
	if d.f.Busy() > 0 {
		waits = d.f.WaitsMeanwhile()
	} else if d.phase = store.Parked; s.Ask != nil {
		return // said when the step was added
	}
	state := a2a.TaskStateWorking
	if waits {
		state = waitingState(d.basis, pending)
	}
	if task.StateName(d.f.Header.State) != state || says != "" || (d.news() || d.kept && roomToRepeat(d.basis)) && len(pending) > 0 || state == a2a.TaskStateWorking && !d.f.SaysItWaitsFor(pending) {
		d.tell(state, pending, says)
		return
	}
	if d.voted && len(pending) > 0 {
		d.tellVotes(state, pending)
		return
	}
	if stale, err := waitsStale(d.basis, pending); err != nil || !stale {
		d.fail(err)
		return // nothing is new
	}
	d.tell(state, pending, "")
}

// decided returns the entry of a call that was approved and may be entered. It ends a
// call that was not approved.
func (d *Draft) decided(c *fold.Call, entering int) *Execution {
	a := d.f.Approval(c.Approval)
	switch a.State { //nolint:exhaustive // the other states are handled together
	case approval.Approved, approval.Edited:
		return d.mayEnter(c, lookUp(d.basis, c), entering)
	case approval.Responded:
		d.complete(c, task.OutcomeResponded, a.Resolution.Response)
		return nil
	case approval.Rejected:
		d.rejected(c, a)
		return nil
	case approval.Expired:
		if a.Kind == approval.KindOutcome {
			d.finish(c, ending{outcome: task.OutcomeUnknown, problem: "the result of the call is unknown and nobody decided in time"})
			return nil
		}
		if !d.refused(c, task.OutcomeExpired, "expired") {
			d.notRun(c, ending{outcome: task.OutcomeExpired, problem: "nobody approved the call in time"})
		}
		return nil
	default:
		d.fail(fmt.Errorf("call %s is decided by approval %s, which is %s", c.ID, a.ID, a.State))
		return nil
	}
}

// died records that the outcome of a call is unknown because its process is gone, and
// continues from there.
func (d *Draft) died(c *fold.Call, entering int) {
	const why = "the server stopped while it ran"
	if c.Canceled {
		d.addChildCancel(c)
		d.endCanceled(c, why, nil)
		return
	}
	d.unknown(c, event.CauseDied, why)
	d.uncertain(c, entering)
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
func (d *Draft) uncertain(c *fold.Call, entering int) {
	l := lookUp(d.basis, c)
	x := validated(d.basis, c, l)
	switch {
	case x.trouble != nil:
		d.postpone(c, x.trouble)
		return
	case x.invalid != nil:
		// It cannot be run again. Its outcome is still unknown.
		d.notRun(c, ending{outcome: task.OutcomeInvalid, problem: x.invalid.Error()})
		return
	}
	if c.Cause == event.CauseRestored {
		d.askOutcome(c, &x)
		return // it may have ended since, and more may have followed
	}
	safe := c.Safe && repeatable(x.entry.Tool)
	x.changed = c.Changed || c.Digest != "" && c.Digest != x.entry.Digest
	again := c.Cause == event.CauseDied && (safe || c.Checkpoint && !x.changed)
	switch {
	case safe && c.Cause != event.CauseDied:
		d.finish(c, ending{outcome: task.OutcomeError, problem: fmt.Sprintf("%s has no result: %s", c.Tool, c.Why)})
		return
	case again && c.Repeats < maxRepeats:
		if c.Repeats > 0 && c.Retry == nil {
			d.retryAfter(c, backoff(c.Repeats, firstRepeat, maxRepeat), c.Why)
			return
		}
		if e := d.mayEnter(c, l, entering); e != nil {
			d.start(c, e, c.Attempt)
		}
		return
	}
	d.askOutcome(c, &x)
}

// goOn enters a suspended call again when all of its questions are answered, or its timer
// has fired; for a call that is watched, when a look has found a change. While a restored store waits for its operator, no timer fires.
func (d *Draft) goOn(c *fold.Call, entering int) {
	ready := len(c.Asks) > 0
	for _, ask := range c.Asks {
		if a := d.f.Approval(ask.Approval); a == nil || a.State == approval.Pending {
			ready = false
		}
	}
	due := d.at.Held.IsZero() && c.Wake != nil && !d.at.Now.Before(*c.Wake) && (!c.Watch || c.Looked)
	if !ready && !due {
		return
	}
	if e := d.mayEnter(c, lookUp(d.basis, c), entering); e != nil {
		d.resume(c, e)
	}
}

// plannerFailed ends the task because its planner cannot continue.
func (d *Draft) plannerFailed(cause error) {
	problem(d.basis, "planner failed", cause)
	why := visible.Shorten(cause.Error(), fold.MaxProblem)
	d.fault(why)
	d.end(a2a.TaskStateFailed, d.rules.message("The task failed: "+why))
}
