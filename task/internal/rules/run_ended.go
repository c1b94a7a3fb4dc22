package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// RunEnded is the [Input] that says how a run of a tool ended.
type RunEnded struct {
	Entry  *Execution
	Chunks int               // of the artifact that is named after the tool, since it was last replaced
	Named  []string          // the other artifacts that the run has built up
	Last   []output.RunEvent // published, but not in the log yet
	Whole  string            // text of all chunks, which replaces them; "": they remain
	Output int64             // bytes that the call has published, in all of its runs

	Result     json.RawMessage
	Parts      json.RawMessage  // the result as parts, joined by commas; nil: they are made from Result
	Delta      map[string]any   // of the tools' state
	Err        error            // the error of the tool
	Actions    json.RawMessage  // see [EncodeActions]
	Suspension *tool.Suspension // the tool pauses
	Asks       []ToolQuestion   // undecided questions asked while it ran: its return value is discarded
	GivenUp    error            // why the outcome is unknown: the run did not end after it was told to
	Replace    bool             // the result replaces the chunks
	Unknown    bool             // Err says that it is unknown whether the call had its effect
	Rejected   bool             // Err says that a person rejected the tool's question
	Keeps      bool             // the state of Suspension is a checkpoint, too
	Stop       bool             // if the call ends, its remote work is to be stopped
	TimedOut   bool             // GivenUp, or Unknown, because of a timeout
	NoEffect   bool             // Err says that the call had no effect: see [tool.ErrNoEffect]
}

func (in RunEnded) put(add additions, b basis) (additions, error) {
	c := b.Call(in.Entry.Call)
	if c == nil || c.State != fold.CallRunning {
		return add, fmt.Errorf("call %s has an outcome and is not running", in.Entry.Call)
	}
	add.pushes = true // the last chunks of its artifacts may be in batches that cannot say so
	// Unknown comes first: a call that pauses is entered again without a person.
	paused := !in.Unknown && (in.Suspension != nil || len(in.Asks) > 0)
	well := in.Err == nil && !paused && in.GivenUp == nil
	whole := wholeText(b, &in)
	var complete []string // artifacts that the last of their chunks completes
	if well {
		for _, name := range in.Named {
			complete = append(complete, output.ArtifactID(c.ID, name))
		}
		if in.Chunks > 0 && whole == nil && !in.Replace {
			complete = append(complete, c.ID)
		}
	}
	add, unmarked := addChunks(add, b, in.Last, complete)
	tooMuch := fold.RefusedState(b.Fold, in.Delta)
	if tooMuch != "" {
		in.Delta = nil
	}
	switch {
	case c.Canceled && !well:
		return ranCanceled(add, b, c, &in), nil
	case in.GivenUp != nil:
		cause := event.CauseCut
		if in.TimedOut {
			cause = event.CauseTimeout
		}
		return unknown(add, b, c, cause, in.GivenUp.Error()), nil
	case in.Unknown && in.TimedOut:
		return unknown(add, b, c, event.CauseTimeout, redact(b, c, in.Err).Error()), nil
	case in.Unknown:
		return unknown(add, b, c, event.CauseTool, unknownWhy(redact(b, c, in.Err))), nil
	case paused:
		return suspend(add, b, c, &in), nil
	case in.Stop: // also when a hook has made a result of the error
		add = stopWork(add, b, c, &in)
	}
	e, limit := ending{outcome: task.OutcomeError, delta: in.Delta, actions: in.Actions}, b.Limits.Result()
	switch {
	case in.Err != nil:
		if e.problem = in.Err.Error(); in.Rejected {
			e.outcome = task.OutcomeRejected
		}
		return finish(add, b, c, e), nil
	case tooMuch != "":
		e.problem = "the call has run, but " + tooMuch
		return finish(add, b, c, e), nil
	case len(in.Result) > limit:
		e.problem = fmt.Sprintf("the result of %s has %d bytes; at most %d are allowed: stream it", c.Tool, len(in.Result), limit)
		return finish(add, b, c, e), nil
	}
	for _, id := range unmarked {
		add.artifact(b, &event.ArtifactUpdate{ID: id, Parts: json.RawMessage(event.Closing), Append: true, Last: true})
	}
	switch {
	case decodeActions(in.Actions).WithholdResult:
	case in.Chunks == 0 || in.Replace:
		parts := in.Parts
		if parts == nil {
			parts = event.ResultParts(in.Result, limit, b.Presenter.Imitates)
		}
		add.artifact(b, &event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: parts, Last: true})
	case whole != nil:
		add.artifact(b, &event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: whole, Last: true})
	}
	e.outcome, e.result = task.OutcomeOK, in.Result
	return finish(add, b, c, e), nil
}

// wholeText returns the text of all chunks as the part that replaces them. It returns nil if the
// chunks remain: no replacement is wanted, there is only a single chunk, still unwritten, or
// the text does not fit into an event.
func wholeText(b basis, in *RunEnded) json.RawMessage {
	if in.Whole == "" || in.Replace {
		return nil
	}
	own := func(k output.RunEvent) bool { return k.Update.ID == in.Entry.Call }
	if in.Chunks == 1 && slices.ContainsFunc(in.Last, own) {
		return nil
	}
	part := event.TextPart(in.Whole)
	if len(part) > b.Limits.Result() {
		return nil
	}
	return part
}

