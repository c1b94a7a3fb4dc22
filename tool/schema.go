package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled JSON Schema (2020-12, unless it names another draft). It is safe
// for concurrent use. A nil *Schema accepts any object.
type Schema struct {
	compiled *jsonschema.Schema // nil: any object
	source   map[string]any     // the source of compiled
}

// schemaURL is the address of a schema during compilation. It resolves to nothing, and so
// does any address relative to it.
const schemaURL = "schema:///arguments"

// CompileSchema compiles a schema. It checks it against the metaschema. Formats are asserted,
// and patterns have the syntax of package regexp. A reference to anything outside the schema
// is an error; nothing is ever loaded. So are $dynamicRef, and a schema that would check a
// value thousands of times. A nil schema accepts any object.
func CompileSchema(schema map[string]any) (*Schema, error) {
	if schema == nil {
		return &Schema{}, nil
	}
	// A schema written in Go may hold ints and []string; the library only accepts values that
	// it has decoded itself.
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("compile a JSON schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("compile a JSON schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	c.AssertFormat()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("compile a JSON schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compile a JSON schema: %w", err)
	}
	if err := bounded(compiled); err != nil {
		return nil, fmt.Errorf("compile a JSON schema: %w", err)
	}
	return &Schema{compiled: compiled, source: schema}, nil
}

// Validate checks v, a JSON value as encoding/json decodes it. The error is an *[InvalidError]
// with the violations, sorted by Pointer.
func (s *Schema) Validate(v any) error {
	if s == nil || s.compiled == nil {
		if _, ok := v.(map[string]any); !ok {
			return Invalid("", "want an object")
		}
		return nil
	}
	if err := s.compiled.Validate(v); err != nil {
		return invalid(v, err)
	}
	return nil
}

// Checked is the proof that arguments have been checked against a schema. Only [Schema.Check]
// makes it; the zero value proves nothing.
type Checked struct {
	schema *Schema
	args   map[string]any
}

// Check is [Schema.Validate] for the arguments of a call; it also returns the proof that
// they are valid. The arguments must not be changed afterwards.
func (s *Schema) Check(args map[string]any) (Checked, error) {
	if err := s.Validate(args); err != nil {
		return Checked{}, err
	}
	return Checked{schema: s, args: args}, nil
}

// CheckCall is [Schema.Validate] for the arguments of the call that runs in ctx. It checks nothing if its
// caller has checked exactly these arguments against exactly this schema: maps are compared by identity,
// so that arguments which a wrapper has replaced are checked.
func (s *Schema) CheckCall(ctx context.Context, args map[string]any) error {
	if ctx != nil && s != nil && args != nil {
		if c := callValues(ctx).Checked; c != nil && c.schema != nil && same(c.args, args) && same(c.schema.source, s.source) {
			return nil
		}
	}
	return s.Validate(args)
}

func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
