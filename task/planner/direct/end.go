package direct

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/visible"
	"a2a-server/task"
)

// maxText bounds the text of a call in a message, in characters; MaxCalls of them stay far below
// the limit of an event.
const maxText = 2 << 10

// end returns the end of a task after the results of all its calls.
func end(p *task.Progress) *task.End {
	var lines, notes []string
	calls, turnedDown := 0, 0
	for _, s := range p.Steps {
		calls += len(s.Calls)
		for i := range s.Calls {
			r := &s.Calls[i]
			verdict, ok := verdictOf(r.Outcome)
			if ok || r.Refusal() {
				if note := noteOf(r); note != "" {
					notes = append(notes, note)
				}
				continue
			}
			switch r.Outcome { //nolint:exhaustive // only those that were not wanted
			case task.OutcomeRejected, task.OutcomeExpired, task.OutcomeCanceled:
				turnedDown++
			}
			lines = append(lines, lineOf(r, verdict))
		}
	}

	e := &task.End{State: a2a.TaskStateCompleted}
	if len(lines)+len(notes) == 0 {
		return e
	}
	switch calls {
	case turnedDown:
		e.State = a2a.TaskStateCanceled
	case len(lines):
		e.State = a2a.TaskStateFailed
	}
	e.Message = message("end:"+p.Task, a2a.NewTextPart(strings.Join(append(lines, notes...), "\n")))
	e.Message.TaskID, e.Message.ContextID = a2a.TaskID(p.Task), p.Context
	return e
}

// lineOf is the line of the last message about a call that did not succeed.
func lineOf(r *task.Result, verdict string) string {
	line := nameOf(r) + " " + verdict
	// The error of a rejection or an unknown outcome repeats the verdict of the line.
	text := strings.TrimPrefix(strings.TrimPrefix(r.Error, "the call "+verdict), ": ")
	if r.Outcome == task.OutcomeUnknown {
		text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(text, "the result of the call is unknown"), ": "), " and ")
	}
	return withText(line, text)
}

// noteOf is the line of the last message about a call that succeeded, "" if a person has
// neither edited it nor said anything about it.
func noteOf(r *task.Result) string {
	switch {
	case r.Decision == approval.Edit:
		return withText(nameOf(r)+" was approved with other arguments", r.Note)
	case r.Note != "":
		return withText(nameOf(r)+" was decided with a note", r.Note)
	}
	return ""
}

func nameOf(r *task.Result) string {
	if r.Call.ID == "" {
		return r.Call.Name
	}
	return fmt.Sprintf("%s (%s)", r.Call.Name, r.Call.ID)
}

// withText appends a text from a tool or a person to a line, with invisible characters escaped, and
// indented so that it cannot look like the line of another call.
func withText(line, text string) string {
	if text == "" {
		return line
	}
	return line + ": " + strings.ReplaceAll(visible.ClipText(text, maxText), "\n", "\n  ")
}

// verdictOf describes how a call ended, and reports whether it succeeded.
func verdictOf(o task.Outcome) (verdict string, ok bool) {
	switch o {
	case task.OutcomeOK, task.OutcomeResponded:
		return "succeeded", true
	case task.OutcomeError:
		return "failed", false
	case task.OutcomeInvalid:
		return "could not be called", false
	case task.OutcomeDenied:
		return "was denied by policy", false
	case task.OutcomeRejected:
		return "was rejected", false
	case task.OutcomeExpired:
		return "was not approved in time", false
	case task.OutcomeUnknown:
		return "has an unknown outcome", false
	case task.OutcomeCanceled:
		return "was canceled", false
	}
	return "ended as " + string(o), false
}
