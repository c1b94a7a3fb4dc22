package dialect

import "a2a-server/approval"

// adkRustResponse is the only member of a data part in which adk-rs sends a function
// response. adk-rs asks by call, so the response has the id of the call.
const adkRustResponse = "adk:functionResponse"

// readADKRust reads the function responses of adk-rs.
func readADKRust(in *incoming) ([]approval.Answer, error) {
	var all []approval.Answer
	for part := range in.dataParts() {
		v := part.object[adkRustResponse]
		if v == nil {
			continue
		}
		c := &closed{field: part.field(), object: part.object}
		object, ok := v.(map[string]any)
		if !ok {
			c.bad(adkRustResponse, "must be an object with id, name and response")
			return nil, in.malformed("", c.violations...)
		}
		answer, err := in.function(c.field+"."+adkRustResponse, object, true /* byCall */)
		if err != nil {
			return nil, err
		}
		if answer == nil {
			continue
		}
		if c.only("cannot be combined with "+adkRustResponse, adkRustResponse); len(c.violations) > 0 {
			return nil, in.malformed(answer.ID, c.violations...)
		}
		all = append(all, *answer)
	}
	return all, nil
}
