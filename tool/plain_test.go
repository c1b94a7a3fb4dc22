package tool_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"a2a-server/tool"
)

// TestPlainSchemas compares with the library on its own: whatever a schema asks, and
// however a value is checked, they say the same of it.
func TestPlainSchemas(t *testing.T) {
	t.Parallel()
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		schema, _ := schemas(3).Draw(t, "schema").(map[string]any)
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := tool.CompileSchema(schema)
		if err != nil {
			t.Fatalf("CompileSchema(%s) = %v", text, err)
		}
		theirs := library(t, schema)
		for range 4 {
			v := values(schema).Draw(t, "value")
			got, want := ours.Validate(v), theirs.Validate(v)
			if (got == nil) != (want == nil) {
				t.Fatalf("%s: %#v: Validate() = %v, the library says %v", text, v, got, want)
			}
			if want == nil {
				valid++
			} else {
				invalid++
			}
		}
	})
	t.Logf("%d valid, %d invalid", valid, invalid)
	if valid == 0 || invalid == 0 {
		t.Error("nothing was valid, or nothing invalid: the test has compared nothing")
	}
}

func library(t *rapid.T, schema map[string]any) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("schema:///x", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema:///x")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	names = []string{"a", "b", "c", ""}
	kinds = []any{"null", "boolean", "string", "number", "integer", "array", "object"}
)

// schemas draws schemas, most of them plain.
func schemas(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(r *rapid.T) any {
		s := map[string]any{}
		if rapid.IntRange(0, 5).Draw(r, "typed") > 0 {
			s["type"] = rapid.SampledFrom(kinds).Draw(r, "type")
		}
		odd := func(keyword string, value any) {
			if rapid.IntRange(0, 12).Draw(r, keyword) == 0 {
				s[keyword] = value
			}
		}
		odd("description", "what it is")
		odd("minimum", 1.0)
		odd("maxLength", 1)
		odd("minProperties", 1)
		odd("uniqueItems", true)
		odd("not", map[string]any{"const": "x"})
		odd("enum", []any{"x", 1.0, map[string]any{"a": 1.0}})
		odd("patternProperties", map[string]any{"^a": map[string]any{"type": "string"}})
		if s["type"] == "string" && rapid.Bool().Draw(r, "has enum") {
			s["enum"] = []any{"x", "y", ""}
		}
		if depth == 0 {
			return s
		}
		some := func(keyword string) bool { return rapid.IntRange(0, 2).Draw(r, keyword) > 0 }
		if s["type"] == "array" && some("items") {
			s["items"] = schemas(depth-1).Draw(r, "items")
		}
		if s["type"] == "object" || s["type"] == nil {
			if some("properties") {
				s["properties"] = rapid.MapOfN(rapid.SampledFrom(names), schemas(depth-1), 0, 3).Draw(r, "properties")
			}
			if some("required") {
				s["required"] = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID[string]).Draw(r, "required")
			}
			switch rapid.IntRange(0, 4).Draw(r, "others") {
			case 0, 1:
				s["additionalProperties"] = false
			case 2:
				s["additionalProperties"] = true
			case 3:
				s["additionalProperties"] = schemas(depth-1).Draw(r, "additional")
			}
		}
		return s
	})
}

// values draws values for a schema, mostly such as fit it.
func values(schema any) *rapid.Generator[any] {
	s, _ := schema.(map[string]any)
	return rapid.Custom(func(r *rapid.T) any {
		kind := s["type"]
		if kind == nil || rapid.IntRange(0, 15).Draw(r, "odd") == 0 {
			kind = rapid.SampledFrom(append(kinds, "int", "infinite", "text")).Draw(r, "kind")
		}
		switch kind {
		case "boolean":
			return rapid.Bool().Draw(r, "boolean")
		case "string":
			return rapid.SampledFrom([]string{"x", "y", "", "other"}).Draw(r, "string")
		case "number", "integer":
			return rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -7, 0.5, 1 << 53, 1<<53 - 1, 1e20, 1e300, 5e-324, -1.5, math.Inf(1)}).Draw(r, "number")
		case "array":
			return rapid.SliceOfN(values(s["items"]), 0, 3).Draw(r, "array")
		case "object":
			properties, _ := s["properties"].(map[string]any)
			members := map[string]any{}
			for _, name := range names {
				property := properties[name]
				if property == nil {
					property = s["additionalProperties"]
				}
				likely := 3
				if property == false {
					likely = 8 // not to be there
				}
				if rapid.IntRange(0, likely).Draw(r, "has "+name) > 0 == (property != false) {
					members[name] = values(property).Draw(r, name)
				}
			}
			return members
		case "int": // which encoding/json does not decode to
			return 1
		case "infinite":
			return math.Inf(1)
		case "text":
			return json.Number("1.5")
		}
		return nil
	})
}
