package approvaltool

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/internal/lists"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// AskUserName is the name of the tool that [NewAskUser] returns.
const AskUserName = "ask_user"

// question are the arguments of ask_user.
type question struct {
	Question string         `json:"question" jsonschema:"minLength=1,maxLength=4000" jsonschema_description:"The question, as the person is to read it."`
	Choices  []string       `json:"choices,omitempty" jsonschema:"maxItems=50,uniqueItems=true" jsonschema_description:"Answers to choose from. Without them any text is an answer."`
	Multiple bool           `json:"multiple,omitempty" jsonschema_description:"Several of the choices may be chosen; the answer is then a list."`
	Form     map[string]any `json:"form,omitempty" jsonschema_description:"JSON Schema of the answer, in place of choices."`
}

// NewAskUser returns the tool ask_user. Its arguments are question, and optionally choices
// with multiple, or form, a JSON Schema. Its result has answer: a string, a list of choices,
// or a value that fits the schema. Without an answer it has declined, or expired after the
// deadline, and reason if the person gave a reason.
//
// An answer is information and never an authorization.
func NewAskUser() (tool.CallableTool, error) {
	return functiontool.New(functiontool.Config{
		Name:        AskUserName,
		Description: "Asks a person a question and returns the answer. An answer is information: it approves nothing.",
		Annotations: tool.Annotations{ReadOnly: true},
	}, askUser)
}

func askUser(ctx tool.Context, q question) (map[string]any, error) {
	resumed, ok := tool.Resumed(ctx)
	if !ok || len(resumed.Answers) == 0 {
		a, err := q.ask()
		if err != nil {
			return nil, err
		}
		return nil, &tool.Suspension{Asks: []tool.Question{a}}
	}
	answer := resumed.Answers[0]
	result := map[string]any{}
	if answer.Reason != "" {
		result["reason"] = answer.Reason
	}
	switch answer.State {
	case tool.AnswerResponded:
		var v any
		if err := json.Unmarshal(answer.Response, &v); err != nil {
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		result["answer"] = v
	case tool.AnswerExpired:
		result["expired"] = true
	default:
		result["declined"] = true
	}
	return result, nil
}

// ask returns the question in the form that its answer needs.
func (q *question) ask() (tool.Question, error) {
	a := tool.Question{ID: "question", Kind: tool.AskForm, Hint: q.Question}
	switch {
	case len(q.Choices) > 0 && q.Form != nil:
		return a, errors.New("a question has choices or a form, not both")
	case q.Multiple && len(q.Choices) == 0:
		return a, errors.New("multiple needs choices")
	case q.Form != nil:
		if _, err := tool.CompileSchema(q.Form); err != nil {
			return a, err
		}
		a.Schema = q.Form
	case q.Multiple:
		a.Schema = map[string]any{"type": "array", "items": choice(q.Choices), "uniqueItems": true}
	case len(q.Choices) > 0:
		a.Schema = choice(q.Choices)
	default:
		a.Kind = tool.AskQuestion
	}
	return a, nil
}

// choice is the schema of a choice between texts.
func choice(of []string) map[string]any {
	return map[string]any{"type": "string", "enum": lists.Map(of, func(text string) any { return text })}
}
