package confirm

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"a2a-server/internal/visible"
)

// The actions of a [UIResult].
const (
	Confirm = "confirm" // run the call as it is
	Reject  = "reject"
	Modify  = "modify" // run it with NewToolParams
)

// UIResult is the answer of a person, Haystack's ConfirmationUIResult. Strategies of a program may
// know more actions than those of this package.
type UIResult struct {
	Action        string
	Feedback      string         // "": none
	NewToolParams map[string]any // of Modify: all arguments
}

// ToMap returns the serialized form: action, feedback and new_tool_params, null if there is none.
func (r UIResult) ToMap() map[string]any {
	m := map[string]any{"action": r.Action, "feedback": nil, "new_tool_params": nil}
	if r.Feedback != "" {
		m["feedback"] = r.Feedback
	}
	if r.NewToolParams != nil {
		m["new_tool_params"] = r.NewToolParams
	}
	return m
}

// UIResultFromMap reads the serialized form. An unknown member, a missing action and a value of
// another type are errors.
func UIResultFromMap(m map[string]any) (UIResult, error) {
	d := decoder{what: "a UI result", object: m}
	d.only("action", "feedback", "new_tool_params")
	r := UIResult{Action: read[string](&d, "action", true), Feedback: read[string](&d, "feedback", false), NewToolParams: read[map[string]any](&d, "new_tool_params", false)}
	return r, d.err()
}

// Decision says whether a call runs, and with which arguments: Haystack's ToolExecutionDecision.
type Decision struct {
	ToolName        string
	Execute         bool
	ToolCallID      *string
	Feedback        *string        // for the model: why it was rejected, or what was modified
	FinalToolParams map[string]any // required with Execute
}

// ToMap returns the serialized form: tool_name, execute, tool_call_id, feedback and
// final_tool_params, null if there is none.
func (d Decision) ToMap() map[string]any {
	m := map[string]any{"tool_name": d.ToolName, "execute": d.Execute, "tool_call_id": nil, "feedback": nil, "final_tool_params": nil}
	if d.ToolCallID != nil {
		m["tool_call_id"] = *d.ToolCallID
	}
	if d.Feedback != nil {
		m["feedback"] = *d.Feedback
	}
	if d.FinalToolParams != nil {
		m["final_tool_params"] = d.FinalToolParams
	}
	return m
}

// DecisionFromMap reads the serialized form. An unknown member, a missing tool_name or execute, a
// value of another type, and execute without final_tool_params are errors.
func DecisionFromMap(m map[string]any) (Decision, error) {
	d := decoder{what: "a decision", object: m}
	d.only("tool_name", "execute", "tool_call_id", "feedback", "final_tool_params")
	out := Decision{
		ToolName: read[string](&d, "tool_name", true), Execute: read[bool](&d, "execute", true),
		FinalToolParams: read[map[string]any](&d, "final_tool_params", false),
	}
	for name, field := range map[string]**string{"tool_call_id": &out.ToolCallID, "feedback": &out.Feedback} {
		if text := read[string](&d, name, false); m[name] != nil {
			*field = &text
		}
	}
	if err := d.err(); err != nil {
		return Decision{}, err
	}
	if err := out.check(); err != nil {
		return Decision{}, err
	}
	return out, nil
}

// check returns an error if it is not clear what runs.
func (d *Decision) check() error {
	if d.Execute && d.FinalToolParams == nil {
		return fmt.Errorf("a decision to run %s has no final_tool_params: give the arguments to run it with, {} if there are none", visible.Quote(d.ToolName, maxName))
	}
	return nil
}

const maxName = 100 // characters of a name in an error

// decoder reads the members of a serialized object and collects what is wrong.
type decoder struct {
	what     string // of the object, for errors
	object   map[string]any
	problems []error
}

func (d *decoder) only(known ...string) {
	for _, name := range slices.Sorted(maps.Keys(d.object)) {
		if !slices.Contains(known, name) {
			d.bad("the member %s is unknown", visible.Quote(name, maxName))
		}
	}
}

func (d *decoder) bad(format string, args ...any) {
	d.problems = append(d.problems, fmt.Errorf(d.what+": "+format, args...))
}

func (d *decoder) err() error { return errors.Join(d.problems...) }

// read returns a member. Null is a missing member.
func read[T any](d *decoder, name string, required bool) T {
	v := d.object[name]
	got, ok := v.(T)
	switch {
	case v == nil && required:
		d.bad("%s is missing", name)
	case v != nil && !ok:
		d.bad("%s is a %T, want a %T", name, v, got)
	}
	return got
}
