package toolconfirmation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"a2a-server/internal/strictjson"
)

// FunctionResponse is the response to a [FunctionCall], with its id and name.
type FunctionResponse struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Response is a [ToolConfirmation] or a pointer to one, the map that JSON decodes to, or a
	// [json.RawMessage]. Nil is an empty map.
	Response any `json:"response,omitempty"`
	// WillContinue says that another response follows, which has the whole decision.
	WillContinue bool `json:"willContinue,omitempty"`
}

// UnmarshalJSON takes will_continue, too, which is the name that ADK for Python writes.
func (r *FunctionResponse) UnmarshalJSON(raw []byte) error {
	type plain FunctionResponse
	both := struct {
		*plain
		Snake bool `json:"will_continue"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(raw, &both); err != nil {
		return err
	}
	r.WillContinue = r.WillContinue || both.Snake
	return nil
}

// Decision is a [ToolConfirmation] with the id of the call that asked for it.
type Decision struct {
	ID string
	ToolConfirmation
}

// Decisions returns the decisions in the function responses of a message, in their order, as
// adk-rs's ConfirmationPreprocessor does. Responses with another name than [FunctionCallName], and
// those that will continue, are skipped. A confirmation is the whole response, or its only member,
// toolConfirmation or response. Without confirmed it is a rejection, as in ADK.
//
// If a response has no id or an unknown member, or two with one id differ, none counts: the error
// lists every such response. (adk-rs drops a response without id.)
func Decisions(responses []FunctionResponse) ([]Decision, error) {
	var decisions []Decision
	var problems []error
	for i, r := range responses {
		if r.Name != FunctionCallName || r.WillContinue {
			continue
		}
		c, err := r.confirmation()
		at := slices.IndexFunc(decisions, func(d Decision) bool { return d.ID == r.ID })
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("confirmation %d, id %q: %w", i, r.ID, err))
		case at < 0:
			decisions = append(decisions, Decision{r.ID, c})
		case !reflect.DeepEqual(decisions[at].ToolConfirmation, c):
			problems = append(problems, fmt.Errorf("confirmation %d, id %q: differs from an earlier one: decide each call once", i, r.ID))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return decisions, nil
}

// confirmation returns the confirmation in a response.
func (r *FunctionResponse) confirmation() (ToolConfirmation, error) {
	if r.ID == "" {
		return ToolConfirmation{}, errors.New("has no id: repeat the id of the call that asked")
	}
	v := r.Response
	for range 3 { // response, toolConfirmation, and the confirmation
		object, err := objectOf(v)
		if err != nil {
			return ToolConfirmation{}, err
		}
		wrapper := ""
		for _, name := range []string{ArgConfirmation, "response"} {
			if _, ok := object[name]; ok && wrapper == "" {
				wrapper = name
			}
		}
		if wrapper == "" {
			return confirmationFromMap(object)
		}
		if len(object) > 1 {
			return ToolConfirmation{}, fmt.Errorf("has members beside %q, which holds the whole decision", wrapper)
		}
		v = object[wrapper]
	}
	return ToolConfirmation{}, errors.New("is nested too deeply")
}

// objectOf returns the object that a response is.
func objectOf(v any) (map[string]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil //nolint:nilnil // ADK leaves out an empty response
	case map[string]any:
		return v, nil
	case ToolConfirmation:
		return map[string]any{"hint": v.Hint, "confirmed": v.Confirmed, "payload": v.Payload}, nil
	case *ToolConfirmation:
		if v == nil {
			return nil, errors.New("is null, want a confirmation")
		}
		return objectOf(*v)
	case json.RawMessage:
		object, err := strictjson.DecodeObject(v)
		if err != nil {
			return nil, fmt.Errorf("is not a JSON object: %w", err)
		}
		return object, nil
	default:
		return nil, fmt.Errorf("is a %T, want a confirmation", v)
	}
}

// confirmationFromMap reads an unwrapped confirmation.
func confirmationFromMap(m map[string]any) (ToolConfirmation, error) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains([]string{"hint", "confirmed", "payload"}, name) {
			return ToolConfirmation{}, fmt.Errorf("has the member %q, which no confirmation has", name)
		}
	}
	hint, err := stringField(m, "hint")
	if err != nil {
		return ToolConfirmation{}, err
	}
	confirmed, ok := m["confirmed"].(bool)
	if !ok && m["confirmed"] != nil {
		return ToolConfirmation{}, fmt.Errorf("confirmed is a %T, want a bool", m["confirmed"])
	}
	return ToolConfirmation{Hint: hint, Confirmed: confirmed, Payload: m["payload"]}, nil
}
