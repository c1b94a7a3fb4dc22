package mcptoolset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"a2a-server/internal/visible"
)

// clipSchema clips the texts of a schema that do not take part in validation, such as
// descriptions. [checkShown] checks the other texts.
func clipSchema(schema map[string]any) {
	for key, value := range schema {
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			if byName, ok := value.(map[string]any); ok {
				for _, one := range byName {
					clipSchemas(one)
				}
			}
		case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties", "propertyNames",
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "contentSchema":
			clipSchemas(value)
		case "const", "enum", "required", "dependentRequired", "type", "pattern", "format", "$ref", "$id", "id", "$schema", "$anchor",
			"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$vocabulary", "contentEncoding", "contentMediaType":
		default:
			schema[key] = clipTexts(value)
		}
	}
}

// clipSchemas clips the schemas in v: a schema, a list, or an object of schemas.
func clipSchemas(v any) {
	switch v := v.(type) {
	case map[string]any:
		clipSchema(v)
	case []any:
		for _, one := range v {
			clipSchemas(one)
		}
	}
}

// clipTexts clips all texts in v, which it changes.
func clipTexts(v any) any {
	switch v := v.(type) {
	case string:
		return clipText(v, maxDescription)
	case []any:
		for i := range v {
			v[i] = clipTexts(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = clipTexts(v[key])
		}
	}
	return v
}

// checkShown refuses names and values of a schema that a person would not see as they are,
// or that are too long. They cannot be escaped: a call has to have the very same.
func checkShown(v any) error {
	switch v := v.(type) {
	case string:
		return checkText("value", v, visible.Text(v), maxDescription)
	case []any:
		for _, one := range v {
			if err := checkShown(one); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := cmp.Or(checkText("name", name, visible.Line(name), maxProperty), checkShown(v[name])); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkText(what, text, shown string, limit int) error {
	switch {
	case len(text) > limit:
		return fmt.Errorf("the %s %s has %d bytes; at most %d are accepted", what, visible.Quote(text, 80), len(text), limit)
	case text != shown:
		return fmt.Errorf("the %s %s has invisible characters", what, visible.Quote(text, 80))
	}
	return nil
}
