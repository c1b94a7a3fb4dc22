package approvaltool

import (
	"errors"
	"fmt"

	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Config describes a function of the calling agent.
type Config struct {
	Name        string
	Description string
	Parameters  map[string]any // JSON Schema of the arguments; nil: there are none
	Hint        tool.HintFunc  // the question; nil: it lists the arguments
}

// New returns a tool that runs nothing: it has a call of the agent's function approved, and the
// agent then runs the function itself, with the arguments of the result, once for each approval.
//
// The result of an approved call has approved true, arguments, by (the subjects of the deciders),
// approval (an id) and, if a grant lets the call run, grant: see [tool.Approval]. That of a call
// that was rejected or has expired has approved false and reason.
func New(c Config) (tool.CallableTool, error) {
	if c.Name == "" || c.Description == "" {
		return nil, errors.New("a tool that asks needs a name and a description")
	}
	if c.Parameters == nil {
		c.Parameters = map[string]any{"type": "object", "additionalProperties": false}
	}
	if _, err := tool.CompileSchema(c.Parameters); err != nil {
		return nil, err
	}
	return &ask{c}, nil
}

// ask is a tool that [New] returns.
type ask struct{ config Config }

var _ tool.DecisionTool = (*ask)(nil)

func (t *ask) Name() string           { return t.config.Name }
func (t *ask) Description() string    { return t.config.Description }
func (*ask) IsLongRunning() bool      { return false }
func (*ask) RequiresApproval() bool   { return true }
func (t *ask) Schema() map[string]any { return t.config.Parameters }

// Hint implements [tool.Hinter].
func (t *ask) Hint(ctx agent.ReadonlyContext, args map[string]any) (string, error) {
	if t.config.Hint == nil {
		return "", nil
	}
	return t.config.Hint(ctx, args)
}

// Call implements [tool.CallableTool]. A server calls it once the call is approved.
func (t *ask) Call(ctx tool.Context, args map[string]any) (map[string]any, error) {
	a := tool.ApprovalOf(ctx)
	if a.ID == "" {
		return nil, fmt.Errorf("%s was called without an approval: call it through a server", t.config.Name)
	}
	result := map[string]any{"approved": true, "arguments": args, "by": a.By, "approval": a.ID}
	if a.Grant != "" {
		result["grant"] = a.Grant
	}
	return result, nil
}

// Refusal implements [tool.DecisionTool].
func (*ask) Refusal(reason string) map[string]any {
	result := map[string]any{"approved": false}
	if reason != "" {
		result["reason"] = reason
	}
	return result
}

// RequestName is the name of the tool that [NewRequest] returns.
const RequestName = "request_approval"

// NewRequest returns the tool request_approval, for an action that the agent describes: its
// arguments are action, and optionally reason and arguments, an object. It is otherwise a tool of
// [New].
func NewRequest() (tool.CallableTool, error) {
	text := func(longest int, description string) map[string]any {
		return map[string]any{"type": "string", "minLength": 1, "maxLength": longest, "description": description}
	}
	return New(Config{
		Name: RequestName,
		Description: "Asks a person to approve or reject something that you intend to do, and returns the decision. " +
			"If it is approved, do it once, with the arguments of the result, which the person may have changed. " +
			"Do not ask again after a rejection. It does not replace the approval that other tools ask for themselves.",
		Parameters: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"action"},
			"properties": map[string]any{
				"action":    text(2000, "What is to be done, in one sentence."),
				"reason":    text(4000, "Why it is to be done."),
				"arguments": map[string]any{"type": "object", "description": "With what it is to be done."},
			},
		},
		Hint: requestHint,
	})
}

// requestHint is the question of request_approval. Gates may mask either argument.
func requestHint(_ agent.ReadonlyContext, args map[string]any) (string, error) {
	hint := fmt.Sprint(args["action"])
	if reason, has := args["reason"]; has {
		hint += fmt.Sprint("\nReason: ", reason)
	}
	return hint, nil
}
