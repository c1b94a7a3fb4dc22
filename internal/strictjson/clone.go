package strictjson

// Clone returns a copy of a decoded JSON value that shares no object or list with it.
// Values of types that no decoder returns are not copied.
func Clone[T any](v T) T {
	c, _ := clone(v).(T)
	return c
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return map[string]any(nil)
		}
		c := make(map[string]any, len(v))
		for name, member := range v {
			c[name] = clone(member)
		}
		return c
	case []any:
		if v == nil {
			return []any(nil)
		}
		c := make([]any, len(v))
		for i, element := range v {
			c[i] = clone(element)
		}
		return c
	}
	return v
}
