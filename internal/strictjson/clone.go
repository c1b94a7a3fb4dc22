package strictjson

// Clone returns a copy of a decoded JSON value that shares no object or list with it.
// Values of types that no decoder returns are not copied.
func Clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return map[string]any(nil)
		}
		c := make(map[string]any, len(v))
		for name, member := range v {
			c[name] = Clone(member)
		}
		return c
	case []any:
		if v == nil {
			return []any(nil)
		}
		c := make([]any, len(v))
		for i, element := range v {
			c[i] = Clone(element)
		}
		return c
	}
	return v
}
