package direct_test

import (
	"testing"

	"a2a-server/task/planner/direct"
)

// Pairs change some arguments, with the types of the schema or of the present values, and an object changes all.
func TestEdit(t *testing.T) {
	t.Parallel()
	schema := map[string]any{"properties": map[string]any{"to": map[string]any{"type": "string"}, "n": map[string]any{"type": "integer"}, "any": map[string]any{}}}
	const args = `{"n":90071992547409931,"any":"5","to":"bob"}`
	for name, tc := range map[string]struct {
		schema     map[string]any
		text, want string // want "": an error
	}{
		"by the schema":     {schema, `n=1 to=2`, `{"any":"5","n":1,"to":"2"}`},
		"by the value":      {schema, `any=7`, `{"any":"7","n":90071992547409931,"to":"bob"}`},
		"without schema":    {nil, `to=2 n=3 new=4`, `{"any":"5","n":3,"new":4,"to":"2"}`},
		"quoted":            {schema, `to="a b"`, `{"any":"5","n":90071992547409931,"to":"a b"}`},
		"all":               {schema, ` { "n": 1 } `, `{"n":1}`},
		"unknown":           {schema, `nn=1`, ""},
		"no pair":           {schema, `n`, ""},
		"nothing":           {schema, ` `, ""},
		"no JSON":           {schema, `{"n":`, ""},
		"an argument twice": {schema, `n=1 n=2`, ""},
	} {
		got, err := direct.Edit([]byte(args), tc.schema, tc.text)
		if string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %q gives %s, %v, want %s", name, tc.text, got, err, tc.want)
		}
	}
}
