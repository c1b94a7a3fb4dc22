package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// Next is the work that a task needs after [Draft.Advance].
type Next int

// The values of Next.
const (
	NextNothing Next = iota // it waits, has ended, or has calls running
	NextPlan                // a planner that is not inline has to plan the next step: see [Plan]
	NextAgain               // the draft is large: commit it, then advance again
)

// maxDraft is how many bytes of events a draft may have before it is committed.
const maxDraft = 1 << 20

// Advance adds to the draft everything that can be decided now: plans, checks, questions,
// starts, results, and whether the task waits or ends.
func (d *Draft) Advance() (n Next, err error) {
	defer d.rules.guard(d.f.View.TaskID(), "code supplied by the application", &err)
	for d.phase != store.Final {
		s := d.f.Step()
		switch {
		case s != nil && !s.Finished():
			if err := d.advanceCalls(s); err != nil {
				return NextNothing, err
			}
			if !s.Finished() {
				return NextNothing, d.settle(s)
			}
		case d.size() > maxDraft:
			return NextAgain, nil
		case !d.rules.Planner.Inline():
			return NextPlan, nil
		default:
			next, err := d.plan()
			if err != nil {
				return NextNothing, d.plannerFailed(err)
			}
			if err := d.addStep(next); err != nil {
				return NextNothing, err
			}
		}
	}
	return NextNothing, nil
}

// advanceCalls moves each call of the step as far as it goes.
func (d *Draft) advanceCalls(s *fold.Step) error {
	// All calls are examined before any starts: an approval for one may hold its siblings.
	ready := make([]*Entry, len(s.Progress))
	held := false
	for i, c := range s.Progress {
		var err error
		switch {
		case d.waits(c):
		case c.State == fold.CallPlanned:
			ready[i], err = d.mayEnter(c, d.look(c))
		case c.State == fold.CallDecided:
			ready[i], err = d.decided(c)
		}
		if err != nil {
			return err
		}
		undecided := c.State == fold.CallAsked || ready[i] == nil && c.Retry != nil && c.State != fold.CallDone
		held = held || d.rules.HoldSiblings && c.Attempt == 0 && undecided
	}
	for i, c := range s.Progress {
		var err error
		switch c.State {
		case fold.CallRunning:
			if !d.running(c) {
				err = d.died(c)
			}
		case fold.CallPlanned, fold.CallDecided:
			if ready[i] != nil && (c.Attempt > 0 || !held) {
				err = d.enterCall(c, ready[i])
			}
		case fold.CallUncertain:
			if !d.waits(c) {
				err = d.uncertain(c)
			}
		case fold.CallWaiting:
			if !d.waits(c) {
				err = d.goOn(c)
			}
		case fold.CallAsked, fold.CallDone:
		}
		if err != nil {
			return err
		}
		if !d.waits(c) { // its time has come, and its siblings keep it from starting
			d.unretry(c)
		}
	}
	return nil
}

// enterCall writes that a planned or decided call is entered.
func (d *Draft) enterCall(c *fold.Call, e *Entry) error {
	if c.Paused {
		return d.resume(c, e)
	}
	return d.start(c, e, c.Attempt+1)
}

// running reports whether a call that the log says is running does run here, or is about
// to. If not, its process is gone.
func (d *Draft) running(c *fold.Call) bool {
	return d.at.Running != nil && d.at.Running(c.ID) || slices.ContainsFunc(d.launch, func(e *Entry) bool { return e.Call == c.ID })
}

// settle sets the phase and state of a task while calls of its step are open.
func (d *Draft) settle(s *fold.Step) error {
	pending, says := d.f.Pending(), d.troubles()
	waits := len(pending) > 0 // otherwise for a timer
	if d.f.Busy() > 0 {
		waits = d.f.WaitsMeanwhile()
	} else if d.phase = store.Parked; s.Ask != nil {
		return nil // said when the step was added
	}
	state := a2a.TaskStateWorking
	if waits {
		state = d.waitingState(pending)
	}
	if task.StateName(d.f.Header.State) != state || says != "" || d.news() && len(pending) > 0 {
		return d.tell(state, pending, says)
	}
	return nil // nothing is new
}

// news reports whether an approval was requested or resolved, by the draft or by another
// writer.
func (d *Draft) news() bool { return d.told || len(d.asked) > 0 || len(d.resolved) > 0 }

