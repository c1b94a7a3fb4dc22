package tool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"a2a-server/tool"
)

// doubling returns a schema in which every definition refers twice to the next one.
func doubling(levels int, keyword string) map[string]any {
	defs := map[string]any{fmt.Sprint("d", levels): map[string]any{"type": "object"}}
	for i := range levels {
		next := map[string]any{"$ref": fmt.Sprint("#/$defs/d", i+1)}
		defs[fmt.Sprint("d", i)] = map[string]any{keyword: []any{next, next}}
	}
	return map[string]any{"$defs": defs, "$ref": "#/$defs/d0"}
}

// A schema of a few lines may take years to check, so it is refused.
func TestSchemaThatDoubles(t *testing.T) {
	t.Parallel()
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		begun := time.Now()
		if s, err := tool.CompileSchema(doubling(24, keyword)); err == nil {
			err = s.Validate(map[string]any{})
			t.Errorf("%s: it is compiled, and checking {} took %v: %v", keyword, time.Since(begun), err)
		}
		if s, err := tool.CompileSchema(doubling(8, keyword)); err != nil {
			t.Errorf("%s of 256: %v", keyword, err)
		} else if err := s.Validate(map[string]any{}); (err == nil) != (keyword != "oneOf") {
			t.Errorf("%s of 256: {} is %v", keyword, err)
		}
	}
	within := map[string]any{"type": "object", "$defs": doubling(24, "allOf")["$defs"]}
	within["properties"] = map[string]any{"a": map[string]any{"items": map[string]any{"$ref": "#/$defs/d0"}}}
	if _, err := tool.CompileSchema(within); err == nil {
		t.Error("a schema that doubles within another one is compiled")
	}
	for says, schema := range map[string]map[string]any{
		"itself":      {"allOf": []any{map[string]any{"$ref": "#"}}},
		"$dynamicRef": {"$dynamicAnchor": "a", "properties": map[string]any{"x": map[string]any{"$dynamicRef": "#a"}}},
	} {
		if _, err := tool.CompileSchema(schema); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %s", schema, err, says)
		}
	}
	tree := map[string]any{"anyOf": []any{
		map[string]any{"type": "object", "additionalProperties": map[string]any{"$ref": "#"}},
		map[string]any{"type": "array", "items": map[string]any{"$ref": "#"}},
	}}
	if _, err := tool.CompileSchema(tree); err != nil {
		t.Errorf("a schema that describes a tree: %v", err)
	}
}
