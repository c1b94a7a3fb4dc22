package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/auth"
	"a2a-server/store"
	"a2a-server/tool"
)

// Decision is what somebody decides about approvals of one task, whatever way it
// came.
type Decision struct {
	By      auth.Principal
	Via     string      // "api" or "provider"; messages come through Send
	Scope   store.Scope // by which the approvals were read
	Task    store.TaskID
	Answers []approval.Answer
}

// Decide applies decisions. When it returns nil they are durable, and the task
// goes on. The errors are those of [Engine.Send].
func (e *Engine) Decide(ctx context.Context, d Decision) error {
	_, err := e.changeFresh(ctx, d.Scope, d.Task, func(t *turn, draft *draft) error {
		return e.decide(t, draft, d.Answers, d.By, d.Via, nil)
	})
	return translate(err)
}

// errStale, from an input, says that approvals have to be brought up to date
// before a decision is looked at.
var errStale = errors.New("approvals are out of date")

// changeFresh is change for decisions: what is overdue expires, and what was asked
// about a tool that has changed is asked anew, before they are looked at. Both are
// facts of their own, written even when the decision is then refused.
func (e *Engine) changeFresh(ctx context.Context, s store.Scope, id store.TaskID, in input) (landed, error) {
	for range 8 {
		l, err := e.change(ctx, s, id, in)
		if !errors.Is(err, errStale) {
			return l, err
		}
		if _, err := e.change(ctx, s, id, func(t *turn, d *draft) error { return e.freshen(t, d) }); err != nil {
			return landed{}, err
		}
	}
	return landed{}, fmt.Errorf("%w: they change faster than they can be decided", errStale)
}

// stale reports whether a pending approval is overdue or about a tool that is not
// what it was.
func (e *Engine) stale(t *turn, f *fold, now time.Time) bool {
	for _, a := range f.pending() {
		if approval.Overdue(a, now) || e.toolChanged(t, f, a) {
			return true
		}
	}
	return false
}

// toolChanged reports whether the tool of a pending call is gone or has another
// definition than the one that was shown.
func (e *Engine) toolChanged(t *turn, f *fold, a *approval.Approval) bool {
	if a.Kind != approval.KindCall || a.Ask != "" {
		return false
	}
	entry, err := e.cfg.Tools.Lookup(t.readonly(f), a.Tool)
	return err != nil || entry.Digest != a.Definition
}

// freshen expires what is overdue and asks anew what has changed.
func (e *Engine) freshen(t *turn, d *draft) error {
	for _, a := range d.f.pending() {
		switch {
		case approval.Overdue(a, d.now):
			ended, err := e.expire(t, d, d.f.approval(a.ID))
			if err != nil || ended {
				return err
			}
		case e.toolChanged(t, d.f, a):
			if err := e.askAgain(t, d, d.f.approval(a.ID)); err != nil {
				return err
			}
		}
	}
	if d.empty() {
		return errNothing
	}
	return nil
}

// askAgain supersedes an approval whose tool has changed: the arguments are checked
// and the policy is asked anew.
func (e *Engine) askAgain(t *turn, d *draft, a *pendingApproval) error {
	if err := d.resolve(a, approval.Superseded, approval.Resolution{Via: "system", At: d.now, Reason: "the tool has changed since it was asked"}); err != nil {
		return err
	}
	return t.askChanged(d, d.f.call(a.Call), a)
}

// expire ends an approval whose deadline has passed, or lets it stand without one.
// ended: the task has ended with it.
func (e *Engine) expire(t *turn, d *draft, a *pendingApproval) (ended bool, err error) {
	due := expiry(&a.Approval)
	due.Delete = true
	state, resolution, kept := approval.Expire(&a.Approval, d.now)
	if kept {
		d.due = append(d.due, due)
		if err := d.private(kindKept, &approvalKept{ID: a.ID, At: d.now}); err != nil {
			return false, err
		}
		return false, d.putApproval(a, a.Row-1)
	}
	if err := d.resolve(a, state, resolution); err != nil {
		return false, err
	}
	if a.Terms.OnExpiry == approval.ExpiryCancels {
		return true, e.cancelAll(t, d, "nobody answered in time")
	}
	return false, nil
}

// decide puts decisions into a draft, all of them or none.
func (e *Engine) decide(t *turn, d *draft, answers []approval.Answer, by auth.Principal, via string, received *messageReceived) error {
	if d.f.header.Phase == store.Final {
		return e.decidedBefore(d.f, answers)
	}
	if e.stale(t, d.f, d.now) {
		return errStale
	}
	decisions, err := approval.Match(answers, d.f.all(), d.f.names())
	if err != nil {
		return err
	}
	var edits []examined
	news := false
	for i := range decisions {
		x := &decisions[i]
		edits = append(edits, examined{})
		if x.Settled {
			continue
		}
		news = true
		if err := x.Approval.Check(x.Answer, by, via, d.now); err != nil {
			return err
		}
		if x.Answer.Verb == approval.Edit {
			if edits[i], err = e.checkEdit(t, d, x.Approval, x.Answer); err != nil {
				return err
			}
		}
	}
	if !news {
		return errNothing // the same decision again: the same answer
	}
	if received != nil {
		received.For = forDecision
		if err := d.private(kindMessage, received); err != nil {
			return err
		}
	}
	cancel := ""
	for i, x := range decisions {
		if x.Settled {
			continue
		}
		a := d.f.approval(x.Approval.ID)
		if v := edits[i]; v.verdict.Action == approval.ActionAsk && v.verdict.Terms.Rule != a.Terms.Rule {
			// The edited call is another rule's business: it is asked anew.
			r := approval.Resolution{Verb: approval.Edit, By: by, Via: via, At: d.now, Args: x.Answer.Args, Reason: "the edited call needs another approval"}
			if err := d.resolve(a, approval.Superseded, r); err != nil {
				return err
			}
			c := d.f.call(a.Call)
			c.Args = x.Answer.Args
			if err := t.askCall(d, c, v, a.ID); err != nil {
				return err
			}
			continue
		}
		state, r := a.Resolve(x.Answer, by, via, d.now)
		if x.Answer.Verb == approval.Edit {
			r.Digest = edits[i].digest
		}
		if err := d.resolve(a, state, r); err != nil {
			return err
		}
		switch {
		case x.Answer.Verb == approval.Cancel:
			cancel = "a decision canceled the task"
		case x.Answer.Verb == approval.Reject && a.Terms.CancelsTask:
			cancel = "a call was rejected"
		}
	}
	if cancel != "" {
		return e.cancelAll(t, d, cancel)
	}
	return nil
}

