package dialect

import (
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
)

// The types of the payloads of kagent's extension.
const (
	kagentAsk      = "tool_approval_request"
	kagentDecide   = "tool_approval_response"
	kagentQuestion = "ask_user_request"
	kagentReply    = "ask_user_response"
)

// askKagent is the question in kagent's extension, or nil when it cannot ask for any
// of them.
//
// An answer there has to name each id of the request exactly once. So only those are
// in it that the client may decide, or it could decide none. And a request is for
// approvals or for one question: approvals come first, then the oldest question.
func askKagent(all []*shown) map[string]any {
	var tools []any
	var hints []string
	var question *shown
	for _, s := range all {
		switch {
		case s.confirmable():
			tools = append(tools, map[string]any{"id": s.ID, "call_id": s.callID(), "name": s.Tool, "args": s.args})
			hints = append(hints, s.hint)
		case s.Kind == approval.KindQuestion && !s.Elsewhere() && question == nil:
			question = s
		}
	}
	if len(tools) > 0 {
		return map[string]any{"type": kagentAsk, "hint": strings.Join(hints, "\n"), "tools": tools}
	}
	if question == nil {
		return nil
	}
	questions, ok := listed(question.payload)
	if !ok {
		questions = []any{single(question)}
	}
	return map[string]any{"type": kagentQuestion, "id": question.ID, "questions": questions}
}

// listed returns the questions that a tool asks in kagent's own form, if it does.
func listed(payload any) ([]any, bool) {
	object, _ := payload.(map[string]any)
	list, _ := object["questions"].([]any)
	questions := make([]any, 0, len(list))
	for _, v := range list {
		given, _ := v.(map[string]any)
		text, ok := given["question"].(string)
		if !ok {
			return nil, false
		}
		choices, ok := given["choices"].([]any)
		if !ok {
			choices = []any{}
		}
		questions = append(questions, map[string]any{
			"question": escape(text), "choices": choices, "multiple": given["multiple"] == true,
		})
	}
	return questions, len(questions) > 0
}

// single is any other question in kagent's form: its hint, with the choices that its
// schema lists.
func single(s *shown) map[string]any {
	schema, multiple := s.schema, false
	if slices.Equal(typesOf(schema), []string{"array"}) {
		multiple = true
		schema, _ = keyword[any](schema, "items")
	}
	choices := texts(schema)
	if choices == nil {
		choices = []any{}
	}
	return map[string]any{"question": s.hint, "choices": choices, "multiple": multiple}
}

// readKagent reads kagent's answers from the message's metadata.
func readKagent(in *incoming) ([]approval.Answer, error) {
	object, ok := in.message.Metadata[KagentURI].(map[string]any)
	if !ok {
		return nil, nil
	}
	kind := object["type"]
	if kind != kagentDecide && kind != kagentReply {
		return nil, nil
	}
	if !slices.Contains(in.message.Extensions, KagentURI) {
		return nil, in.malformed("", approval.Violation{
			Field: "message.extensions", Description: "must list " + KagentURI + ", because the message answers in that extension",
		})
	}
	field := "message.metadata[" + KagentURI + "]"
	if kind == kagentReply {
		return in.reply(field, object)
	}
	return in.cover(field+".approvals", object["approvals"])
}

