package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// nestedJSON is an array in an array, and so on.
func nestedJSON(n int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
}

// Whatever is handed in, nested as deep as JSON can be, is refused or can be read again:
// the desk reads the log after each draft.
func TestNothingIsTooDeepToBeReadAgain(t *testing.T) {
	t.Parallel()
	for _, n := range []int{900, 9990, 9996, 9997, 9998, 9999, 10000} {
		deep := nestedJSON(n)
		plans := func(s *task.Step) func(k *desk) {
			return func(k *desk) {
				k.planner.list = []*task.Step{s}
				k.beginAs()
			}
		}
		part, calls := a2a.NewDataPart(deep), []task.PlannedCall{{Tool: "ask"}}
		asks := func(p *a2a.Part) *task.Step {
			return &task.Step{Ask: &task.InputRequest{Message: &a2a.Message{ID: "q", Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{p}}}}
		}
		gated := &fake{name: "pay", gated: true, payload: true}
		for name, put := range map[string]func(k *desk){
			"a response": func(k *desk) {
				plans(&task.Step{Calls: calls})(k)
				k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{question("", "?")}})
				_ = k.answer(approval.Decision{ID: id(1), Type: approval.Respond, Response: deep})
			},
			"a payload": func(k *desk) {
				k.begin(task.PlannedCall{Tool: "pay"})
				_ = k.answer(approval.Decision{ID: id(1), Type: approval.Approve, Payload: deep})
			},
			"an edit": func(k *desk) {
				k.begin(task.PlannedCall{Tool: "pay"})
				_ = k.answer(edit(id(1), `{"a":`+string(deep)+`}`))
			},
			"arguments":                plans(&task.Step{Calls: []task.PlannedCall{{Tool: "ask", Args: json.RawMessage(`{"a":` + string(deep) + `}`)}}}),
			"the state of a planner":   plans(&task.Step{Calls: calls, State: deep}),
			"a question of a planner":  plans(asks(part)),
			"an artifact of a planner": plans(&task.Step{Calls: calls, Output: []task.Output{{Artifact: &task.ArtifactPiece{ID: "a", Parts: []*a2a.Part{part}}}}}),
			"metadata of a planner":    plans(&task.Step{Calls: calls, Output: []task.Output{{Metadata: map[string]any{"a": deep}}}}),
			"a follow-up": func(k *desk) {
				plans(asks(a2a.NewTextPart("?")))(k)
				in := k.says("m", "x", alice)
				in.Message.Parts = a2a.ContentParts{part}
				raw, err := rules.EncodeMessage(in.Message)
				if err != nil {
					return
				}
				in.JSON = raw
				_ = k.put(in)
			},
		} {
			t.Run(fmt.Sprintf("%s of %d levels", name, n), func(t *testing.T) {
				t.Parallel()
				put(newDesk(t, nil, &fake{name: "ask"}, gated))
			})
		}
	}
}
