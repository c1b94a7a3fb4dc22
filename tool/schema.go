package tool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema (2020-12, unless it names another draft) that is ready
// for use. It is safe for concurrent use. A nil *Schema accepts any object.
type Schema struct {
	compiled *jsonschema.Schema // nil: any object
	source   map[string]any     // that it was compiled from
	plain    *plain             // nil: compiled asks for more
}

// schemaURL is the address of a schema while it is compiled. It leads nowhere, and
// neither does any that is relative to it.
const schemaURL = "schema:///arguments"

// CompileSchema makes a schema ready for use. It is checked against the metaschema;
// formats are asserted; patterns are those of package regexp; a reference to
// anything outside of it is an error, nothing is ever loaded. A nil schema accepts
// any object.
func CompileSchema(schema map[string]any) (*Schema, error) {
	if schema == nil {
		return &Schema{}, nil
	}
	// A schema written in Go may hold ints and []string; the library wants what it
	// decodes itself.
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
	return &Schema{compiled: compiled, source: schema, plain: plainOf(doc)}, nil
}

// Validate checks v, a JSON value as encoding/json decodes it. The error is an
// *[InvalidError] that lists what is wrong, sorted by place.
func (s *Schema) Validate(v any) error {
	if s == nil || s.compiled == nil {
		if _, ok := v.(map[string]any); !ok {
			return &InvalidError{Violations: []Violation{{Message: "want an object"}}}
		}
		return nil
	}
	if s.plain != nil && s.plain.fits(v) {
		return nil
	}
	if err := s.compiled.Validate(v); err != nil {
		return invalid(v, err)
	}
	return nil
}
