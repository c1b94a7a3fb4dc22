package openapitoolset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"a2a-server/internal/visible"
)

// arguments returns the arguments of an operation in the order of path, query, header and
// body, and how the body is written.
func (d *document) arguments(c *Config, o *operation, schemas *converter) (all []*argument, how form, err error) {
	given, err := d.parameters(o)
	if err != nil {
		return nil, how, err
	}
	body, err := d.requestBody(o)
	if err != nil {
		return nil, how, err
	}
	checked, err := d.check(o, given, body)
	if err != nil {
		return nil, how, err
	}
	for i, p := range checked.Parameters {
		a, err := d.argument(c, p.Value, given[i], schemas)
		if err != nil {
			return nil, how, err
		}
		if a != nil {
			all = append(all, a)
		}
	}
	places := []string{"path", "query", "header"}
	slices.SortStableFunc(all, func(a, b *argument) int { return slices.Index(places, a.in) - slices.Index(places, b.in) })
	if checked.RequestBody == nil {
		return all, how, nil
	}
	if o.method == http.MethodGet || o.method == http.MethodHead {
		if checked.RequestBody.Value.Required {
			return nil, how, fmt.Errorf("%s: a request with %s has no body", quote(body.at), o.method)
		}
		return all, how, nil
	}
	a, how, err := bodyArgument(checked.RequestBody.Value, body, schemas)
	if err != nil {
		return nil, how, err
	}
	return append(all, a), how, nil
}

// parameters returns the parameters of an operation: its own, and the parameters of its path
// that have no counterpart of the same name and place among its own.
func (d *document) parameters(o *operation) ([]value, error) {
	var all []value
	own := map[[2]string]bool{}
	for _, from := range []value{o.self, o.item} {
		list, err := from.member("parameters").list("parameters")
		if err != nil {
			return nil, err
		}
		for _, item := range list {
			p, err := d.resolved(item, "a parameter")
			if err != nil {
				return nil, err
			}
			in, _ := p.text("in") // the check reports other types
			name, _ := p.text("name")
			if key := [2]string{in, name}; from.at == o.self.at {
				own[key] = true
			} else if own[key] {
				continue
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// requestBody returns the body of an operation, without a value if it has none.
func (d *document) requestBody(o *operation) (value, error) {
	v := o.self.member("requestBody")
	if v.v == nil {
		return v, nil
	}
	return d.resolved(v, "a request body")
}

// check has the parameters and the body of an operation read and checked by the rules of
// OpenAPI, without their schemas and examples, which this package reads itself: it looks only
// at the parts that it uses, however large the document is.
func (d *document) check(o *operation, given []value, body value) (*openapi3.Operation, error) {
	self := map[string]any{"responses": map[string]any{"default": map[string]any{"description": ""}}}
	var bare []any
	for _, p := range given {
		m, err := p.withoutSchemas()
		if err != nil {
			return nil, err
		}
		bare = append(bare, m)
	}
	if bare != nil {
		self["parameters"] = bare
	}
	if body.v != nil {
		var err error
		if self["requestBody"], err = body.withoutSchemas(); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(map[string]any{
		"openapi": d.version,
		"info":    map[string]any{"title": "one operation", "version": "1"},
		"paths":   map[string]any{o.path: map[string]any{strings.ToLower(o.method): self}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the operation: %w", err)
	}
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = false
	doc, err := loader.LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: it cannot be read: %s", quote(o.self.at), reason(err))
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("%s: it is not valid: %s", quote(o.self.at), reason(err))
	}
	return doc.Paths.Value(o.path).GetOperation(o.method), nil
}

// reason returns the text of the library's error. It may quote the document.
func reason(err error) string { return visible.Clip(err.Error(), 400) }

// withoutSchemas returns a copy of a parameter or a body of which the schemas accept
// anything.
func (v value) withoutSchemas() (map[string]any, error) {
	m, err := v.object("a parameter or a body")
	if err != nil {
		return nil, err
	}
	bare := map[string]any{}
	for name, member := range m {
		switch {
		case name == "schema":
			bare[name] = map[string]any{}
		case name == "content":
			content, err := v.member(name).object("content")
			if err != nil {
				return nil, err
			}
			kinds := map[string]any{}
			for kind := range content {
				kinds[kind] = map[string]any{}
			}
			bare[name] = kinds
		case name == "example", name == "examples", strings.HasPrefix(name, "x-"):
		default:
			bare[name] = member
		}
	}
	return bare, nil
}

// argument returns the argument for a parameter, nil for a header that is set otherwise, and
// for an optional parameter that cannot be sent.
func (d *document) argument(c *Config, p *openapi3.Parameter, given value, schemas *converter) (*argument, error) {
	problem := func(format string, args ...any) error {
		if !p.Required {
			return nil
		}
		return fmt.Errorf("%s: the parameter %s (%s): %s", quote(given.at), visible.Quote(p.Name, 80), p.In, fmt.Sprintf(format, args...))
	}
	if p.In == openapi3.ParameterInCookie {
		return nil, problem("cookies are not supported")
	}
	if p.In == openapi3.ParameterInHeader && isSetOtherwise(c, p.Name) {
		return nil, nil
	}
	if p.Schema == nil {
		return nil, problem("it has content instead of a schema, which is not supported")
	}
	how, err := p.SerializationMethod()
	if err != nil {
		return nil, problem("%s", reason(err))
	}
	want, suffix := openapi3.SerializationSimple, ""
	switch {
	case p.In != openapi3.ParameterInQuery:
	case how.Style == openapi3.SerializationDeepObject:
		want, suffix = how.Style, "[]"
	default:
		if want = openapi3.SerializationForm; how.Explode {
			suffix = "*"
		}
	}
	if how.Style != want {
		return nil, problem("the style %s is not supported; %s is", visible.Clip(how.Style, 40), want)
	}
	v := given.member("schema")
	if suffix != "[]" && d.isObject(v) {
		return nil, problem("it is an object, which is not supported outside the body, except in a query with the style deepObject")
	}
	schema, err := schemas.convert(v, 0)
	if err != nil {
		return nil, err
	}
	return &argument{
		name: argumentName(p.Name), in: p.In, wire: p.Name,
		schema: described(schema, p.Description), required: p.Required, suffix: suffix,
	}, nil
}

// isObject reports whether a schema says itself that its values are objects.
func (d *document) isObject(v value) bool {
	resolved, err := d.resolve(v)
	m, ok := resolved.v.(map[string]any)
	if err != nil || !ok {
		return false // the conversion reports it
	}
	_, properties := m["properties"]
	return m["type"] == "object" || properties
}

// isSetOtherwise reports whether a header is no argument.
func isSetOtherwise(c *Config, name string) bool {
	others := append(slices.Collect(maps.Keys(c.Header)), "Accept", "Content-Type", "Authorization")
	return slices.ContainsFunc(others, func(set string) bool { return strings.EqualFold(set, name) })
}

// described adds a description to a schema that has none.
func described(schema any, text string) any {
	if text = clipText(text); text == "" {
		return schema
	}
	m, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	if _, has := m["description"]; !has {
		m["description"] = text
	}
	return m
}
