package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/visible"
	"a2a-server/task"
	"a2a-server/tool"
)

// wanted returns the step that the actions of the newest step want in place of an answer of the
// model; nil: none. It follows from the log and the caller's tools alone, so that a crash changes
// nothing. Escalate comes first, then TransferToAgent and RequireInput, and SkipSummarization last.
func (p *Planner) wanted(at *task.Progress) *task.Step {
	if len(at.Steps) == 0 {
		return nil
	}
	last := &at.Steps[len(at.Steps)-1]
	for i := range last.Calls {
		if r := &last.Calls[i]; r.Outcome == task.OutcomeOK && r.Actions.Escalate {
			return &task.Step{End: &task.End{State: a2a.TaskStateRejected, Message: escalated(at, r)}}
		}
	}
	to := cmp.Or(stateOf(last).To, transfer(at, last.Calls))
	switch asks := questions(last.Calls); {
	case asks != "": // a transfer is made with the reply
		return &task.Step{Ask: &task.InputRequest{Message: message(at, asks)}, State: encode(state{Version: stateVersion, To: to})}
	case to != "" && stateOf(last).To != "" && len(last.Calls) > 0:
		return transferred(at, to, &last.Calls[0])
	case to != "":
		said := textOf(at.Messages[len(at.Messages)-1].Message)
		call := task.PlannedCall{Tool: to, Args: encode(map[string]string{"message": said})}
		return &task.Step{Calls: []task.PlannedCall{call}, State: encode(state{Version: stateVersion, To: to})}
	case skips(last.Calls):
		return &task.Step{Output: withheld(at, last.Calls), End: &task.End{State: a2a.TaskStateCompleted}}
	}
	return nil
}

// withheld returns the results of calls that clients have not seen, as what the planner says with
// the next step.
func withheld(at *task.Progress, calls []task.Result) (all []task.Output) {
	for i := range calls {
		r := &calls[i]
		if r.Outcome != task.OutcomeOK || !r.Actions.WithholdResult {
			continue
		}
		var text string
		if json.Unmarshal(r.Content, &text) != nil {
			text = string(r.Content)
		}
		if len(all) > 0 {
			text = "\n" + text
		}
		all = append(all, task.Output{Artifact: &task.ArtifactPiece{
			ID: "s" + strconv.Itoa(len(at.Steps)+1), Name: "text", Parts: a2a.ContentParts{a2a.NewTextPart(text)}, Append: len(all) > 0,
		}})
	}
	if n := len(all); n > 0 {
		all[n-1].Artifact.Last = true
	}
	return all
}

// escalated returns the message of a task that a tool gives back to whoever asked for it.
func escalated(at *task.Progress, r *task.Result) *a2a.Message {
	var why string
	if json.Unmarshal(r.Content, &why) != nil || strings.TrimSpace(why) == "" {
		why = r.Call.Name + " has given the task back"
	}
	m := message(at, visible.ClipText(why, maxPrompt))
	m.Metadata = map[string]any{task.EscalatedKey: true}
	return m
}

// questions returns what tools have the planner ask the client, in lines; "": nothing.
func questions(calls []task.Result) string {
	var asks []string
	for i := range calls {
		if r := &calls[i]; r.Outcome == task.OutcomeOK && r.Actions.RequireInput {
			asks = append(asks, r.Call.Name+": "+prompt(r))
		}
	}
	return strings.Join(asks, "\n")
}

// skips reports whether the results of a step are the answer: one of them says so, and no call has
// failed, which the model may have taken for done.
func skips(calls []task.Result) bool {
	return slices.ContainsFunc(calls, func(r task.Result) bool { return r.Outcome == task.OutcomeOK && r.Actions.SkipSummarization }) &&
		!slices.ContainsFunc(calls, func(r task.Result) bool { return r.Outcome != task.OutcomeOK && r.Outcome != task.OutcomeResponded })
}

// transfer returns the tool of the agent to which calls hand the task over; "": they do not, or not
// to a single agent to which the caller may hand over. The model is then told so: see notFollowed.
func transfer(at *task.Progress, calls []task.Result) (to string) {
	for i := range calls {
		r := &calls[i]
		switch name := r.Actions.TransferToAgent; {
		case r.Outcome != task.OutcomeOK || name == "" || name == to:
		case to != "":
			return ""
		default:
			to = name
		}
	}
	if !has(at.Tools, func(t tool.Tool) bool { return t.Name() == to }) || !has(at.Tools, func(t tool.Tool) bool { return transfersTo(t, to) }) {
		return ""
	}
	return to
}

func has(tools []tool.Tool, is func(tool.Tool) bool) bool { return slices.ContainsFunc(tools, is) }

// transfersTo reports whether a tool hands over to an agent.
func transfersTo(t tool.Tool, to string) bool {
	by, is := tool.As[tool.Transferer](t)
	return is && by.TransfersTo() == to
}

// transferred returns the end of a task that was handed over: as the call of the agent has ended.
func transferred(at *task.Progress, to string, r *task.Result) *task.Step {
	end := &task.End{State: a2a.TaskStateFailed, Message: message(at, fmt.Sprintf("%s, which has taken over, has failed: %s", to, r.Error))}
	switch r.Outcome {
	case task.OutcomeOK, task.OutcomeResponded:
		end = &task.End{State: a2a.TaskStateCompleted}
	case task.OutcomeCanceled:
		end.State = a2a.TaskStateCanceled
	case task.OutcomeError, task.OutcomeInvalid, task.OutcomeDenied, task.OutcomeRejected, task.OutcomeExpired, task.OutcomeUnknown:
	}
	return &task.Step{End: end}
}

// notFollowed returns why the model is told of a transfer: it was not followed, else the model would
// not have been asked again. "": the call wants none.
func notFollowed(r *task.Result) string {
	if r.Outcome != task.OutcomeOK || r.Actions.TransferToAgent == "" {
		return ""
	}
	return "the task was not handed over to " + clean(r.Actions.TransferToAgent) + ": hand it over to one agent, to which this caller may hand over"
}

// prompt returns the question of a tool that requires input.
func prompt(r *task.Result) string {
	return visible.ClipText(cmp.Or(r.Actions.InputPrompt, "more input is needed"), maxPrompt)
}

// maxPrompt bounds what a tool asks, in characters.
const maxPrompt = 2 << 10
