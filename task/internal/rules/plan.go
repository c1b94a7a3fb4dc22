package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/record"
	"a2a-server/tool"
)

// maxPlannerState bounds the state that a planner keeps with a step, in bytes.
const maxPlannerState = 256 << 10

// Planned is the [Input] with the outcome of [Plan].
type Planned struct {
	Step *task.Step
	Err  error // from the planner; it ends the task

	Said  bool   // the planner has published text, all of which is in the log
	Whole string // that text, to replace its chunks; "": they remain
	Again bool   // the step may have been asked for, and text published, before a crash
}

func (in Planned) put(add additions, b basis) (additions, error) {
	add = completeSaid(add, b, &in)
	if in.Err != nil {
		return plannerFailed(add, b, in.Err), nil //nolint:nilerr // the error ends the task
	}
	return addStep(add, b, in.Step), nil
}

// completeSaid completes the text that the planner has published with the step that d is about
// to add.
func completeSaid(add additions, b basis, in *Planned) additions {
	u := &event.ArtifactUpdate{ID: SaidID(b.Fold), Parts: json.RawMessage(event.Closing), Append: true, Last: true}
	switch whole := event.TextPart(in.Whole); {
	case !in.Said && (!in.Again || !b.View.MayHave(u.ID)):
		return add
	case !in.Said: // the text of a plan that a crash has ended
		u.Append = false
	case in.Whole != "" && len(whole) <= b.Limits.Content():
		u.Parts, u.Append = whole, false
	}
	add.artifact(b, u)
	return add
}

// SaidID is the id of the artifact with the text that the planner publishes during the next
// step of f.
func SaidID(f *fold.Fold) string { return saidPrefix + strconv.Itoa(len(f.Steps)+1) }

// saidPrefix begins the ids of artifacts that planners build up.
const saidPrefix = "s"

// isSaid reports whether an artifact has an id of SaidID.
func isSaid(id string) bool {
	n, is := strings.CutPrefix(id, saidPrefix)
	_, err := strconv.Atoi(n)
	return is && err == nil
}

// Plan prepares the planner's input for the next step of f, and returns a function that
// asks the planner; with adds to the input. That function no longer uses f. Plan is
// for planners that are not inline; put the function's results into [Planned].
func Plan(ctx context.Context, r *Rules, f *fold.Fold, with func(*task.Progress)) func() (*task.Step, error) {
	p, err := progress(basis{r, &At{Ctx: ctx}, f}, nil /* tools */)
	return func() (*task.Step, error) {
		if err != nil {
			return nil, err
		}
		with(p)
		return r.ask(ctx, p)
	}
}

// Prompt returns the request of the planner to a language model for a step of f; with adds to
// the planner's input. The error is a [*task.InvalidError] if it has asked none.
func Prompt(ctx context.Context, r *Rules, f *fold.Fold, step int, with func(*task.Progress)) (prompt task.Prompt, err error) {
	defer r.guard(f.View.TaskID(), "the planner", &err)
	planner, is := r.Planner.(task.Prompter)
	if !is {
		return task.Prompt{}, task.Invalid("step", "has no prompt: the planner of this server asks no model")
	}
	p, err := progress(basis{r, &At{Ctx: ctx}, f}, nil /* tools */)
	if err != nil {
		return task.Prompt{}, err
	}
	with(p)
	return planner.Prompt(ctx, p, step)
}

// plan asks the planner for the next step, unless it has planned it to accept the message.
func plan(b basis, accepted Lookup) (*task.Step, error) {
	if first := accepted.first; first != nil {
		return first, checkStep(first, b.Limits.Calls)
	}
	p, err := progress(b, accepted.tools)
	if err != nil {
		return nil, err
	}
	return b.ask(b.Ctx, p)
}

// ask asks the planner for the next step, and checks it.
func (r *Rules) ask(ctx context.Context, p *task.Progress) (next *task.Step, err error) {
	defer r.guard(p.Task, "the planner", &err)
	if n := len(p.Steps); n >= r.Limits.Steps {
		return nil, fmt.Errorf("the task has %d steps, which is the limit", n)
	}
	if next, err = r.Planner.Plan(ctx, p); err != nil {
		return nil, err
	}
	return next, checkStep(next, r.Limits.Calls)
}

