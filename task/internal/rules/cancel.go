package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Cancel is the [Input] that cancels a task. Canceling a canceled task again changes
// nothing.
type Cancel struct{ By auth.Principal }

func (in Cancel) put(d *Draft) error {
	if d.f.Header.Phase == store.Final {
		if d.f.Header.State == task.StateCanceled {
			return ErrNoChange
		}
		return &task.StateError{Task: d.f.Header.Task, State: d.f.View.State(), NotCancelable: true}
	}
	d.cancelAll("", in.By)
	return nil
}

// cancelAll cancels the task with all its open calls and approvals. by is the requester; the
// zero Principal if the server itself cancels it.
func (d *Draft) cancelAll(why string, by auth.Principal) {
	d.record(approval.Audit{What: approval.AuditCanceled, Reason: why, By: by})
	says := d.f.Account()
	canceler := ""
	if !by.IsZero() && (by.Subject != d.f.Owner.Subject || by.Tenant != d.f.Owner.Tenant) {
		canceler = " by " + strconv.Quote(visible.Line(by.Subject))
	}
	if why != "" {
		why = ": " + why
	}
	if canceler+why != "" {
		says = append([]string{"The task was canceled" + canceler + why + "."}, says...)
	}
	d.endAll(a2a.TaskStateCanceled, strings.Join(says, "\n"))
}

// Fail is the [Input] that ends a task that cannot continue: better failed than working
// forever. It calls no planner, tool or presenter, because any of them may be the cause.
type Fail struct{ Cause error }

func (in Fail) put(d *Draft) error {
	if d.f.Header.Phase == store.Final {
		return ErrNoChange
	}
	why := visible.Shorten(in.Cause.Error(), fold.MaxProblem)
	d.fault(why)
	says := append([]string{"The task failed: " + why}, d.f.Account()...)
	d.endAll(a2a.TaskStateFailed, strings.Join(says, "\n"))
	return nil
}

// endAll ends the task in a state, with all its open calls and approvals. The fence cuts off
// the instance that runs it. says, if not empty, is the message of the status.
func (d *Draft) endAll(state a2a.TaskState, says string) {
	d.resolveAll(nil, approval.Canceled, approval.Resolution{Via: approval.ViaSystem, At: d.at.Now, Reason: "the task has ended"})
	if s := d.f.Step(); s != nil {
		if s.Until != nil && !s.Done {
			d.wake(*s.Until, stepKey(s.Step), true /* remove */)
		}
		for _, c := range s.Progress {
			if c.State == fold.CallDone {
				continue
			}
			outcome, why := task.OutcomeCanceled, "the task has ended"
			if c.Attempt > 0 {
				outcome, why = task.OutcomeUnknown, "the task has ended; the call had been started, and its outcome is unknown"
			}
			if c.State == fold.CallRunning {
				// Its process may be gone, or die before it has stopped the call's remote
				// work.
				d.stopChild(c, ChildCancel{Kept: true})
			}
			d.finish(c, ending{outcome: outcome, problem: why})
		}
	}
	d.fence = true
	d.launch = nil
	var m *a2a.Message
	if says != "" {
		m = d.rules.message(says)
	}
	d.end(state, m)
}

// stopWork is addChildCancel for a run that ended with an error while the work that it had
// started continues.
func (d *Draft) stopWork(c *fold.Call, in *RunEnded) {
	switch {
	case !in.Stop:
		return
	case in.Suspension != nil && in.Keeps:
		d.stopChild(c, ChildCancel{State: in.Suspension.State})
		return
	}
	d.addChildCancel(c)
}

// CancelCall is the [Input] that cancels one call of a task; the task continues. A call that
// has not started ends canceled. A running call is told to stop once the cancel is durable. It
// ends with its result if it returns one, canceled if its tool returns [tool.ErrNoEffect], and
// otherwise with an unknown outcome. A call that was entered and does not run ends with an
// unknown outcome, too. Canceling a call again changes nothing.
type CancelCall struct {
	By   auth.Principal
	Via  string // a Via constant of package approval
	Call string // id, or the alias that its caller chose
}

func (in CancelCall) put(d *Draft) error { return d.cancelCalls(in.By, in.Via, []string{in.Call}, nil) }

// cancelCalls cancels calls. received, if not nil, is the message that wants it.
func (d *Draft) cancelCalls(by auth.Principal, via string, names []string, received *event.MessageReceived) error {
	var calls []*fold.Call
	for _, name := range names {
		c, also := d.f.Named(name)
		switch {
		case also != nil:
			return task.Invalid("call", "is the name of several calls of task %s, such as %s, %s: use the id of one", d.f.Header.Task, c.ID, also.ID)
		case c == nil:
			return task.Invalid("call", "names no call of task %s", d.f.Header.Task)
		case c.Canceled:
			continue
		case d.f.Header.Phase == store.Final:
			return &task.StateError{Task: d.f.Header.Task, State: d.f.View.State(), Ended: Ended(d.f), NotCancelable: received == nil}
		case c.State == fold.CallDone:
			return task.Invalid("call", "names %s, which has ended (%s) and cannot be canceled", c.ID, c.Outcome)
		}
		calls = append(calls, c)
	}
	if len(calls) == 0 {
		return ErrNoChange
	}
	if received != nil {
		received.For = event.ForDecision
		if err := d.receive(received); err != nil {
			return err
		}
	}
	for _, c := range calls {
		if c.Canceled {
			continue // named twice
		}
		d.cancelCall(by, via, c)
	}
	return nil
}

// cancelCall cancels a call that has not ended.
func (d *Draft) cancelCall(by auth.Principal, via string, c *fold.Call) {
	d.record(approval.Audit{What: approval.AuditCanceled, Call: c.ID, Tool: c.Tool, By: by, Via: via, Reason: canceledCall})
	d.add(event.KindCallCancel, &event.CallCancel{Call: c.ID, By: by, Via: via})
	d.settles = true // a cancel does not wait for a turn
	d.resolveAll(c, approval.Canceled, approval.Resolution{By: by, Via: via, At: d.at.Now, Reason: canceledCall})
	if c.State == fold.CallRunning || c.State == fold.CallDone {
		return // its run is told to stop; the end of the run ends the call
	}
	d.endCanceled(c, "", nil)
}

// ranCanceled ends a canceled call with the end of its run, which returned no result. Work
// that it has running elsewhere is stopped.
func (d *Draft) ranCanceled(c *fold.Call, in *RunEnded) {
	switch {
	case in.NoEffect && c.Attempt == 1 && c.Repeats == 0 && c.Suspended == 0 && !c.Checkpoint: // its only run
		d.finish(c, ending{outcome: task.OutcomeCanceled, problem: fmt.Sprintf("%s: %v", canceledCall, in.Err), delta: in.Delta, actions: in.Actions})
		return
	case in.Stop:
		d.stopWork(c, in)
	case in.Suspension != nil && in.Suspension.State != nil:
		d.stopChild(c, ChildCancel{State: in.Suspension.State})
	default:
		d.addChildCancel(c)
	}
	why := ""
	if err := errors.Join(in.GivenUp, in.Err); err != nil {
		why = err.Error()
	}
	d.endCanceled(c, why, in.Actions)
}
