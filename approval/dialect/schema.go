package dialect

import (
	"slices"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
)

// The part of JSON Schema that is needed to convert an answer that came as text, or
// wrapped, to the type that the schema asks for. It is validated elsewhere.

// schemaOf returns the decoded schema of the answers to a, or nil.
func schemaOf(a *approval.Approval) any {
	schema, _ := decode(a.Schema) // checked when it was asked; without a schema, text stays a string
	return schema
}

// declares reports whether schema has a property of this name.
func declares(schema any, name string) bool {
	properties, _ := keyword[map[string]any](schema, "properties")
	_, ok := properties[name]
	return ok
}

// fit returns text as a value: the value of its JSON if schema names types and string is not
// among them, otherwise, or if it is not JSON, the string itself.
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
