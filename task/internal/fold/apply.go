package fold

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// Apply folds one event that is in the log, or about to be appended. It counts the event in
// Header.Seq and Header.Bytes.
func (f *Fold) Apply(e *store.Event) error {
	if e.Public {
		if err := f.View.Apply(e.Kind, e.Data); err != nil {
			return err
		}
		f.Count(len(e.Data))
		return nil
	}
	v, err := event.Decode(e.Kind, e.Data)
	if err != nil {
		return err
	}
	if err := f.ApplyPrivate(v); err != nil {
		return err
	}
	f.Count(len(e.Data))
	return nil
}

// ApplyView folds only the part of an event that clients see.
func (f *Fold) ApplyView(e *store.Event) error {
	if e.Public {
		return f.View.Apply(e.Kind, e.Data)
	}
	if e.Kind != event.KindMessage {
		return nil
	}
	m, reader, err := event.ReadMessage(e.Data)
	if err != nil {
		return fmt.Errorf("decode event %s: %w", e.Kind, err)
	}
	f.View.AddMessage(bytes.Clone(m))
	f.View.Answered(reader != event.ForNobody)
	return nil
}

// ApplyPrivate folds the struct of a private event.
func (f *Fold) ApplyPrivate(v any) error {
	switch e := v.(type) {
	case *event.MessageReceived:
		if len(f.Messages) == 0 {
			f.Owner = e.By
		} else if r, changed := sentBy(f.Sender(), e.By); changed {
			f.Requester = &r
		}
		f.Messages = append(f.Messages, received{Message: e.Message, Hash: e.Hash, For: e.For, Step: len(f.Steps)})
		f.View.AddMessage(e.Message)
		f.View.Answered(e.For != event.ForNobody)
		for _, id := range e.WrongCodes {
			f.change(id, func(a *Approval) { a.WrongCodes++ })
		}
		if s := f.Step(); s != nil && s.Ask != nil && e.For == event.ForPlanner {
			s.Done = true
		}
	case *event.StepPlanned:
		s := &Step{StepPlanned: *e}
		for _, c := range e.Calls {
			s.Progress = append(s.Progress, &Call{PlannedCall: c, State: CallPlanned})
		}
		f.Steps = append(f.Steps, s)
	case *event.WaitElapsed:
		if s := f.Step(); s != nil && s.Step == e.Step {
			s.Done = true
		}
	case *approval.Approval:
		return f.applyAsked(e)
	case *event.ApprovalVoted:
		f.change(e.ID, func(a *Approval) { a.Votes, a.Waits = append(a.Votes, e.Vote), e.Waits })
	case *event.ApprovalResolved:
		return f.applyResolved(e)
	case *event.ApprovalKept:
		f.change(e.ID, func(a *Approval) { a.Deadline = nil })
	case *event.ApprovalExtended:
		f.change(e.ID, func(a *Approval) { a.Deadline, a.Extensions = new(e.Until), a.Extensions+1 })
	case *event.ApprovalReminded:
		f.change(e.ID, func(a *Approval) { a.Reminded = new(e.At) })
	case *event.ApprovalEscalated:
		f.change(e.ID, func(a *Approval) { a.Escalated, a.Waits = new(e.At), e.Waits })
	case *event.ApprovalOpened:
		f.change(e.ID, func(a *Approval) { a.Opened = true })
	case *event.AuditKey:
		f.AuditKey = e.Key
	case *event.TaskRestored:
		restored(f, e)
	case *event.TurnFailed:
	case *event.PushSet:
		f.dropWebhook(e.ID)
		f.Webhooks, f.WebhooksSet = append(f.Webhooks, webhookID{e.ID, e.N}), e.N
	case *event.PushDeleted:
		f.dropWebhook(e.ID)
	case event.OfCall:
		return f.applyCall(e)
	default:
		return fmt.Errorf("fold: %T is no private event", v)
	}
	return nil
}

// change changes an approval; without it, nothing changes.
func (f *Fold) change(id string, to func(*Approval)) {
	if a := f.Approval(id); a != nil {
		to(a)
	}
}

func (f *Fold) applyAsked(a *approval.Approval) error {
	asked := &Approval{Approval: *a}
	asked.Votes = slices.Clone(a.Votes)
	if len(f.Approvals) == 1 {
		f.Approvals[0].Later = true // a word may be about the new one, also after that has ended
	}
	f.Approvals = append(f.Approvals, asked)
	c := f.Call(a.Call)
	if c == nil {
		return fmt.Errorf("fold: approval %s is of call %s, which was never planned", a.ID, a.Call)
	}
	switch {
	case a.Held:
		c.Held = a.ID
	case a.Ask != "": // the suspension that follows refers to it
	default:
		c.Approval, c.State = a.ID, CallAsked
		c.reachable()
		if a.Kind == approval.KindCall {
			c.Args = a.Args
		}
	}
	return nil
}

func (f *Fold) applyResolved(e *event.ApprovalResolved) error {
	a := f.Approval(e.ID)
	if a == nil {
		return fmt.Errorf("fold: approval %s was resolved and never asked", e.ID)
	}
	resolution := e.Resolution
	a.State, a.Resolution = e.State, &resolution
	c := f.Call(a.Call)
	if c != nil && c.Held == a.ID {
		c.Held = ""
	}
	if c == nil || c.State == CallDone {
		return nil
	}
	if c.Approval == a.ID && e.State != approval.Superseded {
		c.State = CallDecided
		if e.State == approval.Edited {
			c.Args = resolution.Args
		}
	}
	return nil
}