// checkEdit puts edited arguments through validation and policy.
func (e *Engine) checkEdit(t *turn, d *draft, a *approval.Approval, answer approval.Answer) (examined, error) {
	c := *d.f.call(a.Call)
	c.Args = answer.Args
	v := e.examine(t.readonly(d.f), &c)
	if v.err != nil {
		return v, editError(a, v.err)
	}
	if v.verdict.Action == approval.ActionDeny {
		return v, approval.NotAllowed(a, fmt.Sprintf("the edited call is denied: %s; the approval still waits", v.verdict.Reason))
	}
	if v.args != nil {
		return v, approval.NotAllowed(a, "a hook changes the edited arguments, so that they are not what would run; the approval still waits")
	}
	var err error
	if v.definition, v.digest, err = e.bind(t.readonly(d.f), &c); err != nil {
		return v, editError(a, err)
	}
	return v, nil
}

// editError says what is wrong with edited arguments, by place.
func editError(a *approval.Approval, err error) error {
	out := approval.Malformed(a.ID, "")
	out.Message = fmt.Sprintf("the edit of %s: %v; approval %s still waits", a.Tool, err, a.ID)
	var inv *tool.InvalidError
	if errors.As(err, &inv) {
		for _, v := range inv.Violations {
			out.Violations = append(out.Violations, approval.Violation{Field: v.Pointer, Description: v.Message})
		}
	}
	return out
}

// decidedBefore tells a late decider of an ended task what was decided.
func (e *Engine) decidedBefore(f *fold, answers []approval.Answer) error {
	state := &StateError{Task: f.header.Task, State: f.view.State()}
	decisions, err := approval.Match(answers, f.all(), f.names())
	if err != nil {
		return err
	}
	for _, x := range decisions {
		if x.Approval.Resolution != nil {
			state.Decided = approval.Decided(x.Approval)
			break
		}
	}
	return state
}

// Cancel ends a task. Canceling a canceled task again changes nothing.
func (e *Engine) Cancel(ctx context.Context, by auth.Principal, id store.TaskID) error {
	_, err := e.change(ctx, ScopeOf(by), id, func(t *turn, d *draft) error {
		if d.f.header.Phase == store.Final {
			if d.f.header.State == stateCanceled {
				return errNothing
			}
			return &StateError{Task: id, State: d.f.view.State(), NotCancelable: true}
		}
		return e.cancelAll(t, d, "")
	})
	return translate(err)
}

// cancelAll cancels the task with everything that is open in it.
func (e *Engine) cancelAll(t *turn, d *draft, why string) error {
	if err := d.record(approval.Audit{What: approval.AuditCanceled, Reason: why}); err != nil {
		return err
	}
	if why != "" {
		why = "The task was canceled: " + why + "."
	}
	return e.endAll(t, d, a2a.TaskStateCanceled, why)
}

// endAll ends the task in a state with everything that is open in it. Whoever runs
// it is cut off by the fence. says, when not empty, is the message of the status.
func (e *Engine) endAll(t *turn, d *draft, state a2a.TaskState, says string) error {
	for _, a := range d.f.Approvals {
		if a.State != approval.Pending {
			continue
		}
		if err := d.resolve(a, approval.Canceled, approval.Resolution{Via: "system", At: d.now, Reason: says}); err != nil {
			return err
		}
	}
	if s := d.f.step(); s != nil {
		if s.Until != nil && !s.Done {
			d.due = append(d.due, store.DueChange{Time: store.MillisOf(*s.Until), Kind: dueWake, Key: stepKey(s.Step), Delete: true})
		}
		for _, c := range s.Progress {
			if c.State == callDone {
				continue
			}
			if c.Wake != nil {
				d.due = append(d.due, store.DueChange{Time: store.MillisOf(*c.Wake), Kind: dueWake, Key: []byte(c.ID), Delete: true})
			}
			if err := e.cancelChild(t, d, c); err != nil {
				return err
			}
			if err := d.finish(c, OutcomeCanceled, nil, "the task has ended", nil); err != nil {
				return err
			}
		}
	}
	d.fence = true
	d.launch = nil
	var m *a2a.Message
	if says != "" {
		m = a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(says))
	}
	return d.end(state, m)
}
