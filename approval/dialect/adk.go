package dialect

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/tool/toolconfirmation"
)

// Names in ADK's parts.
const (
	adkType         = "adk_type"
	kagentType      = "kagent_type" // kagent's own name for it
	adkLongRunning  = "adk_is_long_running"
	adkCall         = "function_call"
	adkResponse     = "function_response"
	adkRequestInput = "adk_request_input" // name of the call that asks for any value

	rejectionReason = "rejection_reason" // of a rejection, also in kagent's extension
)

// askADK returns the question as a long-running function call, or nil when the client may
// not answer: ADK's clients ask their user about every such call, and the Go client treats
// it as pending until it is answered.
//
// The Python client rejects members of toolConfirmation other than hint, confirmed and
// payload.
func askADK(s *shown) *a2a.Part {
	if s.Away() {
		return nil
	}
	call := map[string]any{
		"id":   s.ID,
		"name": toolconfirmation.FunctionCallName,
		"args": map[string]any{
			"originalFunctionCall": map[string]any{"id": s.callID(), "name": s.Tool, "args": s.args},
			"toolConfirmation":     map[string]any{"hint": s.fullHint(), "confirmed": false, "payload": s.payload},
		},
	}
	if s.Kind == approval.KindQuestion {
		call["name"] = adkRequestInput
		call["args"] = map[string]any{"interruptId": s.ID, "message": s.hint, "payload": s.payload, "responseSchema": s.schema}
	}
	part := a2a.NewDataPart(call)
	part.Metadata = map[string]any{adkType: adkCall, adkLongRunning: true}
	return part
}

// adkMarked reports whether ADK's mark of a part, or kagent's copy of it, has this value.
func adkMarked(metadata map[string]any, as string) bool {
	return metadata[adkType] == as || metadata[kagentType] == as
}

// adkAsks reports whether a part is a function call, which is marked as such, or unmarked and named as
// ours are.
func adkAsks(metadata, object map[string]any) bool {
	if metadata[adkType] != nil || metadata[kagentType] != nil {
		return adkMarked(metadata, adkCall)
	}
	return (object["name"] == toolconfirmation.FunctionCallName || object["name"] == adkRequestInput) && !functionResponse(object)
}

// adkAnswers reports whether a part is a function response: marked as such, or unmarked and of exactly
// their shape.
func adkAnswers(metadata, object map[string]any) bool {
	if metadata[adkType] != nil || metadata[kagentType] != nil {
		return adkMarked(metadata, adkResponse)
	}
	return functionResponse(object)
}

func readADK(in *incoming, part dataPart) ([]approval.Decision, error) {
	return in.function(part.field(), part.object, false /* byCall */)
}

// functionResponse reports whether an unmarked object has the shape of a function response.
func functionResponse(object map[string]any) bool {
	_, id := object["id"].(string)
	_, name := object["name"].(string)
	_, response := object["response"]
	return id && name && response
}

// function reads a function response. It returns none for a response to another agent: its name
// is another function, and its id is unknown in this task; and for a response that will be
// continued, which decides nothing. byCall says whether the id may name a call.
func (in *incoming) function(field string, object map[string]any, byCall bool) ([]approval.Decision, error) {
	id, isText := object["id"].(string)
	name, _ := object["name"].(string)
	ours := name == toolconfirmation.FunctionCallName || name == adkRequestInput
	answer := approval.Decision{ID: id, ByCall: byCall}
	a, wrong := approval.Find(answer, in.approvals)
	switch {
	case wrong == nil:
	case !ours && wrong.Reason == approval.ReasonUnknown:
		return nil, nil
	case ours && (!isText || id == ""):
		return nil, in.wrong("", field+".id", "must be the id of an approval")
	case ours:
		return nil, in.misnamed(field+".id", wrong)
	}
	want := toolconfirmation.FunctionCallName
	if a != nil && a.Kind == approval.KindQuestion {
		want = adkRequestInput
	}
	if name != want {
		return nil, in.wrong(id, field+".name", "must be "+want+" to answer this")
	}
	c := &closed{field: field, object: object}
	c.only("is not known in a function response", "id", "name", "response", "scheduling", "willContinue", "will_continue", "parts")
	c.text("scheduling", false /* required */) // when to tell a model, which does not concern us
	more := c.flag("willContinue")
	more = c.flag("will_continue") || more
	if parts, ok := c.has("parts"); ok {
		if list, ok := parts.([]any); !ok || len(list) > 0 {
			c.bad("parts", "must be empty: the decision is in the response")
		}
	}
	if len(c.violations) > 0 {
		return nil, in.malformed(id, c.violations...)
	}
	if more { // the response without it is the whole decision
		in.continued = append(in.continued, field)
		return nil, nil
	}
	response := object["response"]
	if response == nil {
		response = map[string]any{} // ADK omits an empty response
	}
	if name == adkRequestInput {
		return in.input(field+".response", a, answer, response)
	}
	return in.confirmation(field+".response", a, answer, response)
}

