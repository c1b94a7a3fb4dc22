package direct_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/task"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// fake is a tool that has a definition and nothing else: planners run nothing.
type fake struct {
	name, description string
	approval          bool
	schema            map[string]any
}

func (f fake) Name() string           { return f.name }
func (f fake) Description() string    { return f.description }
func (f fake) IsLongRunning() bool    { return false }
func (f fake) RequiresApproval() bool { return f.approval }
func (f fake) Schema() map[string]any { return f.schema }

// tools are a tool with one required string, one with several arguments, and one
// without a schema.
func tools() []tool.Tool {
	return []tool.Tool{
		fake{name: "echo", description: "Says it again.", schema: map[string]any{
			"type":       "object",
			"properties": map[string]any{"text": map[string]any{"type": "string"}, "times": map[string]any{"type": "integer"}},
			"required":   []any{"text"},
		}},
		fake{name: "transfer_money", description: "Moves money\nto an account.", approval: true, schema: map[string]any{
			"type": "object",
			"properties": map[string]any{
				"amount": map[string]any{"type": "number", "description": "how much"},
				"to":     map[string]any{"type": "string"},
				"memo":   map[string]any{"type": []any{"string", "null"}},
				"tags":   map[string]any{"type": "array"},
				"any":    map[string]any{"type": []any{"string", "integer"}},
				"speed":  map[string]any{"type": "string", "enum": []any{"slow", "fast"}},
			},
			"required": []string{"amount", "to"},
		}},
		fake{name: "bare"},
	}
}

func message(parts ...*a2a.Part) *a2a.Message {
	return &a2a.Message{ID: "m1", ContextID: "ctx1", Role: a2a.MessageRoleUser, Parts: parts}
}

func text(s string) *a2a.Part { return a2a.NewTextPart(s) }

// data returns a data part as the wire decodes it.
func data(t *testing.T, s string) *a2a.Part {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return a2a.NewDataPart(v)
}

func adk(p *a2a.Part) *a2a.Part {
	p.Metadata = map[string]any{"adk_type": "function_call", "adk_is_long_running": false}
	return p
}

// plan accepts and plans m. The answer of Accept is returned when there is one.
func plan(t *testing.T, m *a2a.Message) ([]task.PlannedCall, *a2a.Message) {
	t.Helper()
	p := direct.New(direct.Config{NewID: func() string { return "answer" }})
	request := &task.Request{Message: m, Tools: tools()}
	answer, err := p.Accept(nil, request)
	if err != nil {
		t.Fatalf("Accept() = %v, want no error", err)
	}
	if answer != nil {
		return nil, answer
	}
	step, err := p.Plan(t.Context(), &task.Progress{Task: "t1", Context: "ctx1", Tools: tools(), Messages: []task.PlannerMessage{{Message: m}}})
	if err != nil {
		t.Fatalf("Plan() of an accepted message = %v, want no error", err)
	}
	if len(step.Output) > 0 || step.Ask != nil || step.Wait != 0 || step.End != nil {
		t.Errorf("Plan() = %+v, want calls and nothing else", step)
	}
	if diff := cmp.Diff(step, request.First); diff != "" {
		t.Errorf("the step of Accept differs from that of Plan (-want +got):\n%s", diff)
	}
	return step.Calls, nil
}
