package toolconfirmation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool/toolconfirmation"
)

func TestDecisions(t *testing.T) {
	t.Parallel()
	yes := toolconfirmation.ToolConfirmation{Confirmed: true}
	var none *toolconfirmation.ToolConfirmation
	tests := []struct {
		name     string
		response any
		want     toolconfirmation.ToolConfirmation
		err      string
	}{
		{name: "bare", response: map[string]any{"confirmed": true}, want: yes},
		{name: "wrapped", response: map[string]any{"toolConfirmation": map[string]any{"confirmed": true}}, want: yes},
		{name: "in response", response: map[string]any{"response": map[string]any{"confirmed": true}}, want: yes},
		{name: "in both", response: map[string]any{"response": map[string]any{"toolConfirmation": map[string]any{"confirmed": true}}}, want: yes},
		{name: "raw JSON", response: json.RawMessage(`{"confirmed": true}`), want: yes},
		{name: "typed", response: yes, want: yes},
		{name: "pointer", response: &yes, want: yes},
		{name: "hint and payload", response: map[string]any{"confirmed": false, "hint": "why", "payload": []any{1.0}}, want: toolconfirmation.ToolConfirmation{Hint: "why", Payload: []any{1.0}}},
		{name: "nothing", response: nil},
		{name: "empty", response: map[string]any{}},
		{name: "null", response: map[string]any{"confirmed": nil}},
		{name: "typed null", response: none, err: "is null"},
		{name: "text", response: "yes", err: "is a string, want a confirmation"},
		{name: "a word", response: map[string]any{"confirmed": "true"}, err: "confirmed is a string, want a bool"},
		{name: "unknown member", response: map[string]any{"confirmed": true, "args": map[string]any{}}, err: `"args"`},
		{name: "beside a wrapper", response: map[string]any{"confirmed": true, "response": map[string]any{"confirmed": false}}, err: `beside "response"`},
		{name: "two wrappers", response: map[string]any{"toolConfirmation": map[string]any{}, "response": map[string]any{}}, err: `beside "toolConfirmation"`},
		{name: "raw list", response: json.RawMessage(`[]`), err: "not a JSON object"},
		{name: "too deep", response: map[string]any{"response": map[string]any{"response": map[string]any{"response": map[string]any{}}}}, err: "too deeply"},
		{name: "hint is a number", response: map[string]any{"hint": 1.0}, err: "hint is a float64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := toolconfirmation.FunctionResponse{ID: "a1", Name: toolconfirmation.FunctionCallName, Response: yes}
			got, err := toolconfirmation.Decisions([]toolconfirmation.FunctionResponse{
				first, {ID: "a3", Name: "other", Response: "text"}, {ID: "a2", Name: toolconfirmation.FunctionCallName, Response: yes, WillContinue: true}, {ID: "a2", Name: toolconfirmation.FunctionCallName, Response: tt.response}, first,
			})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), `confirmation 3, id "a2"`) || got != nil {
					t.Errorf("Decisions = %v, %v, want no decision and an error with %s", got, err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]toolconfirmation.Decision{{"a1", yes}, {"a2", tt.want}}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, more := range map[string]toolconfirmation.FunctionResponse{
		"no id":         {Response: yes},
		"the opposite":  {ID: "a1", Response: map[string]any{"confirmed": false}},
		"other payload": {ID: "a1", Response: map[string]any{"confirmed": true, "payload": 1.0}},
	} {
		more.Name = toolconfirmation.FunctionCallName
		got, err := toolconfirmation.Decisions([]toolconfirmation.FunctionResponse{{ID: "a1", Name: toolconfirmation.FunctionCallName, Response: yes}, more})
		if err == nil || got != nil {
			t.Errorf("%s: Decisions = %v, %v, want an error and no decision", name, got, err)
		}
	}
}

func ExampleDecisions() {
	decisions, err := toolconfirmation.Decisions([]toolconfirmation.FunctionResponse{
		{ID: "a1", Name: toolconfirmation.FunctionCallName, Response: json.RawMessage(`{"confirmed": true}`)},
		{ID: "a2", Name: toolconfirmation.FunctionCallName, Response: json.RawMessage(`{"toolConfirmation": {"confirmed": false, "hint": "Pay 7?"}}`)},
	})
	for _, d := range decisions {
		fmt.Println(d.ID, d.Confirmed)
	}
	fmt.Println(err)
	// Output:
	// a1 true
	// a2 false
	// <nil>
}

// A response that says two things, or that is not finished, decides nothing: the wire dialect refuses
// both, and so does Decisions.
func TestDecisionsOfContradictions(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"confirmed twice": `{"id": "a", "name": "adk_request_confirmation", "response": {"confirmed": false, "confirmed": true}}`,
		"two wrapped":     `{"id": "a", "name": "adk_request_confirmation", "response": {"response": {"confirmed": false}, "response": {"confirmed": true}}}`,
	} {
		var r struct {
			ID, Name string
			Response json.RawMessage
		}
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		got, err := toolconfirmation.Decisions([]toolconfirmation.FunctionResponse{{ID: r.ID, Name: r.Name, Response: r.Response}})
		if err == nil {
			t.Errorf("%s: Decisions() = %+v, want an error: it contradicts itself", name, got)
		}
	}
	var r toolconfirmation.FunctionResponse
	if err := json.Unmarshal([]byte(`{"id": "a", "name": "adk_request_confirmation", "will_continue": true, "response": {"confirmed": true}}`), &r); err != nil {
		t.Fatal(err)
	}
	if got, err := toolconfirmation.Decisions([]toolconfirmation.FunctionResponse{r}); err == nil && len(got) > 0 {
		t.Errorf("will_continue: Decisions() = %+v, want none: another response follows", got)
	}
}
