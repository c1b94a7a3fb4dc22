package tool_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
)

func decoded(t *testing.T, raw string) map[string]any {
	t.Helper()
	m, err := tool.DecodeArgs([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func violationsOf(t *testing.T, err error) []tool.Violation {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*tool.InvalidError](err)
	if !ok {
		t.Fatalf("error is a %T, want *InvalidError: %v", err, err)
	}
	return e.Violations
}

func TestValidate(t *testing.T) {
	t.Parallel()
	schema := `{
		"type": "object",
		"properties": {
			"path": {"type": "string", "maxLength": 5},
			"when": {"type": "string", "format": "date-time"},
			"lines": {"type": "integer", "minimum": 1},
			"tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": true},
			"to": {"type": "object", "properties": {"a/b": {"type": "string"}}, "required": ["a/b"], "additionalProperties": false},
			"id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
			"one": {"oneOf": [{"type": "number"}, {"type": "integer"}]},
			"never": false,
			"ref": {"$ref": "#/$defs/name"},
			"env": {"type": "object", "propertyNames": {"pattern": "^[A-Z]+$"}}
		},
		"required": ["path"],
		"dependentRequired": {"lines": ["when"]},
		"additionalProperties": false,
		"$defs": {"name": {"type": "string", "pattern": "^[a-z]+$"}}
	}`
	tests := []struct {
		name string
		in   string
		want []tool.Violation
	}{
		{"good", `{"path": "x", "when": "2026-01-02T03:04:05Z", "lines": 2, "tags": ["a"], "to": {"a/b": "c"}, "id": null, "ref": "q"}`, nil},
		{"missing", `{}`, []tool.Violation{{"/path", "is missing"}}},
		{"missing below", `{"path": "x", "to": {}}`, []tool.Violation{{"/to/a~1b", "is missing"}}},
		{"unknown, sorted", `{"path": "x", "z": 1, "y~": 2}`, []tool.Violation{{"/y~0", "is not a known name"}, {"/z", "is not a known name"}}},
		{"needed with another", `{"path": "x", "lines": 1}`, []tool.Violation{{"/when", `is missing, but needed with "lines"`}}},
		{"type and enum", `{"path": 1, "tags": ["a", "c"]}`, []tool.Violation{
			{"/path", "got number, want string"}, {"/tags/1", "value must be one of 'a', 'b'"},
		}},
		{"integer", `{"path": "x", "when": "2026-01-02T03:04:05Z", "lines": 1.5}`, []tool.Violation{{"/lines", "got number, want integer"}}},
		{"format", `{"path": "x", "when": "today"}`, []tool.Violation{{"/when", `'today' is not valid date-time: less than 20 characters long`}}},
		{"alternatives", `{"path": "x", "id": 1}`, []tool.Violation{
			{"/id", "matches none of the alternatives: got number, want null, or got number, want string"},
		}},
		{"two of one", `{"path": "x", "one": 1}`, []tool.Violation{{"/one", "matches more than one of the alternatives, and has to match exactly one"}}},
		{"never", `{"path": "x", "never": 1}`, []tool.Violation{{"/never", "is not allowed here"}}},
		{"under a reference", `{"path": "x", "ref": "Q"}`, []tool.Violation{{"/ref", `'Q' does not match pattern '^[a-z]+$'`}}},
		{"a name", `{"path": "x", "env": {"a": 1}}`, []tool.Violation{{"/env/a", "is not an allowed name"}}},
	}
	s, err := tool.CompileSchema(decoded(t, schema))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := violationsOf(t, s.Validate(decoded(t, tt.in)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidateIsBounded(t *testing.T) {
	t.Parallel()
	s, err := tool.CompileSchema(map[string]any{"additionalProperties": map[string]any{"pattern": "^x*$"}})
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for i := range 200 {
		args[strings.Repeat("n", i)] = strings.Repeat("é", 1000)
	}
	err = s.Validate(args)
	if n := len(violationsOf(t, err)); n != 32 || len(err.Error()) > 20_000 {
		t.Errorf("%d violations, %d bytes", n, len(err.Error()))
	}
}

func TestCompileSchema(t *testing.T) {
	t.Parallel()
	for _, s := range []*tool.Schema{nil, compiled(t, nil)} {
		if err := s.Validate(map[string]any{"x": 1}); err != nil {
			t.Errorf("no schema refuses an object: %v", err)
		}
		if violationsOf(t, s.Validate("x")) == nil {
			t.Error("no schema accepts a string")
		}
	}
	// As it is written in Go.
	s := compiled(t, map[string]any{"required": []string{"n"}, "properties": map[string]any{"n": map[string]any{"minimum": 3}}})
	if got := violationsOf(t, s.Validate(map[string]any{"n": 2.0})); len(got) != 1 || got[0].Pointer != "/n" {
		t.Errorf("violations = %v", got)
	}
	for name, bad := range map[string]map[string]any{
		"unknown type":      {"type": "objekt"},
		"properties is odd": {"properties": []any{1}},
		"bad pattern":       {"pattern": "("},
		"file":              {"$ref": "file:///etc/hostname"},
		"web":               {"$ref": "https://example.com/schema.json"},
		"relative":          {"$ref": "other.json"},
		"unknown draft":     {"$schema": "https://example.com/draft"},
		"dangling":          {"$ref": "#/$defs/none"},
		"not JSON":          {"type": func() {}},
	} {
		if _, err := tool.CompileSchema(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A file that would do is not read either.
func TestCompileSchemaReadsNoFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(name, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tool.CompileSchema(map[string]any{"$ref": "file://" + filepath.ToSlash(name)}); err == nil {
		t.Error("CompileSchema() = nil, want an error")
	}
}

func compiled(t *testing.T, schema map[string]any) *tool.Schema {
	t.Helper()
	s, err := tool.CompileSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDecodeArgs(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", " \n", "{}"} {
		if got, err := tool.DecodeArgs([]byte(in)); err != nil || got == nil || len(got) != 0 {
			t.Errorf("DecodeArgs(%q) = %v, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		`{"a": {"b": 1, "b": 2}}`:   "/a/b",
		`{"n": [9007199254740993]}`: "/n/0",
		`null`:                      "",
		`[]`:                        "",
		`{`:                         "",
		"{\"s\": \"\xff\"}":         "/s",
		`{"s": "\ud800"}`:           "/s",
	} {
		_, err := tool.DecodeArgs([]byte(in))
		if got := violationsOf(t, err); len(got) != 1 || got[0].Pointer != want || got[0].Message == "" {
			t.Errorf("DecodeArgs(%q): %v, want a violation at %q", in, err, want)
		}
	}
}
