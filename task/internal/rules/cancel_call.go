package rules

import (
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

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

// canceledCall is the reason given to the approvals and the result of a canceled call.
const canceledCall = "the call was canceled"

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
			return &task.StateError{Task: d.f.Header.Task, State: d.f.View.State(), NotCancelable: received == nil}
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
		if err := d.cancelCall(by, via, c); err != nil {
			return err
		}
	}
	return nil
}

// cancelCall cancels a call that has not ended.
func (d *Draft) cancelCall(by auth.Principal, via string, c *fold.Call) error {
	if err := d.record(approval.Audit{What: approval.AuditCanceled, Call: c.ID, Tool: c.Tool, By: by, Via: via, Reason: canceledCall}); err != nil {
		return err
	}
	if err := d.add(event.KindCallCancel, &event.CallCancel{Call: c.ID, By: by, Via: via}); err != nil {
		return err
	}
	d.settles = true // a cancel does not wait for a turn
	if err := d.resolveAll(c, approval.Canceled, approval.Resolution{By: by, Via: via, At: d.at.Now, Reason: canceledCall}); err != nil {
		return err
	}
	if c.State == fold.CallRunning || c.State == fold.CallDone {
		return nil // its run is told to stop; the end of the run ends the call
	}
	return d.endCanceled(c, "")
}

// endCanceled ends a canceled call that no longer runs. why adds detail to its result.
func (d *Draft) endCanceled(c *fold.Call, why string) error {
	if c.Attempt == 0 {
		return d.finish(c, task.OutcomeCanceled, nil, canceledCall, nil)
	}
	text := canceledCall + " after it had started, and its outcome is unknown"
	if why != "" {
		text += ": " + why
	}
	return d.finish(c, task.OutcomeUnknown, nil, text, nil)
}

// ranCanceled ends a canceled call with the end of its run, which returned no result. Work
// that it has running elsewhere is stopped.
func (d *Draft) ranCanceled(c *fold.Call, in *RunEnded) error {
	switch {
	case in.NoEffect && c.Attempt == 1 && c.Repeats == 0 && c.Suspended == 0 && !c.Checkpoint: // its only run
		return d.finish(c, task.OutcomeCanceled, nil, fmt.Sprintf("%s: %v", canceledCall, in.Err), in.Delta)
	case in.Stop:
		if err := d.stopWork(c, in); err != nil {
			return err
		}
	case in.Suspension != nil && in.Suspension.State != nil:
		if err := d.stopChild(c, ChildCancel{State: in.Suspension.State}); err != nil {
			return err
		}
	default:
		if err := d.addChildCancel(c); err != nil {
			return err
		}
	}
	why := ""
	if err := errors.Join(in.GivenUp, in.Err); err != nil {
		why = err.Error()
	}
	return d.endCanceled(c, why)
}

// diedCanceled ends a canceled call whose process is gone.
func (d *Draft) diedCanceled(c *fold.Call) error {
	if err := d.addChildCancel(c); err != nil {
		return err
	}
	return d.endCanceled(c, "the server stopped while it ran")
}
