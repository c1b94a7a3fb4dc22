package dialect

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
)

// What is needed of JSON schemas to bring an answer that came as text, or wrapped,
// into the form that was asked for. Whether it is valid is checked elsewhere.

// schemaOf returns the decoded schema of the answers to a, or nil.
func schemaOf(a *approval.Approval) any {
	schema, err := decode(a.Schema)
	if err != nil {
		return nil // checked when it was asked; without it a text is a text
	}
	return schema
}

// declares reports whether schema has a property of this name.
func declares(schema any, name string) bool {
	properties, ok := keyword[map[string]any](schema, "properties")
	if !ok {
		return false
	}
	_, ok = properties[name]
	return ok
}

// fit returns text as a value: as itself, unless schema names types and text is not
// among them, and it is JSON.
func fit(text string, schema any) any {
	types := typesOf(schema)
	if len(types) == 0 || slices.Contains(types, "string") {
		return text
	}
	v, err := strictjson.Decode([]byte(text))
	if err != nil {
		return text
	}
	return v
}

// typesOf returns the types that schema names, none when it does not.
func typesOf(schema any) []string {
	if one, ok := keyword[string](schema, "type"); ok {
		return []string{one}
	}
	var types []string
	list, _ := keyword[[]any](schema, "type")
	for _, v := range list {
		if one, ok := v.(string); ok {
			types = append(types, one)
		}
	}
	return types
}

// texts returns the values that schema lists, if all are strings.
func texts(schema any) []any {
	list, _ := keyword[[]any](schema, "enum")
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return nil
		}
	}
	return list
}

func keyword[T any](schema any, name string) (T, bool) {
	object, _ := schema.(map[string]any)
	v, ok := object[name].(T)
	return v, ok
}
