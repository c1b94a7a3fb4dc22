package dialect

import (
	"maps"

	"a2a-server/approval"
)

// adkRustResponse is the only member of a data part in which adk-rs sends a function
// response, and adkRustCall that of a function call. adk-rs asks by call, so the response
// has the id of the call; it asks with a response, too.
const (
	adkRustResponse = "adk:functionResponse"
	adkRustCall     = "adk:functionCall"
)

// adkActions is the key of ADK for the actions of an event, and adkConfirmations their member with
// the confirmations that it requests, by the id of the call, as adk-rs names it.
const (
	adkActions       = "adk_actions"
	adkConfirmations = "requested_tool_confirmations"
)

// askADKRust returns the actions of the question: a confirmation for each call that the client may
// answer by its id; nil: there is none. An id that several approvals have answers none of them.
func askADKRust(all []*shown) map[string]any {
	calls, twice := map[string]any{}, map[string]bool{}
	for _, s := range all {
		if s.Kind != approval.KindCall || s.Away() {
			continue
		}
		c := map[string]any{"hint": s.fullHint(), "confirmed": false}
		if s.payload != nil {
			c["payload"] = s.payload
		}
		id := s.callID()
		_, known := calls[id]
		twice[id] = twice[id] || known
		calls[id] = c
	}
	maps.DeleteFunc(calls, func(id string, _ any) bool { return twice[id] })
	if len(calls) == 0 {
		return nil
	}
	return map[string]any{adkConfirmations: calls}
}

// readADKRust reads a function response of adk-rs.
func readADKRust(in *incoming, part dataPart) ([]approval.Decision, error) {
	c := &closed{field: part.field(), object: part.object}
	object, ok := part.object[adkRustResponse].(map[string]any)
	if !ok {
		c.bad(adkRustResponse, "must be an object with id, name and response")
		return nil, in.malformed("", c.violations...)
	}
	answers, err := in.function(c.field+"."+adkRustResponse, object, true /* byCall */)
	if len(answers) == 0 {
		return nil, err
	}
	if c.only("cannot be combined with "+adkRustResponse, adkRustResponse); len(c.violations) > 0 {
		return nil, in.malformed(answers[0].ID, c.violations...)
	}
	return answers, nil
}
