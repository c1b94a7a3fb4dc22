package dialect

import "a2a-server/approval"

// adkRustResponse is the one field of a data part in which adk-rs sends a function
// response. It asks by the id of the call, so that is what comes back.
const adkRustResponse = "adk:functionResponse"

// readADKRust reads the function responses of adk-rs.
func readADKRust(in *incoming) ([]approval.Answer, error) {
	var all []approval.Answer
	for part := range in.dataParts() {
		v, ok := part.object[adkRustResponse]
		if !ok {
			continue
		}
		field := part.field + "." + adkRustResponse
		object, ok := v.(map[string]any)
		if !ok {
			return nil, in.malformed("", approval.Violation{Field: field, Description: "must be an object with id, name and response"})
		}
		answer, err := in.function(field, object)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			all = append(all, *answer)
		}
	}
	return all, nil
}
