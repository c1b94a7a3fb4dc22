package task

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
)

// advance adds to the draft everything that can be decided now: plans, checks,
// questions, starts, results, rest or end. It decides from the fold alone, so that
// it comes to the same after a restart. runs says which calls are running in this
// process right now.
//
// It returns plan = true when the next step has to be asked of a planner that is
// slow: the caller asks it outside of any batch and comes back with the step.
func (t *turn) advance(d *draft) (plan bool, err error) {
	for {
		s := d.f.step()
		if s == nil || s.finished() {
			if !t.e.planner.Inline() {
				return true, nil
			}
			next, err := t.plan(d.f)
			if err != nil {
				return false, t.giveUp(d, err)
			}
			if ended, err := t.addStep(d, next); ended || err != nil {
				return false, err
			}
			continue
		}
		if err := t.advanceCalls(d, s); err != nil {
			return false, err
		}
		if s.finished() {
			continue
		}
		return false, t.settle(d, s)
	}
}

// finished reports whether nothing of the step is left to do.
func (s *step) finished() bool {
	if s.Ask != nil || s.Until != nil {
		return s.Done
	}
	for _, c := range s.Progress {
		if c.State != callDone {
			return false
		}
	}
	return true
}

// advanceCalls moves each call of the step as far as it goes.
func (t *turn) advanceCalls(d *draft, s *step) error {
	for _, c := range s.Progress {
		if c.State == callPlanned {
			if err := t.check(d, c); err != nil {
				return err
			}
		}
	}
	held := t.e.cfg.HoldSiblings && anyCall(s, func(c *call) bool { return c.State == callAsked })
	for _, c := range s.Progress {
		var err error
		switch c.State {
		case callPlanned, callDecided:
			if !held {
				err = t.decided(d, c)
			}
		case callUncertain:
			err = t.uncertain(d, c)
		case callWaiting:
			err = t.resume(d, c)
		case callRunning:
			if t.isLost(d, c) {
				err = t.markUnknown(d, c)
			}
		case callAsked, callDone:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isLost reports whether a call that the log says is running does not run here:
// the process that ran it has died, or was stopped.
func (t *turn) isLost(d *draft, c *call) bool {
	if t.running(c.ID) != nil {
		return false
	}
	for _, l := range d.launch {
		if l.ID == c.ID {
			return false
		}
	}
	return true
}

// markUnknown records that nobody knows what came of a call, and goes on from
// there.
func (t *turn) markUnknown(d *draft, c *call) error {
	why := "the server stopped while it ran"
	if err := d.private(kindUnknown, &callUnknown{Call: c.ID, Why: why}); err != nil {
		return err
	}
	if err := d.record(approval.Audit{What: approval.AuditUnknown, Call: c.ID, Tool: c.Tool, Reason: why, Attempt: c.Attempt}); err != nil {
		return err
	}
	return t.uncertain(d, c)
}

func anyCall(s *step, is func(*call) bool) bool {
	for _, c := range s.Progress {
		if is(c) {
			return true
		}
	}
	return false
}

// settle says where the task stands when calls of its step are open: at work, or
// at rest.
func (t *turn) settle(d *draft, s *step) error {
	pending := d.f.pending()
	asked := d.news()
	if anyCall(s, func(c *call) bool { return c.State == callRunning }) {
		if d.f.header.State != stateWorking || asked && len(pending) > 0 {
			return t.working(d, pending)
		}
		return nil
	}
	d.phase = store.Parked
	switch {
	case s.Ask != nil || s.Until != nil:
		return nil // said when the step was added
	case len(pending) > 0:
		return t.question(d, pending, "")
	case d.f.header.State != stateWorking:
		return t.working(d, nil) // suspended until a timer wakes it
	}
	return nil
}

// news reports whether the draft asks or answers something, or somebody else has.
func (d *draft) news() bool {
	if d.told {
		return true
	}
	for i := range d.events {
		if k := d.events[i].Kind; k == kindAsked || k == kindResolved {
			return true
		}
	}
	return false
}

// working says that the task is at work, and what it has asked meanwhile.
func (t *turn) working(d *draft, pending []*approval.Approval) error {
	if len(pending) == 0 {
		return d.say(a2a.TaskStateWorking, nil, nil)
	}
	m, metadata, err := t.e.presenter.Question(pending, "")
	if err != nil {
		return fmt.Errorf("present approvals: %w", err)
	}
	return d.say(a2a.TaskStateWorking, m, metadata)
}

// question asks everything that is pending. problem, when not empty, says why the
// last message was no answer.
func (t *turn) question(d *draft, pending []*approval.Approval, problem string) error {
	m, metadata, err := t.e.presenter.Question(pending, problem)
	if err != nil {
		return fmt.Errorf("present approvals: %w", err)
	}
	return d.say(waitingState(pending), m, metadata)
}

// waitingState is input-required when the A2A client may answer any of it, else
// auth-required.
func waitingState(pending []*approval.Approval) a2a.TaskState {
	for _, a := range pending {
		if !a.Elsewhere() {
			return a2a.TaskStateInputRequired
		}
	}
	return a2a.TaskStateAuthRequired
}

// check puts a planned call through the pipeline up to the point where it may be
// started (it stays planned), is asked for, or has failed.
func (t *turn) check(d *draft, c *call) error {
	v := t.e.examine(t.readonly(d.f), c)
	switch {
	case v.err != nil:
		return d.finish(c, OutcomeInvalid, nil, v.err.Error(), nil)
	case v.verdict.Action == approval.ActionDeny:
		return d.finish(c, OutcomeDenied, nil, v.verdict.Reason, nil)
	case v.verdict.Action == approval.ActionAllow:
		if v.args != nil {
			c.Args = v.args
		}
		c.decoded = v.decoded
		return nil
	}
	return t.askCall(d, c, v, "")
}

// askCall requests approval of a call.
func (t *turn) askCall(d *draft, c *call, v examined, supersedes string) error {
	a := &approval.Approval{
		Kind: approval.KindCall, Args: c.Args, Hint: v.verdict.Hint, Terms: v.verdict.Terms,
		Definition: v.definition, Digest: v.digest, Supersedes: supersedes,
	}
	if v.args != nil {
		a.Args = v.args
	}
	t.fill(d, c, a)
	if err := t.fits(d, a); err != nil {
		return d.finish(c, OutcomeError, nil, err.Error(), nil)
	}
	return d.ask(a)
}

// fill sets what every approval of a call has.
func (t *turn) fill(d *draft, c *call, a *approval.Approval) {
	f := d.f
	a.V, a.State = 1, approval.Pending
	a.ID = fmt.Sprintf("%s.a%d", f.view.ids.Task, len(f.Approvals)+1)
	a.Task, a.Context = f.view.ids.Task, f.view.ids.Context
	a.Call, a.Alias, a.Tool, a.Agent = c.ID, c.Alias, c.Tool, t.e.cfg.Agent
	a.Attempt, a.Requester, a.Asked = c.Attempt, f.Owner, d.now.UTC().Truncate(time.Millisecond)
	if ttl := a.Terms.Expires; ttl > 0 {
		deadline := a.Asked.Add(ttl).Truncate(time.Millisecond) // as its due row has it
		a.Deadline = &deadline
	}
}

// fits refuses an approval that could not be shown: too many at once, arguments
// too large, or a question that would not fit into one event.
func (t *turn) fits(d *draft, a *approval.Approval) error {
	pending := d.f.pending()
	if len(pending) >= t.e.cfg.Limits.Pending {
		return fmt.Errorf("the task already waits for %d approvals, which is the most it may: answer some first", len(pending))
	}
	if n := len(a.Args); n > t.e.cfg.Limits.Args {
		return fmt.Errorf("arguments have %d bytes; at most %d can be shown for approval", n, t.e.cfg.Limits.Args)
	}
	m, _, err := t.e.presenter.Question(append(pending, a), "")
	if err != nil {
		return fmt.Errorf("the question cannot be shown: %w", err)
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("the question cannot be shown: %w", err)
	}
	if limit := t.e.cfg.Limits.Event - 64<<10; len(raw) > limit {
		return fmt.Errorf("the question would have %d bytes; at most %d can be shown", len(raw), limit)
	}
	return nil
}

// decided starts a call that may run, or ends one that may not.
func (t *turn) decided(d *draft, c *call) error {
	if c.State == callPlanned { // allowed without asking
		return t.start(d, c, 1, "")
	}
	a := d.f.approval(c.Approval)
	if a.Kind == approval.KindOutcome {
		return t.outcomeDecided(d, c, a)
	}
	switch a.State { //nolint:exhaustive // the rest is one case
	case approval.Approved, approval.Edited:
	case approval.Rejected:
		return d.finish(c, OutcomeRejected, nil, rejection(a), nil)
	case approval.Expired:
		return d.finish(c, OutcomeExpired, nil, "nobody approved the call in time", nil)
	default:
		return fmt.Errorf("call %s is decided by approval %s, which is %s", c.ID, a.ID, a.State)
	}
	if a.State == approval.Edited {
		c.Args = a.Resolution.Args
	}
	// What runs must be what was approved: the same definition, the same arguments.
	// The verdict was frozen when it was asked and is not asked again.
	want := a.Digest
	if a.State == approval.Edited {
		want = a.Resolution.Digest
	}
	_, digest, err := t.e.bind(t.readonly(d.f), c)
	switch {
	case err != nil:
		return d.finish(c, OutcomeInvalid, nil, err.Error(), nil)
	case digest != want:
		return t.askChanged(d, c, a)
	}
	return t.start(d, c, 1, want)
}

// askChanged asks anew about a call whose tool has changed since it was asked.
func (t *turn) askChanged(d *draft, c *call, a *pendingApproval) error {
	v := t.e.examine(t.readonly(d.f), c)
	switch {
	case v.err != nil:
		return d.finish(c, OutcomeInvalid, nil, v.err.Error(), nil)
	case v.verdict.Action == approval.ActionDeny:
		return d.finish(c, OutcomeDenied, nil, v.verdict.Reason, nil)
	case v.verdict.Action == approval.ActionAllow:
		// A person was asked about it: doubt means ask.
		v.verdict.Hint, v.verdict.Terms = a.Hint, a.Terms
	}
	if v.args != nil {
		c.Args = v.args // what is shown is what is bound
	}
	var err error
	if v.definition, v.digest, err = t.e.bind(t.readonly(d.f), c); err != nil {
		return d.finish(c, OutcomeInvalid, nil, err.Error(), nil)
	}
	return t.askCall(d, c, v, a.ID)
}

func rejection(a *pendingApproval) string {
	if a.Resolution.Reason == "" {
		return "the call was rejected"
	}
	return "the call was rejected: " + a.Resolution.Reason
}

// start writes that a call starts; it is launched when that is durable.
func (t *turn) start(d *draft, c *call, attempt int, digest string) error {
	e := &callStarted{Call: c.ID, Attempt: attempt, Digest: digest}
	if string(c.Args) != string(d.f.planned(c.ID)) {
		e.Args = c.Args
	}
	if err := d.private(kindStarted, e); err != nil {
		return err
	}
	return t.launchLater(d, c)
}

// launchLater notes that a started or resumed call is to be run.
func (t *turn) launchLater(d *draft, c *call) error {
	d.launch = append(d.launch, c)
	digest := ""
	if a := d.f.approval(c.Approval); a != nil {
		digest = a.Digest
	}
	return d.record(approval.Audit{What: approval.AuditStarted, Call: c.ID, Tool: c.Tool, Digest: digest, Approval: c.Approval, Attempt: c.Attempt})
}

// uncertain runs a call again that may be run again, and asks a person about any
// other.
func (t *turn) uncertain(d *draft, c *call) error {
	if c.Approval != "" {
		return nil // asked already
	}
	if is := t.e.annotations(t.readonly(d.f), c.Tool); is.ReadOnly || is.Idempotent {
		return t.again(d, c, c.Attempt)
	}
	v := t.e.examine(t.readonly(d.f), c)
	definition, digest, err := t.e.bind(t.readonly(d.f), c)
	if err != nil {
		// It cannot be run again. What came of it is still not known.
		return d.finish(c, OutcomeInvalid, nil, fmt.Sprintf("the result of the call is unknown: %s; and it cannot be run again: %v", c.Why, err), nil)
	}
	a := &approval.Approval{
		Kind: approval.KindOutcome, Args: c.Args, Definition: definition, Digest: digest,
		Hint: fmt.Sprintf("It is not known whether %s has run: %s. Approve to run it again, respond with its result if you know it, or reject to give it up.", c.Tool, c.Why),
	}
	a.Terms = approval.OutcomeTerms(v.verdict.Terms)
	t.fill(d, c, a)
	if err := t.fits(d, a); err != nil {
		return d.finish(c, OutcomeError, nil, fmt.Sprintf("the result of the call is unknown: %s; and nobody can be asked: %v", c.Why, err), nil)
	}
	return d.ask(a)
}

// outcomeDecided acts on what a person said of a call whose result is unknown.
func (t *turn) outcomeDecided(d *draft, c *call, a *pendingApproval) error {
	switch a.State { //nolint:exhaustive // the rest is one case
	case approval.Approved:
		return t.again(d, c, c.Attempt+1)
	case approval.Responded:
		return t.complete(d, c, OutcomeResponded, a.Resolution.Response)
	case approval.Rejected:
		return d.finish(c, OutcomeRejected, nil, "the result of the call is unknown and it was given up", nil)
	case approval.Expired:
		return d.finish(c, OutcomeExpired, nil, "the result of the call is unknown and nobody decided in time", nil)
	default:
		return fmt.Errorf("call %s is decided by approval %s, which is %s", c.ID, a.ID, a.State)
	}
}

// resume enters a suspended call again when all of its questions are answered, or
// its time has come.
func (t *turn) resume(d *draft, c *call) error {
	ready := len(c.Asks) > 0
	for _, ask := range c.Asks {
		if a := d.f.approval(ask.Approval); a == nil || a.State == approval.Pending {
			ready = false
		}
	}
	due := c.Wake != nil && !d.now.Before(*c.Wake)
	if !ready && !due {
		return nil
	}
	if c.Wake != nil {
		d.due = append(d.due, store.DueChange{Time: store.MillisOf(*c.Wake), Kind: dueWake, Key: []byte(c.ID), Delete: true})
	}
	if err := d.private(kindResumed, &callResumed{Call: c.ID, N: c.Suspended}); err != nil {
		return err
	}
	return t.launchLater(d, c)
}

// complete gives a call its result and publishes it.
func (t *turn) complete(d *draft, c *call, outcome Outcome, result json.RawMessage) error {
	if result == nil {
		result = json.RawMessage("null")
	}
	d.artifact(&artifactUpdate{ID: artifactID(c), Name: c.Tool, Parts: resultPart(result), Last: true})
	return d.finish(c, outcome, result, "", nil)
}

// finish ends a call.
func (d *draft) finish(c *call, outcome Outcome, result json.RawMessage, problem string, delta map[string]any) error {
	if err := d.private(kindFinished, &callFinished{Call: c.ID, Outcome: outcome, Result: result, Error: problem, Delta: delta}); err != nil {
		return err
	}
	return d.record(approval.Audit{What: approval.AuditFinished, Call: c.ID, Tool: c.Tool, Outcome: string(outcome), Reason: problem, Approval: c.Approval, Attempt: c.Attempt})
}

// giveUp ends the task because its planner cannot go on.
func (t *turn) giveUp(d *draft, cause error) error {
	t.e.log.Warn().Err(cause).Str("task_id", d.f.view.ids.Task).Msg("planner failed")
	if err := d.private(kindFailed, &turnFailed{Error: cause.Error()}); err != nil {
		return err
	}
	return d.end(a2a.TaskStateFailed, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("The task failed: "+cause.Error())))
}

// again enters a call once more whose last run nobody knows the end of: from the
// beginning, or behind its last suspension.
func (t *turn) again(d *draft, c *call, attempt int) error {
	digest := ""
	if a := d.f.approval(c.Approval); a != nil {
		digest = a.Digest
	}
	return t.start(d, c, attempt, digest)
}
