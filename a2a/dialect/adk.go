package dialect

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/tool/toolconfirmation"
)

// Literals of ADK's parts.
const (
	adkType         = "adk_type"
	kagentType      = "kagent_type" // kagent's own name for it
	adkLongRunning  = "adk_is_long_running"
	adkCall         = "function_call"
	adkResponse     = "function_response"
	adkRequestInput = "adk_request_input" // name of the call that asks for any value
)

// askADK is the question as a call that ADK waits for, or nil: ADK's Go client takes
// every call of the message for pending, so what it cannot answer is left out.
//
// Its Python client refuses to know more of a confirmation than the hint, confirmed
// and the payload, so nothing else may stand there.
func askADK(s *shown) *a2a.Part {
	var call map[string]any
	switch {
	case s.Kind != approval.KindQuestion:
		call = map[string]any{
			"id":   s.ID,
			"name": toolconfirmation.FunctionCallName,
			"args": map[string]any{
				"originalFunctionCall": map[string]any{"id": s.callID(), "name": s.Tool, "args": s.args},
				"toolConfirmation":     map[string]any{"hint": s.hint, "confirmed": false, "payload": s.payload},
			},
		}
	case s.Elsewhere():
		return nil
	default:
		call = map[string]any{
			"id":   s.ID,
			"name": adkRequestInput,
			"args": map[string]any{
				"interruptId":    s.ID,
				"message":        s.hint,
				"payload":        s.payload,
				"responseSchema": s.schema,
			},
		}
	}
	part := a2a.NewDataPart(call)
	part.Metadata = map[string]any{adkType: adkCall, adkLongRunning: true}
	return part
}

// readADK reads function responses: marked as such, or of their very shape and not
// marked as anything.
func readADK(in *incoming) ([]approval.Answer, error) {
	var all []approval.Answer
	for part := range in.dataParts() {
		mark, marked := part.metadata[adkType]
		if !marked {
			mark, marked = part.metadata[kagentType]
		}
		if marked && mark != adkResponse {
			continue
		}
		if !marked && !functionResponse(part.object) {
			continue
		}
		answer, err := in.function(part.field, part.object)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			all = append(all, *answer)
		}
	}
	return all, nil
}

// functionResponse reports whether an object without a mark has the shape of one.
func functionResponse(object map[string]any) bool {
	_, id := object["id"].(string)
	_, name := object["name"].(string)
	_, response := object["response"]
	return id && name && response
}

// function reads a function response. It is nil for one that is none of ours: of
// another function, and with an id that this task does not know.
func (in *incoming) function(field string, object map[string]any) (*approval.Answer, error) {
	id, isText := object["id"].(string)
	name, _ := object["name"].(string)
	ours := name == toolconfirmation.FunctionCallName || name == adkRequestInput
	if len(in.named(id)) == 0 {
		switch {
		case !ours:
			return nil, nil
		case !isText || id == "":
			return nil, in.malformed("", approval.Violation{
				Field: field + ".id", Description: "must be the id of an approval, or of its call",
			})
		}
		return nil, in.unknown(field+".id", id)
	}
	want := toolconfirmation.FunctionCallName
	if a := in.one(id); a != nil && a.Kind == approval.KindQuestion || a == nil && name == adkRequestInput {
		want = adkRequestInput
	}
	if name != want {
		return nil, in.malformed(id, approval.Violation{Field: field + ".name", Description: "must be " + want + " to answer this"})
	}
	response, ok := object["response"]
	if !ok || response == nil {
		response = map[string]any{} // ADK leaves an empty one out
	}
	if name == adkRequestInput {
		return in.input(field+".response", id, response)
	}
	return in.confirmation(field+".response", id, response)
}

// confirmation reads a confirmation in any of its wrappings: bare, within
// toolConfirmation, within response (as an object or as its JSON), or the text of a
// person within result. One that does not say confirmed is a rejection, as in ADK.
func (in *incoming) confirmation(field, id string, v any) (*approval.Answer, error) {
	wrong := func(field, description string) error {
		return in.malformed(id, approval.Violation{Field: field, Description: description})
	}
	for range 3 { // response, toolConfirmation, and the thing itself
		object, ok := v.(map[string]any)
		if !ok {
			return nil, wrong(field, `must be an object such as {"confirmed": true}`)
		}
		if inner, ok := object["toolConfirmation"]; ok {
			field, v = field+".toolConfirmation", inner
			continue
		}
		confirmed, says := object["confirmed"]
		if inner, ok := object["response"]; ok {
			if says {
				return nil, wrong(field, "must have confirmed or response, not both")
			}
			field, v = field+".response", inner
			if text, ok := inner.(string); ok {
				var err error
				if v, err = strictjson.Decode([]byte(text)); err != nil {
					return nil, wrong(field, `must be the JSON of an object such as {"confirmed": true}`)
				}
			}
			continue
		}
		if result, ok := object["result"]; ok && !says {
			return in.spoken(field+".result", id, result)
		}
		yes, ok := confirmed.(bool)
		if says && !ok {
			return nil, wrong(field+".confirmed", "must be true or false")
		}
		return in.confirmed(field, id, yes, object["payload"])
	}
	return nil, wrong(field, "is wrapped too often")
}

func (in *incoming) confirmed(field, id string, yes bool, payload any) (*approval.Answer, error) {
	answer := &approval.Answer{ID: id, Verb: approval.Reject}
	if yes {
		answer.Verb = approval.Approve
	}
	if payload == nil {
		return answer, nil
	}
	raw, err := encode(payload)
	if err != nil {
		return nil, in.malformed(id, approval.Violation{Field: field + ".payload", Description: "cannot be written as JSON"})
	}
	answer.Payload = raw
	if object, ok := payload.(map[string]any); ok && !yes {
		answer.Reason, _ = object["rejection_reason"].(string)
	}
	return answer, nil
}

// spoken reads what a person typed in ADK's Python client. The id says what is meant,
// so more than one may be pending; but where text is no answer, this is none.
func (in *incoming) spoken(field, id string, v any) (*approval.Answer, error) {
	text, ok := v.(string)
	verb, known := approval.Keyword(text)
	if !ok || !known {
		return nil, in.malformed(id, approval.Violation{Field: field, Description: "must be approve or reject"})
	}
	for _, a := range in.named(id) {
		if !in.keywords || a.Terms.Destructive || a.Terms.NoText {
			return nil, approval.NotAllowed(a, "a text does not decide it; "+howTo(in.approvals))
		}
	}
	return &approval.Answer{ID: id, Verb: verb}, nil
}

// input reads the answer to a question: any JSON. A function response has to be an
// object, so clients wrap what is not; the wrapping is taken off, unless the schema
// has a property of that name.
func (in *incoming) input(field, id string, v any) (*approval.Answer, error) {
	schema := in.schema(id)
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
	raw, err := encode(v)
	if err != nil {
		return nil, in.malformed(id, approval.Violation{Field: field, Description: "cannot be written as JSON"})
	}
	return &approval.Answer{ID: id, Verb: approval.Respond, Response: raw}, nil
}
