package direct

import (
	"maps"
	"slices"

	"a2a-server/internal/lists"
)

// signature is the part of a schema that text calls need. The zero value is for a tool without
// a schema.
type signature struct {
	properties map[string]any
	required   []string
}

func signatureOf(schema map[string]any) signature {
	properties, _ := schema["properties"].(map[string]any)
	return signature{properties: properties, required: lists.Strings(schema["required"])}
}

func (s signature) property(name string) map[string]any {
	p, _ := s.properties[name].(map[string]any)
	return p
}

// isString reports whether the argument is a string and, null aside, nothing else.
func (s signature) isString(name string) bool {
	types := lists.Strings(s.property(name)["type"])
	return slices.Contains(types, "string") &&
		!slices.ContainsFunc(types, func(t string) bool { return t != "string" && t != "null" })
}

// soleString returns the argument that gets the rest of a text: the only required argument, if
// it is a string.
func (s signature) soleString() (string, bool) {
	if len(s.required) != 1 || !s.isString(s.required[0]) {
		return "", false
	}
	return s.required[0], true
}

// knows reports whether every key is an argument.
func (s signature) knows(all pairs) bool {
	for _, p := range all {
		if _, ok := s.properties[p.key]; !ok {
			return false
		}
	}
	return true
}

// names returns the names of the arguments: first the required ones, in the schema's order.
func (s signature) names() []string {
	names := slices.Clone(s.required)
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
