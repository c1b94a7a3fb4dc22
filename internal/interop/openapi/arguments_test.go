package openapi

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"a2a-server/tool"
)

// newCall returns the context of a call that has nothing but ids.
func newCall(t *testing.T) tool.Context { return callContext{ctx: t.Context()} }

type callContext struct {
	tool.Context // methods that no tool here calls

	ctx context.Context //nolint:containedctx // it is one
}

func (c callContext) Deadline() (time.Time, bool) { return c.ctx.Deadline() }
func (c callContext) Done() <-chan struct{}       { return c.ctx.Done() }
func (c callContext) Err() error                  { return c.ctx.Err() }
func (c callContext) Value(key any) any           { return c.ctx.Value(key) }
func (c callContext) TaskID() string              { return "task-1" }
func (c callContext) FunctionCallID() string      { return "call-1" }

// argumentsFor returns arguments that fit a schema: what it requires and a body, or all that
// it allows, three levels deep. expand is the value in arguments of that name.
func argumentsFor(schema map[string]any, all bool, expand string) (map[string]any, error) {
	g := &generator{defs: map[string]any{}, all: all, expand: expand}
	if defs, ok := schema["$defs"].(map[string]any); ok {
		g.defs = defs
	}
	made, _ := g.value(schema, 0)
	raw, err := json.Marshal(made)
	if err != nil {
		return nil, err
	}
	return tool.DecodeArgs(raw)
}

// A generator makes values for schemas.
type generator struct {
	defs   map[string]any
	all    bool // optional properties, too
	expand string
}

// value returns a value for a schema, and whether it knows one.
func (g *generator) value(schema any, depth int) (any, bool) {
	s, ok := schema.(map[string]any)
	if !ok || depth > 20 {
		return "x", ok || schema == true
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(g.defs[strings.TrimPrefix(ref, "#/$defs/")], depth)
	}
	if constant, ok := s["const"]; ok {
		return constant, true
	}
	if enum, ok := s["enum"].([]any); ok {
		return enum[0], len(enum) > 0
	}
	if s["allOf"] != nil || s["anyOf"] != nil || s["oneOf"] != nil {
		return g.composed(s, depth)
	}
	kind := s["type"]
	if list, ok := kind.([]any); ok {
		kind = list[0]
	}
	switch {
	case kind == "object" || kind == nil && s["properties"] != nil:
		return g.object(s, depth)
	case kind == "array":
		minimum, _ := number(s["minItems"])
		list := []any{}
		for len(list) < int(minimum) || g.all && len(list) == 0 {
			element, ok := g.value(s["items"], depth+1)
			if !ok {
				break
			}
			list = append(list, element)
		}
		return list, true
	case kind == "boolean":
		return true, true
	case kind == "integer" || kind == "number":
		minimum, has := number(s["minimum"])
		if !has {
			minimum = 1
		}
		return minimum, true
	case kind == "string" || kind == nil:
		return text(s)
	}
	return nil, kind == "null"
}

// object returns an object.
func (g *generator) object(s map[string]any, depth int) (any, bool) {
	object := map[string]any{}
	required, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		must := slices.Contains(required, any(name))
		if name == "expand" && g.all && g.expand != "" {
			object[name] = []any{g.expand}
			continue
		}
		if !must && (!g.all || depth > 3) && (depth > 0 || name != "body") {
			continue
		}
		v, ok := g.value(properties[name], depth+1)
		if !ok && must {
			return nil, false
		}
		if ok {
			object[name] = v
		}
	}
	if rest, ok := s["additionalProperties"].(map[string]any); ok && g.all && len(properties) == 0 {
		if v, ok := g.value(rest, depth+1); ok {
			object["key"] = v
		}
	}
	return object, true
}

// composed returns a value for a schema with allOf, anyOf or oneOf: the first that fits.
func (g *generator) composed(s map[string]any, depth int) (any, bool) {
	own := maps.Clone(s)
	maps.DeleteFunc(own, func(name string, _ any) bool { return name == "allOf" || name == "anyOf" || name == "oneOf" })
	var candidates []any
	if list, ok := s["allOf"].([]any); ok {
		merged := map[string]any{}
		for _, one := range append(slices.Clone(list), any(own)) {
			v, ok := g.value(one, depth)
			if part, isObject := v.(map[string]any); ok && isObject {
				maps.Copy(merged, part)
			} else if ok {
				candidates = append(candidates, v)
			}
		}
		candidates = append([]any{merged}, candidates...)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, _ := s[keyword].([]any)
		for _, one := range list {
			v, ok := g.value(one, depth)
			if !ok {
				continue
			}
			if base, isObject := v.(map[string]any); isObject {
				mine, _ := g.value(own, depth)
				if more, ok := mine.(map[string]any); ok {
					merged := maps.Clone(more)
					maps.Copy(merged, base)
					v = merged
				}
			}
			candidates = append(candidates, v)
		}
	}
	for _, v := range candidates {
		if g.fits(s, v) {
			return v, true
		}
	}
	return nil, false
}

// fits reports whether a value is valid.
func (g *generator) fits(schema map[string]any, v any) bool {
	compiled, err := tool.CompileSchema(map[string]any{"type": "object", "properties": map[string]any{"v": schema}, "$defs": g.defs})
	if err != nil {
		return false
	}
	raw, err := json.Marshal(map[string]any{"v": v})
	if err != nil {
		return false
	}
	args, err := tool.DecodeArgs(raw)
	return err == nil && compiled.Validate(args) == nil
}

// text returns a string.
func text(s map[string]any) (any, bool) {
	candidates := []string{"x", "2026-01-02T03:04:05Z", "2026-01-02", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "someone@example.com", "https://example.com/", "eA==", "192.0.2.1", "Abc123", "0123456789abcdef0123456789abcdef01234567"}
	switch s["format"] {
	case "date-time":
		candidates = candidates[1:2]
	case "date":
		candidates = candidates[2:3]
	case "uuid":
		candidates = candidates[3:4]
	case "email":
		candidates = candidates[4:5]
	case "uri":
		candidates = candidates[5:6]
	case "byte":
		candidates = candidates[6:7]
	}
	minimum, _ := number(s["minLength"])
	pattern, _ := s["pattern"].(string)
	for _, one := range candidates {
		if one += strings.Repeat("x", max(0, int(minimum)-len(one))); pattern == "" || regexp.MustCompile(pattern).MatchString(one) {
			return one, true
		}
	}
	return nil, false
}

// number returns a number of a schema.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, true
	}
	return 0, false
}