// confirmation reads a confirmation in any of its wrappers: none, toolConfirmation,
// response (an object, or its JSON as a string), or result with the text of a person.
// Without confirmed it is a rejection, as in ADK.
//
// A wrapper must be the only member, because any other might contradict it.
func (in *incoming) confirmation(field string, a *approval.Approval, answer approval.Decision, v any) ([]approval.Decision, error) {
	for range 3 { // response, toolConfirmation, and the confirmation
		object, ok := v.(map[string]any)
		if !ok {
			return nil, in.wrong(answer.ID, field, `must be an object such as {"confirmed": true}`)
		}
		c := &closed{field: field, object: object}
		wrapping := ""
		for _, name := range []string{"toolConfirmation", "response", "result"} {
			if _, ok := c.has(name); ok && wrapping == "" {
				wrapping = name
			}
		}
		if wrapping == "" {
			return in.confirmed(c, a, answer)
		}
		if c.only("cannot be combined with "+wrapping+", which holds the whole decision", wrapping); len(c.violations) > 0 {
			return nil, in.malformed(answer.ID, c.violations...)
		}
		field, v = field+"."+wrapping, object[wrapping]
		text, isText := v.(string)
		switch {
		case wrapping == "result":
			return in.spoken(field, a, answer, v)
		case wrapping == "response" && isText:
			var err error
			if v, err = strictjson.Decode([]byte(text)); err != nil {
				return nil, in.wrong(answer.ID, field, `must be the JSON of an object such as {"confirmed": true}`)
			}
		}
	}
	return nil, in.wrong(answer.ID, field, "is nested too deeply")
}

// confirmed reads an unwrapped confirmation. The reason for a rejection may be a member of
// it or of its payload, where ADK's clients can put it.
func (in *incoming) confirmed(c *closed, a *approval.Approval, answer approval.Decision) ([]approval.Decision, error) {
	c.only("is not known in a confirmation", "confirmed", "payload", "hint", rejectionReason)
	answer.Type = approval.Reject
	if c.flag("confirmed") {
		answer.Type = approval.Approve
	}
	c.text("hint", false /* required */) // of the question, sent back
	answer.Reason = c.reason(answer.Type)

	payload, paid := c.has("payload")
	if object, ok := payload.(map[string]any); ok {
		p := &closed{field: c.field + ".payload", object: object}
		reason := p.reason(answer.Type)
		if !agree(&answer.Reason, reason) {
			p.bad(rejectionReason, "must be the same as "+c.field+"."+rejectionReason)
		}
		c.violations = append(c.violations, p.violations...)
		// For a tool that takes no payload, a payload with only the reason does not count.
		if _, ok := object[rejectionReason]; ok && len(object) == 1 && !a.AcceptsPayload() {
			paid = false
		}
	}
	if paid {
		var err error
		if answer.Payload, err = strictjson.Plain(payload); err != nil {
			c.bad("payload", "cannot be written as JSON")
		}
	}
	if len(c.violations) > 0 {
		return nil, in.malformed(answer.ID, c.violations...)
	}
	return []approval.Decision{answer}, nil
}

// reason reads the reason for a rejection, which is an error with any other decision.
func (c *closed) reason(decision approval.DecisionType) string {
	if _, ok := c.has(rejectionReason); ok && decision != approval.Reject {
		c.bad(rejectionReason, "is only allowed with a rejection")
	}
	return c.text(rejectionReason, false /* required */)
}

// spoken reads a text that a person typed in ADK's Python client. The id names the approval,
// so several may be pending; a server that does not accept words does not accept this either.
func (in *incoming) spoken(field string, a *approval.Approval, answer approval.Decision, v any) ([]approval.Decision, error) {
	text, _ := v.(string)
	if object := written(text); object != nil {
		answers, err := in.written(field, object)
		if err != nil {
			return nil, err
		}
		if len(answers) != 1 || answers[0].ID != a.ID {
			return nil, in.wrong(answer.ID, field, "must decide this approval and no other")
		}
		return answers, nil
	}
	word, ok := approval.ReadWord(text)
	if !ok {
		return nil, in.wrong(answer.ID, field, "must be approve or reject")
	}
	if why := in.refusesWord(a, word); why != "" {
		return nil, approval.NotAllowed(a, why+"; "+howTo(in.approvals))
	}
	answer.Type, answer.Reason, answer.Code = word.Type, word.Reason, word.Code
	return []approval.Decision{answer}, nil
}

// input reads the answer to a question: any JSON value. A function response has to be an
// object, so clients wrap other values; the wrapper is removed, unless the schema has a
// property of that name.
func (in *incoming) input(field string, a *approval.Approval, answer approval.Decision, v any) ([]approval.Decision, error) {
	schema := schemaOf(a)
	if object, ok := v.(map[string]any); ok && len(object) == 1 {
		for _, name := range []string{"response", "result", "payload"} {
			inner, ok := object[name]
			if !ok || declares(schema, name) {
				continue
			}
			field, v = field+"."+name, inner
			if text, ok := inner.(string); ok {
				v = fit(text, schema)
			}
			break
		}
	}
	raw, err := strictjson.Plain(v)
	if err != nil {
		return nil, in.wrong(answer.ID, field, "cannot be written as JSON")
	}
	answer.Type, answer.Response = approval.Respond, raw
	return []approval.Decision{answer}, nil
}