// decided returns the entry of a call that was approved and may be entered. It ends a
// call that was not approved.
func (d *Draft) decided(c *fold.Call) (*Entry, error) {
	a := d.f.Approval(c.Approval)
	switch a.State { //nolint:exhaustive // the other states are handled together
	case approval.Approved, approval.Edited:
		return d.mayEnter(c, d.look(c))
	case approval.Responded:
		return nil, d.complete(c, task.OutcomeResponded, a.Resolution.Response)
	case approval.Rejected:
		return nil, d.rejected(c, a)
	case approval.Expired:
		if a.Kind == approval.KindOutcome {
			return nil, d.finish(c, task.OutcomeUnknown, nil, "the result of the call is unknown and nobody decided in time", nil)
		}
		return nil, d.notRun(c, task.OutcomeExpired, "nobody approved the call in time")
	default:
		return nil, fmt.Errorf("call %s is decided by approval %s, which is %s", c.ID, a.ID, a.State)
	}
}

// rejected ends a call that a person rejected, or gave up because its outcome is unknown; its
// result says so, with the reason. Artifacts of an earlier run remain.
func (d *Draft) rejected(c *fold.Call, a *fold.Approval) error {
	text := rejection(a)
	if a.Kind == approval.KindOutcome {
		return d.finish(c, task.OutcomeUnknown, nil, text, nil)
	}
	if c.Attempt == 0 {
		d.artifact(&event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: event.TextPart(visible.Text(text)), Last: true})
	}
	return d.notRun(c, task.OutcomeRejected, text)
}

func rejection(a *fold.Approval) string {
	text := "the call was rejected"
	if a.Kind == approval.KindOutcome {
		text = "the result of the call is unknown and it was given up"
	}
	if a.Resolution.Reason == "" {
		return text
	}
	return text + ": " + a.Resolution.Reason
}

// died records that the outcome of a call is unknown because its process is gone, and
// continues from there.
func (d *Draft) died(c *fold.Call) error {
	if c.Canceled {
		return d.diedCanceled(c)
	}
	if err := d.unknown(c, event.CauseDied, "the server stopped while it ran"); err != nil {
		return err
	}
	return d.uncertain(c)
}

// unknown records that the outcome of a call is unknown, and closes the question that held the
// call.
func (d *Draft) unknown(c *fold.Call, cause event.Cause, why string) error {
	if err := d.closeHeld(c); err != nil {
		return err
	}
	why = visible.Shorten(visible.Text(why), fold.MaxProblem) // a tool may have written it
	if err := d.add(event.KindUnknown, &event.CallUnknown{Call: c.ID, Why: why, Cause: cause}); err != nil {
		return err
	}
	return d.record(approval.Audit{What: approval.AuditUnknown, Call: c.ID, Tool: c.Tool, Reason: why, Attempt: c.Attempt})
}

// Automatic repeats of a call after its process died: their number, and the pause before each.
// The first has no pause, because the tool may not be the cause of the death.
const (
	maxRepeats  = 3
	firstRepeat = 5 * time.Second
	maxRepeat   = time.Minute
)

// repeatable reports whether a tool says that repeating its calls has no further effect.
func repeatable(t tool.Tool) bool {
	is := annotationsOf(t)
	return is.ReadOnly || is.Idempotent
}

// uncertain continues from a call whose outcome is unknown. If the process died, a call
// declared read-only or idempotent is repeated automatically, a few times; after another cause
// it ends with an error. A call with a checkpoint is entered again with it if the process
// died, equally often: a tool that kills the process at every entry must not do so forever,
// even with new checkpoints. For any other call, and after the repeats, a person is asked.
func (d *Draft) uncertain(c *fold.Call) error {
	l := d.look(c)
	x := d.validated(c, l)
	switch {
	case x.trouble != nil:
		return d.postpone(c, x.trouble)
	case x.invalid != nil:
		// It cannot be run again. Its outcome is still unknown.
		return d.notRun(c, task.OutcomeInvalid, x.invalid.Error())
	}
	safe := repeatable(x.entry.Tool)
	again := c.Cause == event.CauseDied && (safe || c.Checkpoint)
	switch {
	case safe && c.Cause != event.CauseDied:
		return d.finish(c, task.OutcomeError, nil, fmt.Sprintf("%s has no result: %s", c.Tool, c.Why), nil)
	case again && c.Repeats < maxRepeats:
		if c.Repeats > 0 && c.Retry == nil {
			return d.retryAfter(c, backoff(c.Repeats, firstRepeat, maxRepeat), c.Why)
		}
		e, err := d.mayEnter(c, l)
		if err != nil || e == nil {
			return err
		}
		return d.start(c, e, c.Attempt)
	}
	return d.askOutcome(c, &x)
}

