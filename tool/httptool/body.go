package httptool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2a-server/internal/strictjson"
)

// formType is the media type of a form, unless it is multipart.
const formType = "application/x-www-form-urlencoded"

// body returns a request's body for arguments, and its media type, unless a header says otherwise.
// The data is nil if the only argument of the body is missing.
type body func(args map[string]any) (data []byte, mediaType string, err error)

// parseBody returns nil if there is no body.
func parseBody(c *Config, d *declared) body {
	var all []body
	if c.JSON != nil {
		template := parseJSON(c.JSON, "", 0, d)
		all = append(all, func(args map[string]any) ([]byte, string, error) {
			data, err := encodeJSON(template, args)
			return data, "application/json", err
		})
	}
	if c.Form != nil {
		form := parseForm(c.Form, d)
		all = append(all, func(args map[string]any) ([]byte, string, error) {
			text, err := expandParameters(form, args)
			return []byte(text), formType, err
		})
	}
	if c.Fields != nil {
		c.Fields.check(d)
		all = append(all, c.Fields.encode)
	}
	if len(all) == 0 {
		return nil
	}
	if len(all) > 1 {
		d.problem("body: there are %d; a request has one of JSON, Form and Fields", len(all))
	}
	return all[0]
}

// parseForm parses the templates of form parameters, in the order of their names.
func parseForm(templates map[string]string, d *declared) []parameter {
	var form []parameter
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		at := place{what: fmt.Sprintf("form parameter %q", name), explode: true, optional: true}
		if strings.ContainsAny(name, "{}") {
			d.problem("%s: a placeholder is not allowed in a name", at.what)
			continue
		}
		fragments := d.parse(templates[name], at)
		for i := range fragments {
			fragments[i].text = Escape(fragments[i].text)
		}
		form = append(form, parameter{key: Escape(name), value: fragments})
	}
	return form
}

// parseJSON returns a JSON template, v, with the fragments of each string in its place.
func parseJSON(v any, at string, depth int, d *declared) any {
	what := fmt.Sprintf("JSON body at %q", at)
	if depth > strictjson.MaxDepth {
		d.problem("%s: it is nested deeper than %d levels", what, strictjson.MaxDepth)
		return nil
	}
	switch v := v.(type) {
	case string:
		return d.parse(v, place{what: what, optional: true, typed: true})
	case map[string]any:
		object := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := at + "/" + strictjson.EscapePointer(name)
			fragments, err := parse(name)
			text, ok := literal(fragments)
			if err != nil || !ok {
				d.problem("JSON body at %q: a placeholder is not allowed in a name; write {{ for a brace", below)
				continue
			}
			object[text] = parseJSON(v[name], below, depth+1, d)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = parseJSON(element, fmt.Sprintf("%s/%d", at, i), depth+1, d)
		}
		return list
	default:
		if _, err := json.Marshal(v); err != nil {
			d.problem("%s: %T is not a value of JSON", what, v)
		}
		return v
	}
}

// encodeJSON returns the JSON of a template for arguments, nil if there is none.
func encodeJSON(template any, args map[string]any) ([]byte, error) {
	v, has, err := expandJSON(template, args)
	if err != nil || !has {
		return nil, err
	}
	out, err := strictjson.Plain(v)
	if err != nil {
		return nil, fmt.Errorf("encode the body of the request: %w", err)
	}
	return out, nil
}

// expandJSON returns the value of a template for arguments, and whether there is one.
func expandJSON(template any, args map[string]any) (v any, has bool, err error) {
	switch template := template.(type) {
	case []fragment:
		if name, ok := sole(template); ok {
			v, has = args[name]
			return v, has, nil
		}
		v, err = fill(template, args, plain)
		return v, true, err
	case map[string]any:
		object := make(map[string]any, len(template))
		for name, member := range template {
			v, has, err := expandJSON(member, args)
			if err != nil {
				return nil, false, err
			}
			if has {
				object[name] = v
			}
		}
		return object, true, nil
	case []any:
		list := make([]any, 0, len(template))
		for _, element := range template {
			v, has, err := expandJSON(element, args)
			if err != nil {
				return nil, false, err
			}
			if has {
				list = append(list, v)
			}
		}
		return list, true, nil
	default:
		return template, true, nil
	}
}