// addChunks adds the last chunks of a run. The last chunk of each artifact in complete is marked
// as such, if it is among them; chunks returns the ids of the other artifacts.
func addChunks(add additions, b basis, chunks []output.RunEvent, complete []string) (_ additions, unmarked []string) {
	chunks = b.Publishable(slices.Clone(chunks)) // they are put again if the batch conflicts
	for i := len(chunks) - 1; i >= 0 && len(complete) > 0; i-- {
		k := &chunks[i]
		if at := slices.Index(complete, k.Update.ID); at >= 0 {
			complete = slices.Delete(complete, at, at+1)
			k.Update.Last = true
			k.Event.Data = event.EncodeArtifact(b.View.IDs(), &k.Update)
		}
	}
	add.events = slices.Grow(add.events, len(chunks))
	for i := range chunks {
		add.events = append(add.events, chunks[i].Event)
	}
	b.Publish(chunks)
	return add, complete
}

// suspend parks a call until its questions are answered, its timer fires, or both. All
// approvals are built before any is written. A question that is still open from before is
// not asked again; if it has been answered in the meantime, the call continues at once.
func suspend(add additions, b basis, c *fold.Call, in *RunEnded) additions {
	asks, e := in.Asks, &event.CallSuspended{Call: c.ID, N: c.Suspended + 1, Output: in.Output}
	fail := func(add additions, err error) additions {
		add = stopWork(add, b, c, in)
		return finish(add, b, c, ending{outcome: task.OutcomeError, problem: err.Error(), actions: in.Actions})
	}
	if s := in.Suspension; s != nil {
		e.Again = in.Keeps
		if s.State != nil {
			if err := output.CheckState(s.State); err != nil {
				return fail(add, fmt.Errorf("the call cannot be suspended: %w", err))
			}
		}
		e.State = s.State
		if !s.Wake.IsZero() {
			wake := possible(b, s.Wake)
			e.Wake = &wake
		}
		e.Watch, e.Waits = s.Watch && e.Wake != nil, shownWaits(b, c, s.Waits)
		if len(asks) == 0 {
			var err error
			if asks, err = suspensionAsks(s); err != nil {
				return fail(add, err)
			}
		}
	}
	add = withdraw(add, b, c.Held, notHeld)
	if len(asks) == 0 && e.Wake == nil {
		return fail(add, errors.New("the tool suspended its call without a question and without a time to wake it"))
	}
	made, err := toolApprovals(b, c, in.Entry, asks)
	if err != nil {
		return fail(add, err)
	}
	add, kept := reuse(add, b, c, asks, made)
	if err := allFit(b, made, kept); err != nil {
		return fail(add, err)
	}
	for i, a := range made {
		if kept[i] != nil {
			a = &kept[i].Approval
		} else {
			add = ask(add, b, a)
		}
		e.Asks = append(e.Asks, event.SuspendedAsk{Ask: asks[i].ID, Approval: a.ID})
	}
	if e.Wake != nil {
		add.due = append(add.due, timer(c.ID, *e.Wake, e.Watch))
	}
	add.event(b, event.KindSuspended, e)
	return add
}

// LateResult is the [Input] with a result that arrived after its turn had abandoned the
// call. It is recorded as a private event and in the audit; the task, which may have
// ended, does not change.
type LateResult struct {
	Entry  *Execution // of the run that returned it, which need not be the newest
	Result json.RawMessage
	Err    error
	// Unknown: Err says that it is unknown whether the call had its effect.
	Unknown bool
	// Stop holds the state with which the tool would have continued, which no event has: if
	// the task has ended, its remote work is stopped.
	Stop json.RawMessage
}

func (in LateResult) put(add additions, b basis) (additions, error) {
	c := b.Call(in.Entry.Call)
	if c == nil {
		return add, ErrNoChange // its start was never durable
	}
	add.quiet = true
	if in.Stop != nil && b.Header.Phase == store.Final {
		add = stopChild(add, b, c, ChildCancel{State: in.Stop})
	}
	e := &event.CallLate{Call: c.ID, Result: in.Result}
	if in.Err != nil {
		says := in.Err.Error()
		if in.Unknown {
			says = unknownLate(in.Err)
		}
		e.Error = visible.Shorten(says, fold.MaxProblem)
	}
	if len(e.Result) > min(logRoom(b), b.Limits.Result()) {
		e.Error = fmt.Sprintf("the result of %d bytes does not fit into the task's log", len(e.Result))
		e.Result = nil
	}
	add.event(b, event.KindLate, e)
	add.record(b, approval.Audit{What: approval.AuditLate, Call: c.ID, Tool: c.Tool, Reason: auditedWhy(b, c, task.OutcomeError, "" /* gate */, e.Error), Attempt: in.Entry.Attempt})
	return add, nil
}

// maxActions bounds the actions of a call, in bytes.
const maxActions = 16 << 10

// EncodeActions encodes the actions of a call for [RunEnded].Actions; nil if there are none.
// It returns an error above maxActions.
func EncodeActions(a *agent.EventActions) (json.RawMessage, error) {
	if reflect.ValueOf(a).Elem().IsZero() {
		return nil, nil // as nearly always
	}
	raw, err := json.Marshal(a)
	switch {
	case err != nil:
		return nil, fmt.Errorf("encode actions: %w", err)
	case string(raw) == "{}":
		return nil, nil
	case len(raw) > maxActions:
		return nil, fmt.Errorf("its actions have %d bytes; at most %d are allowed", len(raw), maxActions)
	}
	return raw, nil
}

// decodeActions decodes the result of EncodeActions.
func decodeActions(raw json.RawMessage) (a agent.EventActions) {
	if raw != nil {
		_ = json.Unmarshal(raw, &a) // it was encoded here
	}
	return a
}
