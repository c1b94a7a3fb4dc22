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

func (in Cancel) put(add additions, b basis) (additions, error) {
	if b.Header.Phase == store.Final {
		if b.Header.State == task.StateCanceled {
			return add, ErrNoChange
		}
		return add, &task.StateError{Task: b.Header.Task, State: b.View.State(), NotCancelable: true}
	}
	return cancelAll(add, b, "", in.By), nil
}

// cancelAll cancels the task with all its open calls and approvals. by is the requester; the
// zero Principal if the server itself cancels it.
func cancelAll(add additions, b basis, why string, by auth.Principal) additions {
	add.record(b, approval.Audit{What: approval.AuditCanceled, Reason: why, By: by})
	says := b.Account()
	canceler := ""
	if !by.IsZero() && (by.Subject != b.Owner.Subject || by.Tenant != b.Owner.Tenant) {
		canceler = " by " + strconv.Quote(visible.Line(by.Subject))
	}
	if why != "" {
		why = ": " + why
	}
	if canceler+why != "" {
		says = append([]string{"The task was canceled" + canceler + why + "."}, says...)
	}
	return endAll(add, b, a2a.TaskStateCanceled, strings.Join(says, "\n"))
}

// Fail is the [Input] that ends a task that cannot continue: better failed than working
// forever. It calls no planner, tool or presenter, because any of them may be the cause.
type Fail struct{ Cause error }

func (in Fail) put(add additions, b basis) (additions, error) {
	if b.Header.Phase == store.Final {
		return add, ErrNoChange
	}
	why := visible.Shorten(in.Cause.Error(), fold.MaxProblem)
	add = fault(add, b, why)
	says := append([]string{"The task failed: " + why}, b.Account()...)
	return endAll(add, b, a2a.TaskStateFailed, strings.Join(says, "\n")), nil
}

// endAll ends the task in a state, with all its open calls and approvals. The fence cuts off
// the instance that runs it. says, if not empty, is the message of the status.
func endAll(add additions, b basis, state a2a.TaskState, says string) additions {
	add = resolveAll(add, b, nil, approval.Canceled, approval.Resolution{Via: approval.ViaSystem, At: b.Now, Reason: "the task has ended"})
	if s := b.Step(); s != nil {
		if s.Until != nil && !s.Done {
			add.due = append(add.due, removed(wakeup(*s.Until, stepKey(s.Step))))
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
				add = stopChild(add, b, c, ChildCancel{Kept: true})
			}
			add = finish(add, b, c, ending{outcome: outcome, problem: why})
		}
	}
	add.fence = true
	add.launch = nil
	var m *a2a.Message
	if says != "" {
		m = b.message(says)
	}
	return endTask(add, b, state, m)
}

// stopWork is addChildCancel for a run that ended with an error while the work that it had
// started continues.
func stopWork(add additions, b basis, c *fold.Call, in *RunEnded) additions {
	switch {
	case !in.Stop:
		return add
	case in.Suspension != nil && in.Keeps:
		return stopChild(add, b, c, ChildCancel{State: in.Suspension.State})
	}
	return addChildCancel(add, b, c)
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

func (in CancelCall) put(add additions, b basis) (additions, error) {
	return cancelCalls(add, b, in.By, in.Via, []string{in.Call}, nil)
}

// cancelCalls cancels calls. received, if not nil, is the message that wants it.
func cancelCalls(add additions, b basis, by auth.Principal, via string, names []string, received *event.MessageReceived) (additions, error) {
	var calls []*fold.Call
	for _, name := range names {
		c, also := b.Named(name)
		switch {
		case also != nil:
			return add, task.Invalid("call", "is the name of several calls of task %s, such as %s, %s: use the id of one", b.Header.Task, c.ID, also.ID)
		case c == nil:
			return add, task.Invalid("call", "names no call of task %s", b.Header.Task)
		case c.Canceled:
			continue
		case b.Header.Phase == store.Final:
			return add, &task.StateError{Task: b.Header.Task, State: b.View.State(), Ended: Ended(b.Fold), NotCancelable: received == nil}
		case c.State == fold.CallDone:
			return add, task.Invalid("call", "names %s, which has ended (%s) and cannot be canceled", c.ID, c.Outcome)
		}
		calls = append(calls, c)
	}
	if len(calls) == 0 {
		return add, ErrNoChange
	}
	if received != nil {
		if err := add.message(b, received, event.ForDecision); err != nil {
			return add, err
		}
	}
	for _, c := range calls {
		if c.Canceled {
			continue // named twice
		}
		add = cancelCall(add, b, by, via, c)
	}
	return add, nil
}

// cancelCall cancels a call that has not ended.
func cancelCall(add additions, b basis, by auth.Principal, via string, c *fold.Call) additions {
	add.record(b, approval.Audit{What: approval.AuditCanceled, Call: c.ID, Tool: c.Tool, By: by, Via: via, Reason: canceledCall})
	add.event(b, event.KindCallCancel, &event.CallCancel{Call: c.ID, By: by, Via: via})
	add.settles = true // a cancel does not wait for a turn
	add = resolveAll(add, b, c, approval.Canceled, approval.Resolution{By: by, Via: via, At: b.Now, Reason: canceledCall})
	if c.State == fold.CallRunning || c.State == fold.CallDone {
		return add // its run is told to stop; the end of the run ends the call
	}
	return endCanceled(add, b, c, "", nil)
}

// ranCanceled ends a canceled call with the end of its run, which returned no result. Work
// that it has running elsewhere is stopped.
func ranCanceled(add additions, b basis, c *fold.Call, in *RunEnded) additions {
	switch {
	case in.NoEffect && c.Attempt == 1 && c.Repeats == 0 && c.Suspended == 0 && !c.Checkpoint: // its only run
		return finish(add, b, c, ending{outcome: task.OutcomeCanceled, problem: fmt.Sprintf("%s: %v", canceledCall, in.Err), delta: in.Delta, actions: in.Actions})
	case in.Stop:
		add = stopWork(add, b, c, in)
	case in.Suspension != nil && in.Suspension.State != nil:
		add = stopChild(add, b, c, ChildCancel{State: in.Suspension.State})
	default:
		add = addChildCancel(add, b, c)
	}
	why := ""
	if err := errors.Join(in.GivenUp, in.Err); err != nil {
		why = err.Error()
	}
	return endCanceled(add, b, c, why, in.Actions)
}
