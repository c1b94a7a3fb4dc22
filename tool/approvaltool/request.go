package approvaltool

import (
	"fmt"

	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// RequestName is the name of the tool that [NewRequest] returns.
const RequestName = "request_approval"

// request are the arguments of request_approval.
type request struct {
	Action  string `json:"action" jsonschema:"minLength=1,maxLength=2000" jsonschema_description:"What is to be done, in one sentence."`
	Reason  string `json:"reason,omitempty" jsonschema:"maxLength=4000" jsonschema_description:"Why it is to be done."`
	Details any    `json:"details,omitempty" jsonschema_description:"Anything else that helps to decide."`
}

// NewRequest returns the tool request_approval. Its arguments are action, and optionally
// reason and details, any JSON value. Its result has approved, and reason if the person gave a
// reason; after the deadline it has approved false and expired true.
//
// It always asks, whatever the gates of a configuration say about it.
func NewRequest() (tool.CallableTool, error) {
	return functiontool.New(functiontool.Config{
		Name: RequestName,
		Description: "Asks a person to approve or reject something that you intend to do, and returns the decision. " +
			"Do not ask again after a rejection. It does not replace the approval that other tools ask for themselves.",
		Annotations: tool.Annotations{ReadOnly: true},
	}, ask)
}

func ask(ctx tool.Context, r request) (map[string]any, error) {
	resumed, ok := tool.Resumed(ctx)
	if !ok || len(resumed.Answers) == 0 {
		hint := r.Action
		if r.Reason != "" {
			hint = fmt.Sprintf("%s\nReason: %s", r.Action, r.Reason)
		}
		return nil, &tool.Suspension{Asks: []tool.Question{{ID: "request", Kind: tool.AskConfirm, Hint: hint, Payload: r.Details}}}
	}
	answer := resumed.Answers[0]
	result := outcome(answer)
	result["approved"] = answer.State == tool.AnswerApproved
	return result, nil
}

// outcome returns what a result has of any answer: its reason, and whether it expired.
func outcome(answer tool.Answer) map[string]any {
	result := map[string]any{}
	if answer.State == tool.AnswerExpired {
		result["expired"] = true
	}
	if answer.Reason != "" {
		result["reason"] = answer.Reason
	}
	return result
}
