package script

import (
	"encoding/base64"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// perhaps reads what is said, if anything is.
func (r *report) perhaps(n *yaml.Node, key string) content {
	if isNull(n) || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		return nil
	}
	return r.content(n, key)
}

// content reads what is said: a text, {text} or {parts}.
func (r *report) content(n *yaml.Node, key string) content {
	if isText(n) {
		return textContent(n.Value)
	}
	if n.Kind != yaml.MappingNode {
		r.add(n, key, "expected a text, or a mapping with text or parts, found %s", kindOf(n))
		return nil
	}
	f, ok := r.mapping(n, key, "text", "parts")
	if !ok {
		return nil
	}
	return r.says(n, f, key)
}

// says reads the text or the parts of a mapping that may have more.
func (r *report) says(n *yaml.Node, f fields, key string) content {
	text, parts := f.get("text"), f.get("parts")
	switch {
	case text != nil && parts != nil:
		r.add(n, key, "text and parts are both given; use one of them")
	case text != nil:
		s, _ := r.str(text, join(key, "text"))
		return textContent(s)
	case parts != nil:
		entries, _ := r.sequence(parts, join(key, "parts"))
		all := make(content, 0, len(entries))
		for i, e := range entries {
			all = append(all, r.part(e, fmt.Sprintf("%s.parts[%d]", key, i)))
		}
		return all
	default:
		r.add(n, key, "write text or parts")
	}
	return nil
}

func textContent(s string) content { return content{{text: &s}} }

func (r *report) part(n *yaml.Node, key string) part {
	var p part
	f, ok := r.mapping(n, key, "text", "data", "file_bytes", "file_text", "file_url", "media_type", "filename", "metadata")
	if !ok {
		return p
	}
	found := 0
	take := func(name string) *yaml.Node {
		v := f.get(name)
		if v != nil {
			found++
		}
		return v
	}
	if v := take("text"); v != nil {
		p.text = r.pointer(v, join(key, "text"))
	}
	if v := take("data"); v != nil {
		data := r.value(v, join(key, "data"))
		p.data = &data
	}
	if v := take("file_bytes"); v != nil {
		p.bytes = r.bytes(v, join(key, "file_bytes"))
	}
	if v := take("file_text"); v != nil {
		p.fileText = r.pointer(v, join(key, "file_text"))
	}
	if v := take("file_url"); v != nil {
		url, _ := r.required(n, f, key, "file_url")
		p.url = &url
	}
	if found != 1 {
		r.add(n, key, "a part has exactly one of text, data, file_bytes, file_text and file_url, found %d", found)
	}
	p.mediaType = r.optional(f, key, "media_type")
	p.filename = r.optional(f, key, "filename")
	p.metadata = r.object(f.get("metadata"), join(key, "metadata"))
	return p
}

func (r *report) pointer(n *yaml.Node, key string) *string {
	s, _ := r.str(n, key)
	return &s
}

// bytes reads base64. The result is not nil.
func (r *report) bytes(n *yaml.Node, key string) []byte {
	s := n.Value
	// What YAML takes for a number can be good base64: 1234.
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		if b, err := base64.StdEncoding.DecodeString(s); err == nil {
			return append([]byte{}, b...)
		}
	}
	r.add(n, key, "expected bytes in base64 with padding, found %s", kindOf(n))
	return []byte{}
}
