package dialect

import "a2a-server/approval"

// adkRustResponse is the only member of a data part in which adk-rs sends a function
// response, and adkRustCall that of a function call. adk-rs asks by call, so the response
// has the id of the call; it asks with a response, too.
const (
	adkRustResponse = "adk:functionResponse"
	adkRustCall     = "adk:functionCall"
)

func adkRustForms() []form {
	return []form{withMember(adkRustCall, nil), withMember(adkRustResponse, readADKRust)}
}

// readADKRust reads a function response of adk-rs.
func readADKRust(in *incoming, part dataPart) ([]approval.Decision, error) {
	c := &closed{field: part.field(), object: part.object}
	object, ok := part.object[adkRustResponse].(map[string]any)
	if !ok {
		c.bad(adkRustResponse, "must be an object with id, name and response")
		return nil, in.malformed("", c.violations...)
	}
	answer, err := in.function(c.field+"."+adkRustResponse, object, true /* byCall */)
	if answer == nil || err != nil {
		return nil, err
	}
	if c.only("cannot be combined with "+adkRustResponse, adkRustResponse); len(c.violations) > 0 {
		return nil, in.malformed(answer.ID, c.violations...)
	}
	return []approval.Decision{*answer}, nil
}
