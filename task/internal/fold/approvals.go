package fold

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
)

// Approval is an approval, pending or not.
type Approval struct {
	approval.Approval
	// Opened reports that the confirmation provider's exclusive time to decide it is over.
	Opened bool `json:"opened,omitempty"`
	// Void: it was asked before the store was restored from a backup, and lets nothing run.
	Void bool `json:"void,omitempty"`
}

// GrantedDigest returns the digest of what was approved, which an edit may have changed. An edit of a
// tool's question has none: only the tool reads it.
func (a *Approval) GrantedDigest() string {
	if a.State == approval.Edited && a.Ask == "" {
		return a.Resolution.Digest
	}
	return a.Digest
}

// Approval returns an approval of the task, nil if there is none with that id.
func (f *Fold) Approval(id string) *Approval {
	return f.Newest(func(a *Approval) bool { return a.ID == id })
}

// Newest returns the newest approval for which is returns true, nil if there is none.
func (f *Fold) Newest(is func(*Approval) bool) *Approval {
	for _, a := range slices.Backward(f.Approvals) {
		if is(a) {
			return a
		}
	}
	return nil
}

// Asked reports whether approval of a call was ever requested.
func (f *Fold) Asked(call string) bool {
	return slices.ContainsFunc(f.Approvals, func(a *Approval) bool { return a.Call == call })
}

// AllApprovals returns every approval of the task, oldest first.
func (f *Fold) AllApprovals() []*approval.Approval {
	all := make([]*approval.Approval, len(f.Approvals))
	for i, a := range f.Approvals {
		all[i] = &a.Approval
	}
	return all
}

// Pending returns the approvals that wait for an answer, oldest first. They are the
// fold's own and must not be changed.
func (f *Fold) Pending() []*approval.Approval {
	var pending []*approval.Approval
	for _, a := range f.Approvals {
		if a.State == approval.Pending {
			pending = append(pending, &a.Approval)
		}
	}
	return pending
}

// Granted returns the approval under which a call may be entered: the newest approval with a
// decision to run it, or to run it again, and with all votes that it needs. It returns nil if there
// is none.
func (f *Fold) Granted(c *Call) *Approval {
	return f.Newest(func(a *Approval) bool {
		return a.Call == c.ID && a.Ask == "" && !a.Void && (a.State == approval.Approved || a.Kind == approval.KindCall && a.State == approval.Edited) &&
			a.Met(a.GrantedDigest())
	})
}

// ApprovalOf returns the newest approval that asks whether a call may run, or nil.
func (f *Fold) ApprovalOf(c *Call) *Approval {
	return f.Newest(func(a *Approval) bool { return a.Call == c.ID && a.Ask == "" && a.Kind == approval.KindCall })
}

// Open returns the approval of a question that the call asked before it was resumed, if the
// tool has not received the answer: pending, or decided while the tool ran. It returns nil
// without such a question.
func (f *Fold) Open(c *Call, ask string) *Approval {
	for _, o := range c.Open {
		if o.Ask != ask {
			continue
		}
		if a := f.Approval(o.Approval); a != nil && a.State != approval.Superseded {
			return a
		}
	}
	return nil
}

// Undecided reports whether a call has a pending confirmation: an earlier decision does not
// answer it.
func (f *Fold) Undecided(c *Call) bool {
	return slices.ContainsFunc(slices.Concat(c.Asks, c.Open), func(ask event.SuspendedAsk) bool {
		a := f.Approval(ask.Approval)
		return a != nil && a.State == approval.Pending && tool.QuestionKind(a.AskKind).Authorizes()
	})
}

// WaitsMeanwhile reports whether the task waits for input although it has a turn: each of its
// running calls is held, or was woken by its timer while the task waited and one of its
// questions is still open. A tool that checks its work from time to time does not change the
// task's state each time.
func (f *Fold) WaitsMeanwhile() bool {
	return f.everyRunning(func(c *Call) bool {
		return c.Held != "" || f.SaysItWaits() && slices.ContainsFunc(c.Open, func(o event.SuspendedAsk) bool {
			a := f.Approval(o.Approval)
			return a != nil && a.State == approval.Pending
		})
	})
}

// everyRunning reports whether calls run, and all of them are such.
func (f *Fold) everyRunning(is func(*Call) bool) bool {
	n := 0
	for id := range f.Running() {
		if n++; !is(f.Call(id)) {
			return false
		}
	}
	return n > 0
}

// SaysItWaits reports whether the task's state is input-required or auth-required.
func (f *Fold) SaysItWaits() bool {
	return f.Header.State == task.StateInputRequired || f.Header.State == task.StateAuthRequired
}

// SaysItWaited reports whether the task's state is working, and its status message asks about an approval
// that has ended, or names a decision elsewhere for which no call waits any longer: clients would
// believe that the task still waits for it.
func (f *Fold) SaysItWaited() bool {
	return f.Header.State == task.StateWorking && (f.SaysCallsWaited() || slices.ContainsFunc(f.Approvals, func(a *Approval) bool {
		return a.State != approval.Pending && f.asks(&a.Approval)
	}))
}

