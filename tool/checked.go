package tool

import (
	"context"
	"reflect"
)

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

// ArgsChecked reports whether exactly these arguments have been checked against exactly
// this schema: maps are compared by identity. If the caller has not checked them, or a
// wrapper has replaced them, it returns false and the tool checks them itself.
func ArgsChecked(ctx context.Context, schema, args map[string]any) bool {
	if ctx == nil {
		return false
	}
	c := callValues(ctx).Checked
	return c != nil && c.schema != nil && args != nil && same(c.args, args) && same(c.schema.source, schema)
}

func same(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
