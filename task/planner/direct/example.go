package direct

import (
	"encoding/json"
	"strings"
	"unicode"

	"a2a-server/internal/lists"
	"a2a-server/tool"
)

// Example returns a text that calls a tool with its required arguments: /name key=value …,
// with the values that its schema names (default, examples, const, enum), or else a value of
// the right type. A value need not satisfy all of the schema, such as a pattern.
func Example(d tool.Definition) string { return Variant(d, 0) }

// Variant is [Example] with value n, from 0, of the examples of each property that has as many.
func Variant(d tool.Definition, n int) string {
	sig := signatureOf(d.Parameters)
	text := "/" + d.Name
	for _, name := range sig.required {
		text += " " + name + "=" + exampleOf(sig.property(name), n)
	}
	return text
}

// exampleOf returns value n of the examples of a property, or else its best value, as [readPairs]
// reads it.
func exampleOf(property map[string]any, n int) string {
	for _, value := range named(property, n) {
		if s, ok := value.(string); ok && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"[{`, r) }) {
			return s
		}
		if raw, err := json.Marshal(value); err == nil && value != nil {
			return string(raw)
		}
	}
	types := lists.Strings(property["type"])
	if len(types) == 0 {
		return "text"
	}
	if value, known := map[string]string{"number": "1", "integer": "1", "boolean": "true", "array": "[]", "object": "{}", "null": "null"}[types[0]]; known {
		return value
	}
	return "text"
}

// named returns the values that a property names: value n of its examples if n is not 0, then the best first.
func named(property map[string]any, n int) []any {
	all := []any{property["default"]}
	if list, ok := property["examples"].([]any); ok && n > 0 && n < len(list) {
		all = []any{list[n]}
	}
	for _, key := range []string{"examples", "enum"} {
		if list, ok := property[key].([]any); ok {
			all = append(all, list...)
		}
	}
	return append(all, property["const"])
}
