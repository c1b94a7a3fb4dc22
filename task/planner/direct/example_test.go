package direct_test

import (
	"encoding/json"
	"testing"

	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

// The example of a tool is a text that is read as a call of it with its required arguments.
func TestExample(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:                   "/tool",
		`{"type": "object"}`: "/tool",
		`{"required": ["amount", "to"], "properties": {"amount": {"type": "number"}, "to": {"type": "string"}, "memo": {}}}`:                       "/tool amount=1 to=text",
		`{"required": ["a", "b", "c", "d"], "properties": {"a": {"type": "boolean"}, "b": {"type": "array"}, "c": {"type": ["object", "null"]}}}`:  "/tool a=true b=[] c={} d=text",
		`{"required": ["env", "n", "who"], "properties": {"env": {"enum": ["staging"]}, "n": {"default": 7}, "who": {"examples": ["two words"]}}}`: `/tool env=staging n=7 who="two words"`,
	} {
		d := tool.Definition{Name: "tool"}
		if schema != "" {
			if err := json.Unmarshal([]byte(schema), &d.Parameters); err != nil {
				t.Fatal(err)
			}
		}
		if got := direct.Example(d); got != want {
			t.Errorf("Example(%s) = %s, want %s", schema, got, want)
		}
	}
	several := tool.Definition{Name: "tool", Parameters: map[string]any{"required": []any{"a", "b"}, "properties": map[string]any{
		"a": map[string]any{"type": "number", "default": 1, "examples": []any{2, 3}}, "b": map[string]any{"type": "string", "examples": []any{"x"}},
	}}}
	if got, want := direct.Variant(several, 1), "/tool a=3 b=x"; got != want {
		t.Errorf("Variant() = %s, want %s", got, want)
	}
	for _, f := range tools() {
		example := direct.Example(tool.ToDefinition(f))
		if calls, answer := plan(t, message(text(example))); answer != nil || len(calls) != 1 || calls[0].Tool != f.Name() {
			t.Errorf("%s is read as %v, %v", example, calls, answer)
		}
	}
}
