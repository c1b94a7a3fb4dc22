package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
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
	return d.cancelAll("", in.By)
}

// cancelAll cancels the task with all its open calls and approvals. by is the requester; the
// zero Principal if the server itself cancels it.
func (d *Draft) cancelAll(why string, by auth.Principal) error {
	if err := d.record(approval.Audit{What: approval.AuditCanceled, Reason: why, By: by}); err != nil {
		return err
	}
	says := d.f.Account()
	if why != "" {
		says = append([]string{"The task was canceled: " + why + "."}, says...)
	}
	return d.endAll(a2a.TaskStateCanceled, strings.Join(says, "\n"))
}

// Fail is the [Input] that ends a task that cannot continue: better failed than working
// forever. It calls no planner, tool or presenter, because any of them may be the cause.
type Fail struct{ Cause error }

func (in Fail) put(d *Draft) error {
	if d.f.Header.Phase == store.Final {
		return ErrNoChange
	}
	why := visible.Shorten(in.Cause.Error(), fold.MaxProblem)
	if err := d.fault(why); err != nil {
		return err
	}
	says := append([]string{"The task failed: " + why}, d.f.Account()...)
	return d.endAll(a2a.TaskStateFailed, strings.Join(says, "\n"))
}

// endAll ends the task in a state, with all its open calls and approvals. The fence cuts off
// the instance that runs it. says, if not empty, is the message of the status.
func (d *Draft) endAll(state a2a.TaskState, says string) error {
	if err := d.resolveAll(nil, approval.Canceled, approval.Resolution{Via: approval.ViaSystem, At: d.at.Now, Reason: "the task has ended"}); err != nil {
		return err
	}
	if s := d.f.Step(); s != nil {
		if s.Until != nil && !s.Done {
			d.wake(*s.Until, stepKey(s.Step), true /* remove */)
		}
		for _, c := range s.Progress {
			if c.State == fold.CallDone {
				continue
			}
			outcome, why := task.OutcomeCanceled, "the task has ended"
			if c.Attempt > 0 && !c.Paused {
				outcome, why = task.OutcomeUnknown, "the task has ended; the call had been started, and its outcome is unknown"
			}
			if c.State == fold.CallRunning {
				// Its process may be gone, or die before it has stopped the call's remote
				// work.
				if err := d.stopChild(c, ChildCancel{Kept: true}); err != nil {
					return err
				}
			}
			if err := d.finish(c, outcome, nil, why, nil); err != nil {
				return err
			}
		}
	}
	d.fence = true
	d.launch = nil
	var m *a2a.Message
	if says != "" {
		m = d.rules.message(says)
	}
	return d.end(state, m)
}

// ChildCancel is the payload of due work of kind [task.DueChildCancel].
type ChildCancel struct {
	Tool  string          `json:"tool"`
	Call  string          `json:"call"`
	State json.RawMessage `json:"state,omitempty"`
	// Kept replaces State by the state that the log has for the call at the end of its task.
	// It may be newer than the state known when the task was ended. Without a kept state,
	// there is nothing to cancel.
	Kept bool `json:"kept,omitempty"`
	Try  int  `json:"try,omitempty"`
	Down int  `json:"down,omitempty"` // tries in a row that did not find the tool
}

// How often the engine tries to cancel the work that a call has running elsewhere: so many
// times if the tool fails; if the tool cannot be looked up, for about a day.
const (
	childTries = 8
	childDown  = 100
)

// cancelChild adds due work that cancels the remote work of a suspended call.
func (d *Draft) cancelChild(c *fold.Call) error {
	if c.State == fold.CallRunning {
		return nil // it is canceled through its context
	}
	return d.addChildCancel(c)
}

// addChildCancel is cancelChild for a call in any state.
func (d *Draft) addChildCancel(c *fold.Call) error {
	state, kept := d.f.Kept(c.ID)
	if !kept {
		return nil
	}
	return d.stopChild(c, ChildCancel{State: state})
}

// stopWork is cancelChild for a run that ended with an error while the work that it had
// started continues.
func (d *Draft) stopWork(c *fold.Call, in *RunEnded) error {
	switch {
	case !in.Stop:
		return nil
	case in.Suspension != nil && in.Keeps:
		return d.stopChild(c, ChildCancel{State: in.Suspension.State})
	}
	return d.addChildCancel(c)
}

// stopChild adds due work that cancels the remote work of a call, with the state in p.
func (d *Draft) stopChild(c *fold.Call, p ChildCancel) error {
	if !d.hasChildren(c) {
		return nil
	}
	p.Tool, p.Call = c.Tool, c.ID
	return d.cancelLater(p, 0)
}

// cancelLater adds due work that cancels the remote work of a call after a pause.
func (d *Draft) cancelLater(p ChildCancel, pause time.Duration) error {
	payload, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode child cancel: %w", err)
	}
	d.due = append(d.due, store.DueChange{Time: store.MillisOf(d.at.Now.Add(pause)), Kind: task.DueChildCancel, Key: []byte(p.Call), Payload: payload})
	return nil
}

// hasChildren reports whether the tool of a call is a [tool.JobStopper]. A tool that cannot be looked up
// now may be one; one that panics cannot be called.
func (d *Draft) hasChildren(c *fold.Call) (has bool) {
	defer func() { _ = recover() }()
	l := d.look(c)
	if l.entry == nil {
		return l.trouble != nil // else the tool is gone, and with it the way to its children
	}
	_, has = tool.As[tool.JobStopper](l.entry.Tool)
	return has
}

// ChildCancelResult is the result of due work of kind [task.DueChildCancel].
type ChildCancelResult struct {
	Row         store.Due
	Failed      error // nil: it was canceled
	Unreachable bool  // Failed says that the tool could not be looked up
	Nothing     bool  // there was nothing to cancel
}

func (in ChildCancelResult) put(d *Draft) error {
	var p ChildCancel
	if err := json.Unmarshal(in.Row.Payload, &p); err != nil {
		return fmt.Errorf("decode child cancel: %w", err)
	}
	if err := d.drop(in.Row); err != nil || in.Nothing {
		return err
	}
	pause := time.Second << (p.Try + 1)
	if p.Down++; in.Unreachable {
		pause = backoff(p.Down, firstRetry, maxRetry)
	} else {
		p.Try++
		p.Down = 0
	}
	if in.Failed != nil && p.Try < childTries && p.Down < childDown {
		return d.cancelLater(p, pause)
	}
	entry := approval.Audit{What: approval.AuditCanceled, Call: p.Call, Tool: p.Tool}
	if in.Failed != nil {
		entry.Reason = "gave up canceling its remote work: " + in.Failed.Error()
	}
	return d.record(entry)
}
