package functiontool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"a2a-server/tool"
)

// arguments turns a call's arguments into a Go value.
type arguments struct {
	schema   map[string]any
	compiled *tool.Schema
	defaults bool // whether the schema has any
}

func newBase[A any](c Config, noFunction bool) (*base, error) {
	switch {
	case c.Name == "":
		return nil, errors.New("make a tool from a function: it needs a name")
	case strings.ContainsFunc(c.Name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return nil, fmt.Errorf("make tool %q from a function: messages name tools by a single word: write letters, digits, _ and -", c.Name)
	case noFunction:
		return nil, fmt.Errorf("make tool %q from a function: the function is nil", c.Name)
	}
	args, err := argumentsOf(reflect.TypeFor[A]())
	if err != nil {
		return nil, fmt.Errorf("make tool %q from a function: %w", c.Name, err)
	}
	return &base{config: c, arguments: args}, nil
}

func argumentsOf(t reflect.Type) (*arguments, error) {
	schema, err := schemaOf(t)
	if err != nil {
		return nil, err
	}
	compiled, err := tool.CompileSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of %v: %w", t, err)
	}
	defaults, err := checkDefaults(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of %v: %w", t, err)
	}
	return &arguments{schema, compiled, defaults}, nil
}

// decode checks args, unless ctx proves that they have been checked, and stores them in
// to, a pointer to a zero value. It does not change them.
func (a *arguments) decode(ctx context.Context, args map[string]any, to any) error {
	if args == nil {
		args = map[string]any{}
	}
	if err := a.compiled.CheckCall(ctx, args); err != nil {
		return err
	}
	if a.defaults {
		args, _ = a.filled(a.schema, args).(map[string]any)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return tool.Invalid("", "cannot be encoded as JSON: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return refused(err)
	}
	return nil
}
