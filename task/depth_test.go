package task_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
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
		for name, put := range map[string]func(t *testing.T){
			"a response": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask"})
				k.begin(task.PlannedCall{Tool: "ask"})
				k.pauses("c1.1", tool.Suspension{Asks: []tool.Ask{question("", "?")}})
				_ = k.answer(approval.Answer{ID: id(1), Verb: approval.Respond, Response: deep})
			},
			"a payload": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask", gated: true, payload: true})
				k.begin(task.PlannedCall{Tool: "ask"})
				_ = k.answer(approval.Answer{ID: id(1), Verb: approval.Approve, Payload: deep})
			},
			"an edit": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask", gated: true})
				k.begin(task.PlannedCall{Tool: "ask"})
				_ = k.answer(approval.Answer{ID: id(1), Verb: approval.Edit, Args: json.RawMessage(`{"a":` + string(deep) + `}`)})
			},
			"arguments": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask"})
				k.begin(task.PlannedCall{Tool: "ask", Args: json.RawMessage(`{"a":` + string(deep) + `}`)})
			},
			"the state of a planner": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask"})
				k.planner.list = []*task.Step{{Calls: []task.PlannedCall{{Tool: "ask"}}, State: deep}}
				k.beginAs()
			},
			"a question of a planner": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask"})
				k.planner.list = []*task.Step{{Ask: &task.Ask{Message: &a2a.Message{ID: "q", Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewDataPart(deep)}}}}}
				k.beginAs()
			},
			"an artifact of a planner": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask"})
				k.planner.list = []*task.Step{{Calls: []task.PlannedCall{{Tool: "ask"}}, Output: []task.Output{{Artifact: &task.ArtifactPiece{ID: "a", Parts: []*a2a.Part{a2a.NewDataPart(deep)}}}}}}
				k.beginAs()
			},
			"metadata of a planner": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask"})
				k.planner.list = []*task.Step{{Calls: []task.PlannedCall{{Tool: "ask"}}, Output: []task.Output{{Metadata: map[string]any{"a": deep}}}}}
				k.beginAs()
			},
			"a follow-up": func(t *testing.T) {
				k := newDesk(t, nil, &fake{name: "ask"})
				k.planner.list = []*task.Step{{Ask: &task.Ask{Message: &a2a.Message{ID: "q", Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("?")}}}}}
				k.beginAs()
				in := k.says("m", "x", alice)
				in.Message.Parts = a2a.ContentParts{a2a.NewDataPart(deep)}
				raw, err := task.EncodeMessage(in.Message)
				if err != nil {
					return
				}
				in.JSON = raw
				_ = k.put(in)
			},
		} {
			t.Run(fmt.Sprintf("%s of %d levels", name, n), func(t *testing.T) {
				t.Parallel()
				put(t)
			})
		}
	}
}