func checkStep(s *task.Step, maxCalls int) error {
	if s == nil {
		return errors.New("the planner returned no step")
	}
	kinds := 0
	for _, is := range []bool{len(s.Calls) > 0, s.Ask != nil, s.Wait > 0, s.End != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("the planner returned a step with more than one of calls, a question, a wait and an end")
	case kinds == 0 && len(s.Output) == 0 && s.State == nil:
		return errors.New("the planner returned an empty step")
	case len(s.Calls) > maxCalls:
		return fmt.Errorf("the planner wants %d calls in one step; at most %d are allowed", len(s.Calls), maxCalls)
	case s.End != nil && !s.End.State.Terminal():
		return fmt.Errorf("the planner ended the task in %s, which is not a final state: use completed, failed, canceled or rejected", s.End.State)
	case len(s.State) > maxPlannerState:
		return fmt.Errorf("the planner wants to keep %d bytes with a step; at most %d are allowed", len(s.State), maxPlannerState)
	}
	if err := output.CheckDepth(s.State); err != nil {
		return fmt.Errorf("the planner wants to keep a state with a step: %w", err)
	}
	return nil
}

// textOf returns the text parts of a message, joined by line breaks.
func textOf(m *a2a.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if text := p.Text(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// progress returns the planner's view of the task, with tools, or, if nil, those that it has now.
func progress(b basis, tools []tool.Tool) (*task.Progress, error) {
	f := b.Fold
	p := &task.Progress{Task: f.View.TaskID(), Context: f.View.ContextID(), Tools: tools}
	var err error
	if tools == nil {
		if p.Tools, err = b.listTools(readonly(b)); err != nil {
			// A toolset that fails must not fail the task: only its tools are missing for
			// now.
			b.report(Problem{Task: p.Task, What: "no tools can be listed", Err: err})
		}
	}
	for i := range f.Messages {
		m := &f.Messages[i]
		if m.For == event.ForDecision {
			continue
		}
		msg := m.Decoded
		if msg == nil {
			msg = &a2a.Message{}
			if err := json.Unmarshal(m.Message, msg); err != nil {
				return nil, fmt.Errorf("decode message: %w", err)
			}
		}
		switch _, word := saidWord(msg); {
		case m.For == event.ForPlanner:
			p.Messages = append(p.Messages, task.PlannerMessage{Message: msg, After: m.Step})
		case !word: // which decided nothing
			p.Remarks = append(p.Remarks, task.PlannerMessage{Message: msg, After: m.Step})
		}
	}
	for _, s := range f.Steps {
		done := task.DoneStep{State: s.State, Asked: s.Ask != nil}
		for _, c := range s.Progress {
			args, _ := tool.DecodeArgs(c.Args) // arguments that are no object have become the call's error
			r := task.Result{Call: tool.ToolCall{ID: c.ID, Name: c.Tool, Args: args}, Outcome: c.Outcome, Content: c.Result, Error: c.Error, Actions: decodeActions(c.Actions)}
			r.Decision, r.Note = f.DecisionOn(c.ID)
			done.Calls = append(done.Calls, r)
		}
		p.Steps = append(p.Steps, done)
	}
	return p, nil
}

// addStep adds a step: its output, and its requests.
func addStep(add additions, b basis, s *task.Step) additions {
	add = spend(add, b, s.Tokens) // also of a step that is refused
	size := len(s.State)
	for i := range s.Calls {
		size += len(s.Calls[i].Args)
	}
	if room := openRoom(b); size > 0 && size > room {
		return plannerFailed(add, b, fmt.Errorf("%w: step %d has %d bytes, and there is room for %d more", ErrLogFull, len(b.Steps)+1, size, max(room, 0)))
	}
	var planned *event.StepPlanned // nil: the end, which its status says
	if s.End == nil {
		planned = plannedStep(b, s)
		add.event(b, event.KindPlanned, planned)
		if b.Header.State == task.StateSubmitted || b.View.Says(heldText) {
			add = say(add, b, a2a.TaskStateWorking, nil)
		}
	}
	for i := range s.Output {
		var err error
		if add, err = addOutput(add, b, &s.Output[i]); err != nil {
			return plannerFailed(add, b, err)
		}
	}
	switch {
	case s.End != nil:
		if m := s.End.Message; m != nil {
			if err := sayable(b, m, nil, logRoom(b)); err != nil {
				return plannerFailed(add, b, err)
			}
		}
		return endTask(add, b, s.End.State, s.End.Message)
	case planned.Until != nil:
		add.due = append(add.due, wakeup(*planned.Until, stepKey(planned.Step)))
	case s.Ask != nil:
		if m := s.Ask.Message; m != nil {
			if err := sayable(b, m, nil, logRoom(b)); err != nil {
				return plannerFailed(add, b, err)
			}
		}
		add.phase = store.Parked
		state := a2a.TaskStateInputRequired
		if s.Ask.Auth {
			state = a2a.TaskStateAuthRequired
		}
		return say(add, b, state, s.Ask.Message)
	}
	return add
}

// spend counts the tokens of the next step for the owner of the task.
func spend(add additions, b basis, tokens int) additions {
	if tokens <= 0 {
		return add
	}
	step := strconv.AppendInt(nil, int64(len(b.Steps)+1), 10)
	day := record.SpentPrefix(b.Owner.Tenant, b.Owner.Subject, b.Now)
	add.rows = append(add.rows, store.RowChange{
		Kind: record.KindTokens, Key: step, IfRev: store.Any, Value: strconv.AppendInt(nil, int64(tokens), 10),
		Index: []store.IndexKey{{Index: record.IndexSpent, Key: day}},
	})
	return add
}

// plannedStep returns the event of a step.
func plannedStep(b basis, s *task.Step) *event.StepPlanned {
	planned := &event.StepPlanned{Step: len(b.Steps) + 1, State: s.State}
	mark := b.Restored.Mark()
	for i, c := range s.Calls {
		alias := c.Alias
		if alias != "" && (mark != "" || !b.Takes(alias) || slices.ContainsFunc(planned.Calls, func(c event.PlannedCall) bool { return c.Alias == alias })) {
			alias = "" // it could be taken for another call, maybe one that a restoration has lost
		}
		call := event.PlannedCall{ID: approval.CallID(planned.Step, i+1, mark), Tool: c.Tool, Args: wellFormed(c.Args), Alias: alias}
		call.Mask, call.MaskTask = b.Policy.Mask(c.Tool)
		planned.Calls = append(planned.Calls, call)
	}
	if s.Ask != nil {
		planned.Ask = &event.PlannedAsk{Auth: s.Ask.Auth}
	}
	if s.Wait > 0 {
		until := b.Now.Add(max(s.Wait, time.Millisecond)).Truncate(time.Millisecond)
		planned.Until = &until
	}
	return planned
}

// wellFormed returns arguments as JSON that can be stored. Invalid JSON, and JSON nested too
// deep to be read again, is stored as a string, which is then refused because it is not an
// object.
func wellFormed(args json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(args)) == 0 {
		return json.RawMessage("{}")
	}
	if json.Valid(args) && output.CheckDepth(args) == nil {
		return event.Compact(args)
	}
	quoted, err := json.Marshal(string(args))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return quoted
}

// addOutput publishes the output of a planner's step.
func addOutput(add additions, b basis, o *task.Output) (additions, error) {
	a := o.Artifact
	if a == nil {
		if err := sayable(b, o.Status, o.Metadata, openRoom(b)); err != nil {
			return add, err
		}
		return publish(add, b, a2a.TaskStateWorking, question{whole: o.Status}, o.Metadata), nil
	}
	if a.ID == "" || len(a.Parts) == 0 {
		return add, errors.New("the planner published an artifact without an id or without parts")
	}
	u := &event.ArtifactUpdate{ID: a.ID, Name: a.Name, Description: a.Description, Append: a.Append, Last: a.Last}
	var err error
	if u.Parts, err = joinParts(a.Parts); err != nil {
		return add, fmt.Errorf("artifact %s: %w", a.ID, err)
	}
	if u.Metadata, err = output.EncodeMetadata(a.Metadata); err != nil {
		return add, fmt.Errorf("metadata of artifact %s: %w", a.ID, err)
	}
	if len(a.Extensions) > 0 {
		if u.Extensions, err = json.Marshal(a.Extensions); err != nil {
			return add, fmt.Errorf("extensions of artifact %s: %w", a.ID, err)
		}
	}
	for _, raw := range []json.RawMessage{u.Parts, u.Metadata} {
		if err := output.CheckDepth(raw); err != nil {
			return add, fmt.Errorf("a piece of artifact %s: %w", a.ID, err)
		}
	}
	n := len(u.Parts) + len(u.Metadata) + len(u.Extensions)
	if err := publishable(b, "a piece of artifact "+a.ID, n, openRoom(b)); err != nil {
		return add, err
	}
	add.artifact(b, u)
	return add, nil
}
