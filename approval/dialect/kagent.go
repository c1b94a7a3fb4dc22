package dialect

import (
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// The types of the payloads of kagent's extension.
const (
	kagentAsk      = "tool_approval_request"
	kagentDecide   = "tool_approval_response"
	kagentQuestion = "ask_user_request"
	kagentReply    = "ask_user_response"
)

// askKagent returns the question in kagent's extension, or nil when it cannot ask for any of
// the approvals.
//
// An answer has to name each id of the request exactly once, so the request only has approvals
// that the client may decide. It is for approvals or for a single question: approvals come
// first, then the oldest question.
func askKagent(all []*shown) map[string]any {
	var tools []any
	var hints []string
	var question *shown
	for _, s := range all {
		switch {
		case confirmable(s.Approval):
			tools = append(tools, map[string]any{"id": s.ID, "call_id": s.callID(), "name": s.Tool, "args": s.args})
			hints = append(hints, s.fullHint())
		case s.Kind == approval.KindQuestion && !s.Away() && question == nil:
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

// listed returns the questions of a tool that asks in kagent's own form.
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
			"question": visible.Text(text), "choices": choices, "multiple": given["multiple"] == true,
		})
	}
	return questions, len(questions) > 0
}

// single returns any other question in kagent's form: its hint, with the choices that its
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
func readKagent(in *incoming) ([]approval.Decision, error) {
	c, err := in.payload(KagentURI)
	if c == nil || err != nil {
		return nil, err
	}
	var read func(c *closed) ([]approval.Decision, error)
	switch c.object["type"] {
	case kagentDecide:
		read = in.cover
	case kagentReply:
		read = in.reply
	case kagentAsk, kagentQuestion: // the question, sent back: no decision
		return nil, nil
	default:
		return nil, in.wrong("", c.field+".type", "must be "+kagentDecide+" or "+kagentReply)
	}
	if !slices.Contains(in.message.Extensions, KagentURI) {
		return nil, in.wrong("", "message.extensions", "must list "+KagentURI+", because the message answers in that extension")
	}
	return read(c)
}

// cover reads decisions, which have to name each approval that the client may decide
// exactly once. If all that they name are already decided, the message was repeated or is
// late, and the caller handles that.
func (in *incoming) cover(c *closed) ([]approval.Decision, error) {
	c.only(unknownMember, "type", "approvals")
	field := c.field + ".approvals"
	list, ok := c.object["approvals"].([]any)
	if !ok || len(list) == 0 {
		c.bad("approvals", "must be an array with at least one decision")
	}
	if len(list) > MaxDecisions {
		return nil, in.tooMany(field, len(list))
	}
	wrong := c.violations
	answers := make([]approval.Decision, 0, len(list))
	seen := make(map[*approval.Approval]bool, len(list))
	open := false
	for i, v := range list {
		object, _ := v.(map[string]any)
		c := &closed{field: fmt.Sprintf("%s[%d]", field, i), object: object}
		answer := c.approval()
		if answer.ID != "" {
			a, err := approval.Find(answer, in.approvals)
			if err != nil {
				return nil, in.misnamed(c.field+".id", err)
			}
			if a.Kind == approval.KindQuestion {
				c.bad("id", "names a question: answer it with "+kagentReply)
			}
			if seen[a] {
				c.bad("id", "occurs twice")
			}
			seen[a] = true
			open = open || a.State == approval.Pending
		}
		answers = append(answers, answer)
		wrong = append(wrong, c.violations...)
	}
	for _, a := range in.pending {
		if confirmable(a) && !seen[a] && (open || len(wrong) > 0) {
			wrong = append(wrong, approval.Violation{Field: field, Description: visible.Line(a.ID) + " is missing: this extension needs a decision on each"})
		}
	}
	if len(wrong) > 0 {
		return nil, in.malformed("", wrong...)
	}
	return answers, nil
}

// approval reads a decision. It may name the call, whose id kagent's clients get along with
// the approval's.
func (c *closed) approval() approval.Decision {
	c.only(unknownMember, "id", "approved", rejectionReason)
	answer := approval.Decision{ID: c.text("id", true /* required */), ByCall: true, Type: approval.Reject}
	if _, ok := c.has("approved"); !ok {
		c.bad("approved", "must be true or false")
	}
	if c.flag("approved") {
		answer.Type = approval.Approve
	}
	answer.Reason = c.reason(answer.Type)
	return answer
}

// reply reads the answer to a question. A tool that asks in kagent's form gets
// {"answers": [{"answer": […]}]} unchanged; any other tool gets the value itself.
func (in *incoming) reply(c *closed) ([]approval.Decision, error) {
	c.only(unknownMember, "type", "id", "answers")
	answer := approval.Decision{ID: c.text("id", true /* required */), Type: approval.Respond}
	var a *approval.Approval
	if answer.ID != "" {
		var err *approval.Error
		if a, err = approval.Find(answer, in.approvals); err != nil {
			return nil, in.misnamed(c.field+".id", err)
		}
		if a.Kind != approval.KindQuestion {
			c.bad("id", "does not name a question")
		}
	}
	list, ok := c.object["answers"].([]any)
	if !ok {
		c.bad("answers", "must be an array")
	}
	wrong := c.violations
	replies := make([][]string, len(list))
	for i, v := range list {
		one, _ := v.(map[string]any)
		c := &closed{field: fmt.Sprintf("%s.answers[%d]", c.field, i), object: one}
		c.only(unknownMember, "answer")
		values, ok := one["answer"].([]any)
		for _, v := range values {
			text, isText := v.(string)
			ok = ok && isText
			replies[i] = append(replies[i], text)
		}
		if !ok {
			c.bad("answer", "must be an array of strings")
		}
		wrong = append(wrong, c.violations...)
	}
	if len(wrong) > 0 {
		return nil, in.malformed(answer.ID, wrong...)
	}
	field := c.field + ".answers"
	value, problem := replied(a, replies)
	if problem != "" {
		return nil, in.wrong(answer.ID, field, problem)
	}
	raw, err := strictjson.Plain(value)
	if err != nil {
		return nil, in.wrong(answer.ID, field, "cannot be written as JSON")
	}
	answer.Response = raw
	return []approval.Decision{answer}, nil
}

// replied converts replies to the form that a's tool expects, or returns the fault in them.
func replied(a *approval.Approval, replies [][]string) (value any, problem string) {
	payload, _ := decode(a.Payload) // checked when it was asked
	want := 1
	questions, own := listed(payload)
	if own {
		want = len(questions)
	}
	if len(replies) != want {
		return nil, fmt.Sprintf("has %d answers to %d questions", len(replies), want)
	}
	if own {
		answers := values(replies, func(texts []string) any { return map[string]any{"answer": append([]string{}, texts...)} })
		return map[string]any{"answers": answers}, ""
	}
	schema := schemaOf(a)
	if slices.Equal(typesOf(schema), []string{"array"}) {
		items, _ := keyword[any](schema, "items")
		return values(replies[0], func(text string) any { return fit(text, items) }), ""
	}
	if len(replies[0]) != 1 {
		return nil, "must have exactly one value"
	}
	return fit(replies[0][0], schema), ""
}
