package httptool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2a-server/internal/strictjson"
)

// body is the template of a request's body.
type body struct {
	mediaType string // of Content-Type, unless a header says otherwise
	json      *node
	form      []parameter
	fields    *Fields
	text      []piece
	isForm    bool
}

// node is a value of a JSON template.
type node struct {
	value   any     // a literal, if nothing else is set
	text    []piece // of a string
	members []member
	list    []*node
	kind    byte // 0: a literal, 's', 'o' or 'a'
}

type member struct {
	name  string
	value *node
}

// parseBody returns nil if there is no body.
func parseBody(c *Config, d *declared) *body {
	count := 0
	b := &body{}
	if c.JSON != nil {
		count++
		b.mediaType = "application/json"
		b.json = parseNode(c.JSON, "", 0, d)
	}
	if c.Form != nil {
		count++
		b.mediaType, b.isForm = "application/x-www-form-urlencoded", true
		b.form = parseForm(c.Form, d)
	}
	if c.Fields != nil {
		count++
		b.mediaType, b.fields = "application/x-www-form-urlencoded", c.Fields
		c.Fields.check(d)
	}
	if c.Text != "" {
		count++
		b.mediaType = "text/plain; charset=utf-8"
		b.text = d.parse(c.Text, place{what: "text body"})
	}
	if count > 1 {
		d.problem("body: there are %d; a request has one of a JSON, a form and a text body", count)
	}
	if count == 0 {
		return nil
	}
	return b
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
		pieces := d.parse(templates[name], at)
		for i := range pieces {
			pieces[i].text = escape(pieces[i].text)
		}
		form = append(form, parameter{key: escape(name), value: pieces})
	}
	return form
}

// parseNode parses the value of a JSON template at a JSON Pointer.
func parseNode(v any, at string, depth int, d *declared) *node {
	what := fmt.Sprintf("JSON body at %q", at)
	if depth > strictjson.MaxDepth {
		d.problem("%s: it is nested deeper than %d levels", what, strictjson.MaxDepth)
		return &node{}
	}
	switch v := v.(type) {
	case string:
		return &node{kind: 's', text: d.parse(v, place{what: what, optional: true, typed: true})}
	case map[string]any:
		n := &node{kind: 'o'}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := at + "/" + strictjson.EscapePointer(name)
			pieces, err := parse(name)
			if err != nil || !isLiteral(pieces) {
				d.problem("JSON body at %q: a placeholder is not allowed in a name; write {{ for a brace", below)
				continue
			}
			n.members = append(n.members, member{literalOf(pieces), parseNode(v[name], below, depth+1, d)})
		}
		return n
	case []any:
		n := &node{kind: 'a'}
		for i, element := range v {
			n.list = append(n.list, parseNode(element, fmt.Sprintf("%s/%d", at, i), depth+1, d))
		}
		return n
	default:
		if _, err := json.Marshal(v); err != nil {
			d.problem("%s: %T is not a value of JSON", what, v)
		}
		return &node{value: v}
	}
}

// expand returns the body for arguments and its media type; nil if its only argument is
// missing.
func (b *body) expand(args map[string]any) (data []byte, mediaType string, err error) {
	if b.fields != nil && b.fields.Multipart {
		return b.fields.multipart(args)
	}
	data, err = b.encode(args)
	return data, b.mediaType, err
}

// encode returns the body for arguments, unless it is multipart.
func (b *body) encode(args map[string]any) ([]byte, error) {
	switch {
	case b.json != nil:
		v, has, err := b.json.expand(args)
		if err != nil || !has {
			return nil, err
		}
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return nil, fmt.Errorf("encode the body of the request: %w", err)
		}
		return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
	case b.fields != nil:
		return b.fields.urlencoded(args)
	case b.isForm:
		form, err := expandParameters(b.form, args)
		return []byte(form), err
	default:
		s, err := expandText(b.text, args)
		return []byte(s), err
	}
}

// expand returns the value for arguments, and whether there is a value.
func (n *node) expand(args map[string]any) (v any, has bool, err error) {
	switch n.kind {
	case 's':
		if name, ok := sole(n.text); ok {
			v, has = args[name]
			return v, has, nil
		}
		s, err := expandText(n.text, args)
		return s, true, err
	case 'o':
		object := make(map[string]any, len(n.members))
		for _, m := range n.members {
			v, has, err := m.value.expand(args)
			if err != nil {
				return nil, false, err
			}
			if has {
				object[m.name] = v
			}
		}
		return object, true, nil
	case 'a':
		list := make([]any, 0, len(n.list))
		for _, element := range n.list {
			v, has, err := element.expand(args)
			if err != nil {
				return nil, false, err
			}
			if has {
				list = append(list, v)
			}
		}
		return list, true, nil
	default:
		return n.value, true, nil
	}
}

// expandText returns a text with the arguments in it, unescaped.
func expandText(pieces []piece, args map[string]any) (string, error) {
	var b strings.Builder
	for _, p := range pieces {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		texts, err := elements(args, p.name)
		if err != nil {
			return "", err
		}
		b.WriteString(strings.Join(texts, ","))
	}
	return b.String(), nil
}
