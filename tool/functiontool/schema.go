package functiontool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"a2a-server/internal/guard"
)

const refPrefix = "#/$defs/"

// schemaOf returns the schema of an arguments type as a plain map. It is an object at the
// top level, refuses unknown names, and does not reveal which packages the types come
// from.
func schemaOf(t reflect.Type) (_ map[string]any, err error) {
	if k := t.Kind(); k != reflect.Struct && (k != reflect.Map || t.Key().Kind() != reflect.String) {
		return nil, fmt.Errorf("the arguments must be a struct or a map with string keys, not %v", t)
	}
	defer guard.Recover(&err, fmt.Sprintf("no schema can be built from %v", t)) // the library panics on a type that JSON cannot represent
	var wrong error
	r := jsonschema.Reflector{Anonymous: true, Namer: namer(), Mapper: func(t reflect.Type) *jsonschema.Schema {
		wrong = errors.Join(wrong, checkTags(t))
		return numbers(t)
	}}
	r.LookupComment = func(t reflect.Type, name string) string {
		if name == "" {
			return "" // of the type
		}
		f, _ := t.FieldByName(name)
		text, _ := plainTag(f)
		return text
	}
	raw, err := json.Marshal(r.ReflectFromType(t))
	if wrong != nil {
		return nil, wrong
	}
	if err != nil {
		return nil, fmt.Errorf("encode the schema of %v: %w", t, err)
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("decode the schema of %v: %w", t, err)
	}
	delete(schema, "$schema")
	schema = expanded(schema)
	if schema["type"] != "object" {
		return nil, fmt.Errorf("the schema of %v is not an object schema", t)
	}
	walk(schema, optional)
	return schema, nil
}

// namer names definitions. The library would use one definition for types with the same
// name in two packages, and would put package paths into the names of generic types.
func namer() func(reflect.Type) string {
	names := map[reflect.Type]string{}
	taken := map[string]int{}
	return func(t reflect.Type) string {
		if name, ok := names[t]; ok {
			return name
		}
		name, _, _ := strings.Cut(t.Name(), "[")
		if name == "" {
			return ""
		}
		taken[name]++
		if n := taken[name]; n > 1 {
			name += "_" + strconv.Itoa(n)
		}
		names[t] = name
		return name
	}
}

// expanded returns schema with the definition that it refers to inlined at the top level.
// The definition itself stays only if the type refers to itself.
func expanded(schema map[string]any) map[string]any {
	ref, _ := schema["$ref"].(string)
	defs, _ := schema["$defs"].(map[string]any)
	name := strings.TrimPrefix(ref, refPrefix)
	root, ok := defs[name].(map[string]any)
	if !ok {
		return schema
	}
	recursive := false
	for _, d := range defs {
		if d, ok := d.(map[string]any); ok {
			walk(d, func(s map[string]any) { recursive = recursive || s["$ref"] == ref })
		}
	}
	top := maps.Clone(root)
	if !recursive {
		delete(defs, name)
	}
	if len(defs) > 0 {
		top["$defs"] = defs
	}
	return top
}

// walk calls visit for schema and for every schema nested in it, in the places where the
// library puts them.
func walk(schema map[string]any, visit func(map[string]any)) {
	visit(schema)
	for _, key := range []string{"properties", "patternProperties", "$defs"} {
		named, _ := schema[key].(map[string]any)
		for _, s := range named {
			if s, ok := s.(map[string]any); ok {
				walk(s, visit)
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if s, ok := schema[key].(map[string]any); ok {
			walk(s, visit)
		}
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		several, _ := schema[key].([]any)
		for _, s := range several {
			if s, ok := s.(map[string]any); ok {
				walk(s, visit)
			}
		}
	}
}

// optional removes the names that have a default from the required names.
func optional(schema map[string]any) {
	all, _ := schema["required"].([]any)
	props, _ := schema["properties"].(map[string]any)
	var required []any // a new slice: an inlined definition shares its list with the original
	for _, name := range all {
		n, _ := name.(string)
		p, _ := props[n].(map[string]any)
		if _, has := p["default"]; !has {
			required = append(required, name)
		}
	}
	if len(required) == 0 {
		delete(schema, "required")
		return
	}
	schema["required"] = required
}