// askOutcome asks a person for the outcome of a call, on the terms of its own approval.
func (d *Draft) askOutcome(c *fold.Call, x *examined) error {
	a := &approval.Approval{
		Kind: approval.KindOutcome, Args: c.Args, Supersedes: x.supersedes,
		Hint: fmt.Sprintf("It is not known whether %s has run: %s. Approve to run it again, respond with its result if you know it, or reject to give it up.", c.Tool, c.Why),
	}
	if x.changed {
		a.Hint += fmt.Sprintf(" The tool %s has changed since its call was approved.", c.Tool)
	}
	a.Terms = approval.OutcomeTerms(d.termsOf(c, x))
	if err := d.fill(c, x, a); err != nil {
		return d.notRun(c, task.OutcomeInvalid, err.Error())
	}
	// It is unknown, too, whether the tool still needs answers to its questions.
	if err := d.closeAsks(c, "the outcome of the call is unknown"); err != nil {
		return err
	}
	if err := d.fits(a); err != nil {
		return d.finish(c, task.OutcomeUnknown, nil, fmt.Sprintf("the result of the call is unknown: %s; and nobody can be asked: %v", c.Why, err), nil)
	}
	return d.askAbout(c, a)
}

// approvalOf returns the newest approval that asks whether a call may run, or nil.
func (d *Draft) approvalOf(c *fold.Call) *fold.Approval {
	return d.f.Newest(func(a *fold.Approval) bool { return a.Call == c.ID && a.Ask == "" && a.Kind == approval.KindCall })
}

// termsOf returns the terms on which a call was approved; for a call without an approval, the
// terms on which it would be asked about now.
func (d *Draft) termsOf(c *fold.Call, x *examined) approval.Terms {
	if a := d.approvalOf(c); a != nil {
		return a.Terms
	}
	l := look{ctx: x.ctx, entry: x.entry}
	if now := d.examine(c, l, c.Args, false /* open */); now.verdict.Action == approval.ActionAsk {
		return now.verdict.Terms
	}
	return d.rules.Policy.AskTerms()
}

// goOn enters a suspended call again when all of its questions are answered, or its timer
// has fired.
func (d *Draft) goOn(c *fold.Call) error {
	ready := len(c.Asks) > 0
	for _, ask := range c.Asks {
		if a := d.f.Approval(ask.Approval); a == nil || a.State == approval.Pending {
			ready = false
		}
	}
	due := c.Wake != nil && !d.at.Now.Before(*c.Wake)
	if !ready && !due {
		return nil
	}
	e, err := d.mayEnter(c, d.look(c))
	if err != nil || e == nil {
		return err
	}
	return d.resume(c, e)
}

// complete gives a call its result and publishes it.
func (d *Draft) complete(c *fold.Call, outcome task.Outcome, result json.RawMessage) error {
	if result = event.Compact(result); result == nil {
		result = json.RawMessage("null")
	}
	d.artifact(&event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: event.ResultParts(result, d.rules.Limits.Result(), d.rules.Presenter.Imitates), Last: true})
	return d.finish(c, outcome, result, "", nil)
}

// plannerFailed ends the task because its planner cannot continue.
func (d *Draft) plannerFailed(cause error) error {
	d.rules.report(Problem{Task: d.f.View.TaskID(), What: "planner failed", Err: cause})
	why := visible.Shorten(cause.Error(), fold.MaxProblem)
	if err := d.fault(why); err != nil {
		return err
	}
	return d.end(a2a.TaskStateFailed, d.rules.message("The task failed: "+why))
}

// fault records why the task cannot continue.
func (d *Draft) fault(why string) error {
	return d.add(event.KindFailed, &event.TurnFailed{Error: why})
}
