package functiontool

import (
	"fmt"
	"maps"
	"strings"

	"a2a-server/tool"
)

// checkDefaults reports whether there are defaults, and checks each against its own schema: a
// default that would be refused as an argument is a programming error.
func checkDefaults(root map[string]any) (found bool, first error) {
	walk(root, func(s map[string]any) {
		value, ok := s["default"]
		if !ok || first != nil {
			return
		}
		found = true
		whole := maps.Clone(s)
		if defs, ok := root["$defs"]; ok {
			whole["$defs"] = defs
		}
		compiled, err := tool.CompileSchema(whole)
		if err == nil {
			err = compiled.Validate(value)
		}
		if err != nil {
			first = fmt.Errorf("the default %v: %w", value, err)
		}
	})
	return found, first
}

// filled returns v with the defaults of schema for the properties that are missing. v is
// not changed.
func (a *arguments) filled(schema map[string]any, v any) any {
	schema = a.resolved(schema)
	switch v := v.(type) {
	case map[string]any:
		props, _ := schema["properties"].(map[string]any)
		if len(props) == 0 {
			return v
		}
		out := maps.Clone(v)
		for name, p := range props {
			p, _ := p.(map[string]any)
			if value, ok := v[name]; ok {
				out[name] = a.filled(p, value)
			} else if value, ok := p["default"]; ok {
				out[name] = value
			}
		}
		return out
	case []any:
		items, _ := schema["items"].(map[string]any)
		if items == nil {
			return v
		}
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = a.filled(items, value)
		}
		return out
	default:
		return v
	}
}

// resolved follows a reference to a definition.
func (a *arguments) resolved(schema map[string]any) map[string]any {
	ref, ok := schema["$ref"].(string)
	if !ok {
		return schema
	}
	defs, _ := a.schema["$defs"].(map[string]any)
	def, _ := defs[strings.TrimPrefix(ref, refPrefix)].(map[string]any)
	return def
}