func (f *Fold) applyCall(of event.OfCall) error {
	c := f.Call(of.CallID())
	if c == nil {
		return fmt.Errorf("fold: %T is of call %q, which was never planned", of, of.CallID())
	}
	switch e := of.(type) {
	case *event.CallCancel:
		c.Canceled = true
	case *event.CallStarted:
		if c.Repeats++; c.State != CallUncertain || e.Attempt != c.Attempt {
			c.Repeats = 0
		}
		if e.Attempt != c.Attempt {
			c.Used, c.Digest, c.Changed = len(c.Answered), e.Tool, false
		}
		c.State, c.Attempt, c.Grant, c.Cause, c.Why = CallRunning, e.Attempt, e.Grant, "", ""
		c.entered(e.Tool, e.Safe)
		c.reachable()
		if e.Args != nil {
			c.Args = e.Args
		}
	case *event.CallCheckpoint:
		c.keep(e)
	case *event.CallSuspended:
		c.State, c.Paused, c.Suspended, c.Wake = CallWaiting, true, e.N, e.Wake
		if e.State != nil {
			c.Used = len(c.Answered)
		}
		f.suspended(c, e.Asks)
		c.Output = e.Output
		c.Checkpoint, c.Repeats = c.Checkpoint || e.Again, 0
		c.suspend(e.State)
		c.Watch, c.Waits, c.Looked = e.Watch, e.Waits, false
	case *event.CallLooked:
		if c.Looked = len(e.Waits) == 0; !c.Looked {
			c.Waits = e.Waits
		}
	case *event.CallResumed:
		c.State, c.Paused, c.Wake, c.Cause, c.Why = CallRunning, false, nil, "", ""
		c.entered(e.Tool, e.Safe)
		c.reachable()
		f.resumed(c)
	case *event.CallUnknown:
		c.State, c.Why, c.Cause, c.Approval = CallUncertain, e.Why, e.Cause, ""
	case *event.CallPostponed:
		c.Tries, c.Since, c.Retry = e.N, &e.Since, &e.Until
		if e.Why != "" {
			c.Trouble = e.Why
		}
	case *event.CallFinished:
		c.State, c.Paused, c.Outcome, c.Result, c.Error = CallDone, false, e.Outcome, e.Result, e.Error
		c.Actions = e.Actions
		c.reachable()
		if len(e.Delta) > 0 {
			f.setState(e.Delta)
		}
	case *event.CallLate: // recorded for people only
	}
	return nil
}

// Count counts an event of n bytes that has been folded.
func (f *Fold) Count(n int) {
	f.Header.Seq++
	f.Header.Bytes += uint64(n)
	f.tail += n
}

// resumed folds that a call is entered with the answers so far. Pending approvals remain open.
func (f *Fold) resumed(c *Call) {
	c.Fresh, c.Open = 0, nil
	for _, ask := range c.Asks {
		if a := f.Approval(ask.Approval); a != nil && a.State == approval.Pending {
			c.Open = append(c.Open, ask)
			continue
		}
		c.Answered = append(c.Answered, ask)
		c.Fresh++
	}
	c.Asks = nil
}

// suspended folds that a call is suspended with asks. A question that was answered while
// the tool ran, and that it does not ask now, counts as answered before: if the tool asks
// for the same confirmation later, it has it.
func (f *Fold) suspended(c *Call, asks []event.SuspendedAsk) {
	again := map[string]bool{}
	for _, ask := range asks {
		again[ask.Approval] = true
	}
	for _, ask := range c.Open {
		if a := f.Approval(ask.Approval); a != nil && a.State != approval.Pending && a.State != approval.Superseded && !again[ask.Approval] {
			c.Answered = append(c.Answered, ask)
		}
	}
	c.Asks, c.Open = asks, nil
}

// reachable clears the reason for which a call could not be entered.
func (c *Call) reachable() {
	c.Tries, c.Trouble, c.Since, c.Retry = 0, "", nil, nil
}

// entered folds what the tool of a call is at an entry: the digest of its definition, and whether the call may
// be repeated. A tool that was replaced during the attempt, and put back, has changed, too.
func (c *Call) entered(digest string, safe bool) {
	c.Changed = c.Changed || c.Digest != "" && digest != c.Digest
	c.Digest, c.Safe = digest, safe
}

// keep folds a checkpoint. It takes the place of the newest suspension, too: the tool has
// had its answers.
func (c *Call) keep(e *event.CallCheckpoint) {
	c.Checkpoint, c.ToolState, c.Fresh, c.Used = true, e.State, 0, len(c.Answered)
}

// suspend folds the state of a suspension. If the call has a checkpoint, a suspension without
// a state keeps the newest checkpoint: the function that suspends, such as
// [tool.RequestConfirmation], does not know the tool's state.
func (c *Call) suspend(state json.RawMessage) {
	if state != nil || !c.Checkpoint {
		c.ToolState = state
	}
}
