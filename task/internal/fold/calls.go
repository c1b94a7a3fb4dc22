package fold

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/task"
)

// Calls returns every call of the task, in the order in which they were planned. They share
// memory with the fold and must not be changed.
func (f *Fold) Calls() []task.CallStatus {
	var all []task.CallStatus
	at := map[string]int{}
	for _, s := range f.Steps {
		for _, c := range s.Progress {
			at[c.ID] = len(all)
			all = append(all, task.CallStatus{
				ID: c.ID, Tool: c.Tool, Args: c.Args, Mask: c.Mask, State: string(c.State), Attempt: c.Attempt,
				Outcome: c.Outcome, Result: c.Result, Error: c.Error, Canceled: c.Canceled,
			})
		}
	}
	for _, a := range f.Approvals {
		if i, ok := at[a.Call]; ok {
			all[i].Approvals = append(all[i].Approvals, a.ID)
			all[i].Mask = approval.Union(all[i].Mask, a.Terms.Mask)
		}
	}
	return all
}

// KeepsTask reports whether gates of a call that was asked about keep the task, see [approval.Terms].
func (f *Fold) KeepsTask() bool {
	return slices.ContainsFunc(f.Approvals, func(a *Approval) bool { return a.Terms.MaskTask })
}

// Call returns a call of the task, nil if there is none with that id.
func (f *Fold) Call(id string) *Call {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		for _, c := range f.Steps[i].Progress {
			if c.ID == id {
				return c
			}
		}
	}
	return nil
}

// Named returns the call with an id or alias, or nil, and a second call with that name, if
// any.
func (f *Fold) Named(name string) (c, also *Call) {
	if name == "" {
		return nil, nil
	}
	for _, s := range f.Steps {
		for _, o := range s.Progress {
			switch {
			case o.ID != name && o.Alias != name:
			case c == nil:
				c = o
			default:
				return c, o
			}
		}
	}
	return c, nil
}

// Canceling reports whether a call was canceled while it ran.
func (f *Fold) Canceling(id string) bool {
	c := f.Call(id)
	return c != nil && c.Canceled && c.State == CallRunning
}

// Planned returns the arguments of a call as the planner gave them.
func (f *Fold) Planned(id string) json.RawMessage {
	for i := len(f.Steps) - 1; i >= 0; i-- {
		for _, c := range f.Steps[i].Calls {
			if c.ID == id {
				return c.Args
			}
		}
	}
	return nil
}

// Takes reports whether a name may become the alias of a call: it cannot be mistaken for
// an id of ours, and no call of the task has had it.
func (f *Fold) Takes(alias string) bool {
	if approval.LooksLikeOurID(alias) {
		return false
	}
	for _, s := range f.Steps {
		for _, c := range s.Calls {
			if c.Alias == alias {
				return false
			}
		}
	}
	return true
}

// Kept returns the state that a call of the task kept for its next entry, and whether it has
// kept one.
func (f *Fold) Kept(call string) (state json.RawMessage, kept bool) {
	c := f.Call(call)
	if c == nil || c.Suspended == 0 && !c.Checkpoint {
		return nil, false
	}
	return c.ToolState, true
}

// Busy returns how many calls have been started and have no outcome yet.
func (f *Fold) Busy() int {
	n := 0
	for range f.Running() {
		n++
	}
	return n
}

// Running returns the ids of the calls that have been started and have no outcome yet.
func (f *Fold) Running() iter.Seq[string] {
	return func(yield func(string) bool) {
		s := f.Step()
		if s == nil {
			return
		}
		for _, c := range s.Progress {
			if c.State == CallRunning && !yield(c.ID) {
				return
			}
		}
	}
}

// Finished reports whether nothing of the step is left to do.
func (s *Step) Finished() bool {
	if s.Ask != nil || s.Until != nil {
		return s.Done
	}
	for _, c := range s.Progress {
		if c.State != CallDone {
			return false
		}
	}
	return true
}

// maxAccount is how many calls the account of an ended task lists.
const maxAccount = 20

// Account describes the outcome of each call that was started, so that a canceled task is not
// mistaken for a task without effects.
func (f *Fold) Account() []string {
	var says []string
	more := 0
	for _, s := range f.Steps {
		for _, c := range s.Progress {
			if c.Attempt == 0 {
				continue // it never ran
			}
			if len(says) == maxAccount {
				more++
				continue
			}
			says = append(says, fmt.Sprintf("%s (%s) had been started; %s.", c.Tool, c.ID, c.came()))
		}
	}
	if more > 0 {
		says = append(says, fmt.Sprintf("%d more calls had been started.", more))
	}
	return says
}

// came describes the outcome of a call that had been started when its task ends.
func (c *Call) came() string {
	switch {
	case c.State == CallWaiting, c.Paused:
		return "it was suspended; its effects until then remain"
	case c.State != CallDone:
		return "its outcome is unknown"
	}
	switch c.Outcome {
	case task.OutcomeOK:
		return "it has finished"
	case task.OutcomeResponded:
		return "a person supplied its result"
	case task.OutcomeUnknown:
		return "its outcome is unknown"
	case task.OutcomeError, task.OutcomeInvalid, task.OutcomeDenied, task.OutcomeRejected, task.OutcomeExpired, task.OutcomeCanceled:
		if c.Cause != "" {
			return "its outcome is unknown"
		}
	}
	return "it ended with an error: " + visible.Shorten(c.Error, 200)
}
