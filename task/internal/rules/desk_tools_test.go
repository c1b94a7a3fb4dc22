package rules_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// shelf is a toolset that is asked each time.
type shelf struct {
	tools []*fake
	down  error
	asked func() // before each answer; nil: nothing
}

func (s *shelf) Name() string { return "shelf" }

func (s *shelf) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	if s.asked != nil {
		s.asked()
	}
	all := make([]tool.Tool, len(s.tools))
	for i, f := range s.tools {
		all[i] = f
	}
	return all, s.down
}

// fake is a tool that is never run: the desk says what comes of its calls.
type fake struct {
	name    string
	gated   bool
	payload bool
	is      tool.Annotations
	schema  map[string]any
}

func (f *fake) Name() string                  { return f.name }
func (f *fake) Description() string           { return "test tool " + f.name }
func (f *fake) IsLongRunning() bool           { return false }
func (f *fake) RequiresApproval() bool        { return f.gated }
func (f *fake) TakesPayload() bool            { return f.payload }
func (f *fake) Annotations() tool.Annotations { return f.is }
func (f *fake) Schema() map[string]any        { return f.schema }

func (f *fake) Call(tool.Context, map[string]any) (map[string]any, error) {
	return nil, errors.New("it is not run here")
}

// amounts is the schema of a tool that moves an amount.
func amounts(description string) map[string]any {
	return map[string]any{
		"type": "object", "description": description, "additionalProperties": false,
		"properties": map[string]any{"amount": map[string]any{"type": "number"}}, "required": []any{"amount"},
	}
}

// steps is a planner that plans what it is given, and then ends its task.
type steps struct {
	list []*task.Step
	slow bool
}

func (p *steps) Inline() bool { return !p.slow }

func (p *steps) Plan(_ context.Context, at *task.Progress) (*task.Step, error) {
	if i := len(at.Steps); i < len(p.list) {
		return p.list[i], nil
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// call is a call of a tool with an amount.
func call(name string, amount int) task.PlannedCall {
	return task.PlannedCall{Tool: name, Args: fmt.Appendf(nil, `{"amount":%d}`, amount)}
}