// SaysCallsWaited reports whether the status message names a decision elsewhere that is over.
func (f *Fold) SaysCallsWaited() bool {
	s := f.Step()
	return s != nil && slices.ContainsFunc(s.Progress, func(c *Call) bool {
		return !c.waiting() && slices.ContainsFunc(c.Waits, func(w tool.Waiting) bool { return f.View.Says(`"id":"` + w.ID + `"`) })
	})
}

// waiting reports whether the work of a call waits for decisions elsewhere.
func (c *Call) waiting() bool { return c.State == CallWaiting && !c.Looked && len(c.Waits) > 0 }

// WaitsAgain reports whether a call that waits for decisions elsewhere was suspended before.
func (f *Fold) WaitsAgain() bool {
	s := f.Step()
	return s != nil && slices.ContainsFunc(s.Progress, func(c *Call) bool { return c.waiting() && c.Suspended > 1 })
}

// maxWaits is how many decisions elsewhere a status names.
const maxWaits = 16

// Waits returns the decisions elsewhere for which calls of the task wait, in the order of the calls.
func (f *Fold) Waits() (all []tool.Waiting) {
	s := f.Step()
	if s == nil {
		return nil
	}
	for _, c := range s.Progress {
		if c.waiting() {
			all = append(all, c.Waits...)
		}
	}
	return all[:min(len(all), maxWaits)]
}

// SaysItWaitsFor reports whether the status message asks about all of these approvals.
func (f *Fold) SaysItWaitsFor(pending []*approval.Approval) bool {
	return !slices.ContainsFunc(pending, func(a *approval.Approval) bool { return !f.asks(a) })
}

// asks reports whether the status message asks about an approval, in any dialect.
func (f *Fold) asks(a *approval.Approval) bool { return f.View.Says(`"id":"` + a.ID + `"`) }

// RequesterOf returns the requester of a call, with every principal that edited its arguments.
// Under four eyes none of them gives another approval of it.
func (f *Fold) RequesterOf(c *Call) auth.Principal {
	by := f.Sender()
	for _, editor := range f.EditorsOf(c) {
		by = by.With(editor)
	}
	return by
}

// EditorsOf returns the principals that edited the arguments of a call, each once.
func (f *Fold) EditorsOf(c *Call) (all []auth.Principal) {
	for _, a := range f.Approvals {
		if a.Call != c.ID || a.Resolution == nil || a.Resolution.Decision != approval.Edit {
			continue
		}
		by := a.Resolution.By
		if !slices.ContainsFunc(all, func(p auth.Principal) bool { return reflect.DeepEqual(p, by) }) {
			all = append(all, by)
		}
	}
	return all
}

// EditAsksAgain is the reason for superseding an approval whose edit needs another approval.
const EditAsksAgain = "the edited call needs another approval"

// DecisionOn returns a person's last decision about a call, and its reason: see [task.Result].
func (f *Fold) DecisionOn(call string) (decision approval.DecisionType, note string) {
	for _, a := range f.Approvals {
		if a.Call != call || a.Kind == approval.KindQuestion || a.Resolution == nil || a.Resolution.Decision == "" {
			continue
		}
		r := a.Resolution
		said := r.Reason
		if a.State == approval.Superseded {
			said = strings.TrimPrefix(strings.TrimPrefix(said, EditAsksAgain), ": ")
		}
		if decision != approval.Edit || r.Decision != approval.Approve {
			decision, note = r.Decision, said
		}
	}
	return decision, visible.Shorten(visible.Text(note), MaxProblem)
}

// Names returns the ids and aliases of all calls of the task, if an answer may name a call.
func (f *Fold) Names(answers []approval.Decision) approval.Names {
	if !slices.ContainsFunc(answers, func(a approval.Decision) bool { return a.ByCall }) {
		return nil
	}
	names := approval.Names{}
	for _, s := range f.Steps {
		for _, c := range s.Calls {
			names.Add(c.ID, c.Alias)
		}
	}
	return names
}

// HeldAnswer returns the answer to a question that holds a call, and false while there is no
// answer. The error says why there never will be one; it wraps [tool.ErrNoAnswer].
func (f *Fold) HeldAnswer(id string, asked tool.Question) (tool.Answer, bool, error) {
	a := f.Approval(id)
	if a == nil {
		return tool.Answer{}, true, fmt.Errorf("%w: it was not asked", tool.ErrNoAnswer)
	}
	switch a.State {
	case approval.Pending:
		return tool.Answer{}, false, nil
	case approval.Responded, approval.Rejected, approval.Expired:
		return tool.Answer{Ask: asked, State: string(a.State), Response: a.Resolution.Response, Reason: a.Resolution.Reason, Payload: a.Resolution.Payload}, true, nil
	case approval.Canceled, approval.Superseded, approval.Approved, approval.Edited:
	}
	return tool.Answer{}, true, fmt.Errorf("%w: %s", tool.ErrNoAnswer, a.Resolution.Reason)
}

// HeldUntil returns the deadline of a question that holds a call, in UTC. It is zero if
// there is none.
func (f *Fold) HeldUntil(id string) time.Time {
	if a := f.Approval(id); a != nil && a.Deadline != nil {
		return *a.Deadline
	}
	return time.Time{}
}

// Holds reports whether every running call of the task is held, so that the task's turn
// only waits.
func (f *Fold) Holds() bool { return f.everyRunning(func(c *Call) bool { return c.Held != "" }) }
