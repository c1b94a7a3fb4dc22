package script

import (
	"encoding/base64"

	"a2a-server/internal/strictyaml"
)

// perhaps reads optional content.
func perhaps(n strictyaml.Node) content {
	if !n.Says() {
		return nil
	}
	return readContent(n)
}

// readContent reads content: a text, {text} or {parts}.
func readContent(n strictyaml.Node) content {
	if n.IsMapping() {
		f, ok := n.Fields("text", "parts")
		if !ok {
			return nil
		}
		return says(n, f)
	}
	if !n.IsText() {
		n.Expected("a string, or a mapping with text or parts", "")
		return nil
	}
	return content{{text: pointer(n)}}
}

// says reads the text or the parts of n, a mapping that may have other keys.
func says(n strictyaml.Node, f strictyaml.Fields) content {
	text, parts := f.Get("text"), f.Get("parts")
	switch {
	case !text.Missing() && !parts.Missing():
		n.Add("text and parts are both given; use one of them")
	case !text.Missing():
		return content{{text: pointer(text)}}
	case !parts.Missing():
		var all content
		for _, e := range entries(parts, "parts") {
			all = append(all, readPart(e))
		}
		return all
	default:
		n.Add("write text or parts")
	}
	return nil
}

func readPart(n strictyaml.Node) part {
	f, ok := n.Fields("text", "data", "file_bytes", "file_text", "file_url", "media_type", "filename", "metadata")
	if !ok {
		return part{}
	}
	found := 0
	for _, name := range []string{"text", "data", "file_bytes", "file_text", "file_url"} {
		if !f.Get(name).Missing() {
			found++
		}
	}
	if found != 1 {
		n.Add("a part has exactly one of text, data, file_bytes, file_text and file_url, found %d", found)
	}
	p := part{
		text: pointer(f.Get("text")), fileText: pointer(f.Get("file_text")),
		mediaType: optional(f.Get("media_type")), filename: optional(f.Get("filename")), metadata: f.Get("metadata").Object(),
	}
	if v := f.Get("data"); !v.Missing() {
		data := v.JSON()
		p.data = &data
	}
	if v := f.Get("file_bytes"); !v.Missing() {
		p.bytes = readBytes(v)
	}
	if v := f.Get("file_url"); !v.Missing() {
		url := required(v)
		p.url = &url
	}
	return p
}

// readBytes reads base64. The result is not nil. A YAML number, such as 1234, can be valid
// base64.
func readBytes(n strictyaml.Node) []byte {
	text, ok := n.Scalar()
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		n.Expected("bytes in base64 with padding", "")
	}
	return append([]byte{}, b...)
}
