package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/tool"
)

// What a panic says is for the log: it may hold secrets.
var errPlannerPanicked = errors.New("the planner panicked; the server's log says more")

// maxPlannerState bounds what a planner keeps with a step.
const maxPlannerState = 64 << 10

// plan asks the planner for the next step of a fold.
func (t *turn) plan(f *fold) (next *Step, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.e.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Str("task_id", t.id.String()).Msg("planner panicked")
			next, err = nil, errPlannerPanicked
		}
	}()
	if len(f.Steps) >= t.e.cfg.Limits.Steps {
		return nil, fmt.Errorf("the task has %d steps, which is the most it may have", len(f.Steps))
	}
	p, err := t.progress(f)
	if err != nil {
		return nil, err
	}
	if next, err = t.e.planner.Plan(t.ctx, p); err != nil {
		return nil, err
	}
	return next, checkStep(next, t.e.cfg.Limits.Calls)
}

func checkStep(s *Step, maxCalls int) error {
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
		return errors.New("the planner returned a step that is more than one of calls, a question, a wait and an end")
	case kinds == 0 && len(s.Output) == 0 && s.State == nil:
		return errors.New("the planner returned an empty step")
	case len(s.Calls) > maxCalls:
		return fmt.Errorf("the planner wants %d calls in one step; at most %d are allowed", len(s.Calls), maxCalls)
	case len(s.State) > maxPlannerState:
		return fmt.Errorf("the planner wants to keep %d bytes with a step; at most %d are allowed", len(s.State), maxPlannerState)
	}
	return nil
}

// progress is what a planner may know of a fold.
func (t *turn) progress(f *fold) (*Progress, error) {
	p := &Progress{Task: f.view.TaskID(), Context: f.view.ContextID(), Kept: t.kept}
	t.kept = nil
	var err error
	if p.Tools, t.tools = t.tools, nil; p.Tools == nil {
		if p.Tools, err = t.e.listTools(t.readonly(f)); err != nil {
			return nil, err
		}
	}
	for i := range f.Messages {
		m := &f.Messages[i]
		if m.For != forPlanner {
			continue
		}
		msg := m.decoded
		if msg == nil {
			msg = &a2a.Message{}
			if err := json.Unmarshal(m.Message, msg); err != nil {
				return nil, fmt.Errorf("decode message: %w", err)
			}
		}
		p.Messages = append(p.Messages, Input{Message: msg, After: m.Step})
	}
	for _, s := range f.Steps {
		done := Done{State: s.State, Asked: s.Ask != nil}
		for _, c := range s.Progress {
			args, _ := tool.DecodeArgs(c.Args) // what is no object has become the call's error
			done.Calls = append(done.Calls, Result{
				Call: tool.ToolCall{ID: c.ID, Name: c.Tool, Args: args}, Outcome: c.Outcome, Content: c.Result, Error: c.Error,
			})
		}
		p.Steps = append(p.Steps, done)
	}
	return p, nil
}

// addStep writes a step into the draft: its output, and what it wants. ended: the
// task is at its end.
func (t *turn) addStep(d *draft, s *Step) (ended bool, err error) {
	planned := &stepPlanned{Step: len(d.f.Steps) + 1, State: s.State}
	for i, c := range s.Calls {
		planned.Calls = append(planned.Calls, plannedCall{ID: callID(planned.Step, i+1), Tool: c.Tool, Args: wellFormed(c.Args), Alias: c.Alias})
	}
	if s.Ask != nil {
		planned.Ask = &plannedAsk{Auth: s.Ask.Auth}
	}
	if s.Wait > 0 {
		until := d.now.Add(max(s.Wait, time.Millisecond)).UTC().Truncate(time.Millisecond)
		planned.Until = &until
		d.due = append(d.due, store.DueChange{Time: store.MillisOf(until), Kind: dueWake, Key: stepKey(planned.Step)})
	}
	if s.End == nil {
		if err := d.private(kindPlanned, planned); err != nil {
			return false, err
		}
		if d.f.header.State == stateSubmitted {
			if err := d.say(a2a.TaskStateWorking, nil, nil); err != nil {
				return false, err
			}
		}
	}
	for i := range s.Output {
		if err := t.output(d, &s.Output[i]); err != nil {
			return true, t.giveUp(d, err)
		}
	}
	switch {
	case s.End != nil:
		return true, d.end(s.End.State, s.End.Message)
	case s.Ask != nil:
		d.phase = store.Parked
		state := a2a.TaskStateInputRequired
		if s.Ask.Auth {
			state = a2a.TaskStateAuthRequired
		}
		return false, d.say(state, s.Ask.Message, nil)
	}
	return false, nil
}

// callID names call n of a step.
func callID(step, n int) string {
	return "c" + strconv.Itoa(step) + "." + strconv.Itoa(n)
}

// wellFormed returns arguments as JSON that can be kept: what is no JSON is kept as
// a string, which then fails to be an object.
func wellFormed(args json.RawMessage) json.RawMessage {
	if len(strings.TrimSpace(string(args))) == 0 {
		return json.RawMessage("{}")
	}
	if json.Valid(args) {
		return args
	}
	quoted, err := json.Marshal(string(args))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return quoted
}

// output publishes what a planner says.
func (t *turn) output(d *draft, o *Output) error {
	if o.Status != nil {
		return d.say(a2a.TaskStateWorking, o.Status, nil)
	}
	a := o.Artifact
	if a == nil || a.ID == "" || len(a.Parts) == 0 {
		return errors.New("the planner published an artifact without an id or without parts")
	}
	u := &artifactUpdate{ID: a.ID, Name: a.Name, Description: a.Description, Append: a.Append, Last: a.Last}
	for i, p := range a.Parts {
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("part %d of artifact %s: %w", i, a.ID, err)
		}
		if i > 0 {
			u.Parts = append(u.Parts, ',')
		}
		u.Parts = append(u.Parts, data...)
	}
	if len(a.Metadata) > 0 {
		var err error
		if u.Metadata, err = json.Marshal(a.Metadata); err != nil {
			return fmt.Errorf("metadata of artifact %s: %w", a.ID, err)
		}
	}
	if n := len(u.Parts); n > t.e.cfg.Limits.Event-64<<10 {
		return fmt.Errorf("a piece of artifact %s has %d bytes, which do not fit into one event: publish it in pieces", a.ID, n)
	}
	d.artifact(u)
	return nil
}
