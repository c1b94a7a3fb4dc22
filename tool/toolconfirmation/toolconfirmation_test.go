package toolconfirmation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool/toolconfirmation"
)

func TestOriginalCallFrom(t *testing.T) {
	t.Parallel()
	want := &toolconfirmation.FunctionCall{ID: "c1.1", Name: "delete", Args: map[string]any{"path": "/x"}}
	raw := map[string]any{"id": "c1.1", "name": "delete", "args": map[string]any{"path": "/x"}, "more": true}
	var none *toolconfirmation.FunctionCall
	tests := []struct {
		name string
		arg  any
		want *toolconfirmation.FunctionCall
		err  string
	}{
		{name: "typed", arg: want, want: want},
		{name: "typed value", arg: *want, want: want},
		{name: "map", arg: raw, want: want},
		{name: "raw JSON", arg: json.RawMessage(`{"id": "c1.1", "name": "delete", "args": {"path": "/x"}}`), want: want},
		{name: "name alone", arg: map[string]any{"name": "list", "args": nil}, want: &toolconfirmation.FunctionCall{Name: "list"}},
		{name: "null", arg: nil, err: "is null"},
		{name: "typed null", arg: none, err: "is null"},
		{name: "text", arg: "delete", err: "is a string, want a function call"},
		{name: "no name", arg: map[string]any{"id": "1"}, err: "has no name"},
		{name: "name of blanks", arg: map[string]any{"name": " "}, err: "has no name"},
		{name: "name is a number", arg: map[string]any{"name": 1.0}, err: "name is a float64, want a string"},
		{name: "id is a number", arg: map[string]any{"name": "x", "id": 1.0}, err: "id is a float64, want a string"},
		{name: "args is a list", arg: map[string]any{"name": "x", "args": []any{}}, err: "args is a []interface {}, want an object"},
		{name: "raw list", arg: json.RawMessage(`[]`), err: "is not a JSON object"},
		{name: "raw null", arg: json.RawMessage(`null`), err: "is not a JSON object"},
		{name: "raw and more", arg: json.RawMessage(`{"name": "x"} {}`), err: "is not a JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := toolconfirmation.OriginalCallFrom(&toolconfirmation.FunctionCall{
				ID: "q", Name: toolconfirmation.FunctionCallName, Args: map[string]any{toolconfirmation.ArgOriginalCall: tt.arg},
			})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), `"q"`) {
					t.Fatalf("error = %v, want …%s…", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, c := range map[string]*toolconfirmation.FunctionCall{"nil": nil, "no arguments": {}} {
		if _, err := toolconfirmation.OriginalCallFrom(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(map[string]any{
		"c": toolconfirmation.ToolConfirmation{Hint: "why", Payload: 1},
		"f": toolconfirmation.FunctionCall{ID: "1", Name: "n", Args: map[string]any{"a": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"c":{"hint":"why","confirmed":false,"payload":1},"f":{"id":"1","name":"n","args":{"a":1}}}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