// cover reads decisions that have to name each approval that the client may decide
// exactly once. When all that it names are decided already, it is sent again or late,
// and what follows from that is for the caller to say.
func (in *incoming) cover(field string, v any) ([]approval.Answer, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, in.malformed("", approval.Violation{Field: field, Description: "must be an array with at least one decision"})
	}
	if len(list) > MaxDecisions {
		return nil, in.tooMany(field, len(list))
	}
	var wrong []approval.Violation
	answers := make([]approval.Answer, 0, len(list))
	seen := make(map[string]bool, len(list))
	open := false
	for i, v := range list {
		item := fmt.Sprintf("%s[%d]", field, i)
		object, _ := v.(map[string]any)
		s := &strict{field: item, object: object}
		id := s.text("id", true /* required */)
		yes, ok := object["approved"].(bool)
		if !ok {
			s.bad("approved", "must be true or false")
		}
		reason := s.text("rejection_reason", false /* required */)
		if id != "" && len(in.named(id)) == 0 {
			return nil, in.unknown(item+".id", id)
		}
		a := in.one(id)
		if a != nil && a.Kind == approval.KindQuestion {
			s.bad("id", "is of a question, which "+kagentReply+" answers")
		}
		key := in.key(id)
		if id != "" && seen[key] {
			s.bad("id", "is there twice")
		}
		seen[key] = true
		open = open || a != nil && a.State == approval.Pending
		answer := approval.Answer{ID: id, Verb: approval.Reject, Reason: reason}
		if yes {
			answer.Verb, answer.Reason = approval.Approve, ""
		}
		answers = append(answers, answer)
		wrong = append(wrong, s.violations...)
	}
	for _, a := range in.pending {
		if confirmable(a) && !seen[a.ID] && (open || len(wrong) > 0) {
			wrong = append(wrong, approval.Violation{
				Field: field, Description: oneLine(a.ID) + " is missing: this extension wants a decision on each",
			})
		}
	}
	if len(wrong) > 0 {
		return nil, in.malformed("", wrong...)
	}
	return answers, nil
}

// reply reads the answer to a question. To a tool that asks in kagent's form goes
// {"answers": [{"answer": […]}]} as it came; any other one gets the value itself.
func (in *incoming) reply(field string, object map[string]any) ([]approval.Answer, error) {
	id, ok := object["id"].(string)
	if !ok || id == "" {
		return nil, in.malformed("", approval.Violation{Field: field + ".id", Description: "must be the id of a question"})
	}
	if len(in.named(id)) == 0 {
		return nil, in.unknown(field+".id", id)
	}
	a := in.one(id)
	if a == nil || a.Kind != approval.KindQuestion {
		return nil, in.malformed(id, approval.Violation{Field: field + ".id", Description: "is not of a question"})
	}
	field += ".answers"
	list, ok := object["answers"].([]any)
	if !ok {
		return nil, in.malformed(id, approval.Violation{Field: field, Description: "must be an array"})
	}
	replies := make([][]string, len(list))
	for i, v := range list {
		one, _ := v.(map[string]any)
		values, ok := one["answer"].([]any)
		for _, v := range values {
			text, isText := v.(string)
			ok = ok && isText
			replies[i] = append(replies[i], text)
		}
		if !ok {
			return nil, in.malformed(id, approval.Violation{
				Field: fmt.Sprintf("%s[%d].answer", field, i), Description: "must be an array of strings",
			})
		}
	}
	value, problem := in.value(a, replies)
	if problem != "" {
		return nil, in.malformed(id, approval.Violation{Field: field, Description: problem})
	}
	raw, err := encode(value)
	if err != nil {
		return nil, in.malformed(id, approval.Violation{Field: field, Description: "cannot be written as JSON"})
	}
	return []approval.Answer{{ID: id, Verb: approval.Respond, Response: raw}}, nil
}

// value brings replies into the form that a's tool expects, or says what is wrong.
func (in *incoming) value(a *approval.Approval, replies [][]string) (value any, problem string) {
	payload, err := decode(a.Payload)
	if err != nil {
		payload = nil // checked when it was asked
	}
	want := 1
	questions, own := listed(payload)
	if own {
		want = len(questions)
	}
	if len(replies) != want {
		return nil, fmt.Sprintf("has %d answers to %d questions", len(replies), want)
	}
	if own {
		answers := make([]any, len(replies))
		for i, values := range replies {
			answers[i] = map[string]any{"answer": append([]string{}, values...)}
		}
		return map[string]any{"answers": answers}, ""
	}
	schema := in.schema(a.ID)
	if slices.Equal(typesOf(schema), []string{"array"}) {
		items, _ := keyword[any](schema, "items")
		values := make([]any, len(replies[0]))
		for i, text := range replies[0] {
			values[i] = fit(text, items)
		}
		return values, ""
	}
	if len(replies[0]) != 1 {
		return nil, "must have exactly one value"
	}
	return fit(replies[0][0], schema), ""
}
