// Package toolconfirmation defines the function call with which agents ask for a confirmation
// on the wire: its name, its arguments, and the original call that it wraps. The names and
// JSON keys are from the Agent Development Kit (ADK), so that ADK clients understand this
// server. The package does not know how approvals are stored or decided.
package toolconfirmation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// FunctionCallName is the name of the call that asks for a confirmation. Its arguments
// are [ArgConfirmation] and [ArgOriginalCall]; the answer is a response with the same id
// and name that holds a [ToolConfirmation].
const FunctionCallName = "adk_request_confirmation"

// The arguments of a call named [FunctionCallName].
const (
	// ArgConfirmation holds a [ToolConfirmation] with its hint.
	ArgConfirmation = "toolConfirmation"
	// ArgOriginalCall holds the [FunctionCall] that waits for the answer.
	ArgOriginalCall = "originalFunctionCall"
)

// ToolConfirmation is a question about a call and, after the decision, its answer. Before the
// decision the whole value is absent; Confirmed does not tell.
type ToolConfirmation struct {
	// Hint tells a person the question, and the reason for it.
	Hint string `json:"hint"`
	// Confirmed is the decision: true lets the call run.
	Confirmed bool `json:"confirmed"`
	// Payload is additional data that the tool and the answering client have agreed on.
	Payload any `json:"payload,omitempty"`
}

// FunctionCall is a tool call.
type FunctionCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name,omitempty"`
	Args map[string]any `json:"args,omitempty"`
}

// OriginalCallFrom returns the call that waits for the confirmation that c asks for. The
// argument may hold it as a FunctionCall or a pointer to it, as the map that JSON decodes to,
// or as a [json.RawMessage]; unknown keys are ignored. It returns an error if the call is
// missing, has a field of the wrong type, or has no name.
func OriginalCallFrom(c *FunctionCall) (*FunctionCall, error) {
	if c == nil {
		return nil, errors.New("the confirmation call is nil, so it has no original call")
	}
	v, ok := c.Args[ArgOriginalCall]
	if !ok {
		return nil, fmt.Errorf("the arguments of confirmation call %q lack %q", c.ID, ArgOriginalCall)
	}
	call, err := callFrom(v)
	if err != nil {
		return nil, fmt.Errorf("%q of confirmation call %q: %w", ArgOriginalCall, c.ID, err)
	}
	if strings.TrimSpace(call.Name) == "" {
		return nil, fmt.Errorf("%q of confirmation call %q has no name", ArgOriginalCall, c.ID)
	}
	return call, nil
}

func callFrom(v any) (*FunctionCall, error) {
	switch v := v.(type) {
	case *FunctionCall:
		if v == nil {
			return nil, errors.New("is null, want a function call")
		}
		return v, nil
	case FunctionCall:
		return &v, nil
	case map[string]any:
		return callFromMap(v)
	case json.RawMessage:
		var m map[string]any
		if err := json.Unmarshal(v, &m); err != nil || m == nil {
			return nil, errors.New("is not a JSON object")
		}
		return callFromMap(m)
	case nil:
		return nil, errors.New("is null, want a function call")
	default:
		return nil, fmt.Errorf("is a %T, want a function call", v)
	}
}

func callFromMap(m map[string]any) (*FunctionCall, error) {
	call := &FunctionCall{}
	var err error
	if call.ID, err = stringField(m, "id"); err != nil {
		return nil, err
	}
	if call.Name, err = stringField(m, "name"); err != nil {
		return nil, err
	}
	switch args := m["args"].(type) {
	case nil:
	case map[string]any:
		call.Args = args
	default:
		return nil, fmt.Errorf("args is a %T, want an object", args)
	}
	return call, nil
}

func stringField(m map[string]any, key string) (string, error) {
	switch v := m[key].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", fmt.Errorf("%s is a %T, want a string", key, v)
	}
}
