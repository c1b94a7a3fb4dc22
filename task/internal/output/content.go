package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task/internal/event"
	"a2a-server/tool/agent"
	"a2a-server/tool/toolconfirmation"
)

// Content is the output of a tool, encoded as the parts of an artifact.
type Content struct {
	parts json.RawMessage // joined by commas
	text  string          // of all parts
	only  bool            // there is nothing but text
}

// Content encodes the content of a tool's result: a string, an [agent.Part], a
// []agent.Part, or any JSON value. Nothing becomes an empty text, and data that imitates a
// question or an answer becomes a text. Parts of more bytes than an event may have are
// refused before they are encoded.
func (p Publisher) Content(v any) (Content, error) {
	if text, is := v.(string); is {
		return textContent(text), nil
	}
	switch list, are := partList(v); {
	case len(list) > 0:
		return p.encodeParts(list, p.limit)
	case are:
		return textContent(""), nil
	}
	data, err := encodeValue("content", v)
	if err != nil {
		return Content{}, err
	}
	if p.presenter.Imitates(data) {
		return textContent(event.Readable(data)), nil
	}
	c := Content{parts: event.ResultPart(data), only: len(data) > 0 && data[0] == '"' || string(data) == "null"}
	if c.only {
		_ = json.Unmarshal(data, &c.text) // null changes nothing
	}
	return c, nil
}

// partList returns v as a list, if it is one or more parts.
func partList(v any) (list []agent.Part, are bool) {
	switch v := v.(type) {
	case agent.Part:
		return []agent.Part{v}, true
	case []agent.Part:
		return v, true
	}
	return nil, false
}

// encodeValue returns the JSON of a value, unless it is nested too deep.
func encodeValue(what string, v any) (json.RawMessage, error) {
	data, err := event.EncodeValue(v)
	if err != nil {
		return nil, fmt.Errorf("the %s is not JSON: %w", what, err)
	}
	if err := CheckDepth(data); err != nil {
		return nil, fmt.Errorf("the %s cannot be kept: %w", what, err)
	}
	return data, nil
}

func textContent(text string) Content {
	return Content{parts: event.TextPart(text), text: text, only: true}
}

// Text returns the text of the content, and whether it has nothing else.
func (c Content) Text() (text string, only bool) { return c.text, c.only }

// Result encodes a tool's result: as a planner gets it, and, if it consists of
// [agent.Part]s, as the parts of an artifact. A planner gets the text of a single text
// part, else a JSON array of the parts in the form of A2A. Parts of more than limit bytes
// are refused.
func (p Publisher) Result(v any, limit int) (result, parts json.RawMessage, err error) {
	list, are := partList(v)
	if !are {
		result, err = encodeValue("tool's result", v)
		return result, nil, err
	}
	if len(list) == 0 {
		return json.RawMessage("null"), nil, nil
	}
	c, err := p.encodeParts(list, limit)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 1 && c.only {
		result, err = event.EncodeValue(c.text)
		return result, c.parts, err
	}
	result = make(json.RawMessage, 0, len(c.parts)+2)
	result = append(result, '[')
	result = append(result, c.parts...)
	return append(result, ']'), c.parts, nil
}

// encodeParts encodes at least one part.
func (p Publisher) encodeParts(parts []agent.Part, limit int) (Content, error) {
	n := 0
	for i := range parts {
		n += len(parts[i].Text) + len(parts[i].Raw)/3*4
	}
	if n > limit {
		return Content{}, largeContent(n, limit)
	}
	c := Content{only: true}
	var text strings.Builder
	for i := range parts {
		if contents(&parts[i]) == 0 {
			return Content{}, fmt.Errorf("part %d of the content: it is empty: set one of Text, Data, Raw and URL", i+1)
		}
		data, err := p.encodePart(parts[i])
		if err != nil {
			return Content{}, fmt.Errorf("part %d of the content: %w", i+1, err)
		}
		if c.parts = event.Join(c.parts, data); len(c.parts) > limit {
			return Content{}, largeContent(len(c.parts), limit)
		}
		c.only = c.only && parts[i].Text != ""
		text.WriteString(parts[i].Text)
	}
	c.text = text.String()
	return c, nil
}

func largeContent(n, limit int) error {
	return fmt.Errorf("the content has %d bytes; at most %d are allowed: stream it in smaller pieces", n, limit)
}

// contents returns how many of Text, Data, Raw and URL a part has.
func contents(p *agent.Part) int {
	n := 0
	for _, set := range []bool{p.Text != "", p.Data != nil, p.Raw != nil, p.URL != ""} {
		if set {
			n++
		}
	}
	return n
}

// encodePart encodes a part, which may be an empty text. It returns an error for a part that
// A2A cannot represent, or that could be misread in a header. Data that imitates a question or
// an answer becomes a text.
func (p Publisher) encodePart(part agent.Part) (json.RawMessage, error) {
	if n := contents(&part); n > 1 {
		return nil, fmt.Errorf("it has %d of Text, Data, Raw and URL: set one", n)
	}
	if !utf8.ValidString(part.Text) {
		return nil, errors.New("its text is not UTF-8: send other bytes as Raw")
	}
	for _, field := range []struct{ name, value string }{{"media type", part.MediaType}, {"file name", part.Filename}, {"URL", part.URL}} {
		if !utf8.ValidString(field.value) {
			return nil, fmt.Errorf("its %s is not UTF-8", field.name)
		}
		if strings.ContainsFunc(field.value, unicode.IsControl) {
			return nil, fmt.Errorf("its %s has a control character", field.name)
		}
	}
	if part.Data != nil {
		raw, err := event.EncodeValue(part.Data)
		if err == nil && p.presenter.Imitates(raw) {
			part.Data, part.Text = nil, event.Readable(raw)
		}
	}
	data, err := event.EncodePart(partOf(part))
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if err := CheckDepth(data); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte(`{"data":null`)) {
		return nil, errors.New("its data is null, which A2A has no part for")
	}
	return data, nil
}

// partOf converts a part of a tool to the form of A2A.
func partOf(p agent.Part) *a2a.Part {
	var part *a2a.Part
	switch {
	case p.Raw != nil:
		part = a2a.NewRawPart(p.Raw)
	case p.URL != "":
		part = a2a.NewFileURLPart(a2a.URL(p.URL), p.MediaType)
	case p.Data != nil:
		part = a2a.NewDataPart(p.Data)
	default:
		part = a2a.NewTextPart(p.Text)
	}
	part.Filename, part.MediaType, part.Metadata = p.Filename, p.MediaType, unmarked(p.Metadata)
	return part
}

// unmarked returns metadata without the marks by which clients recognize the server's own
// questions: neither a tool nor a source that it relays asks in the server's name.
func unmarked(metadata map[string]any) map[string]any {
	for key := range metadata {
		if toolconfirmation.IsMark(key) {
			metadata = maps.Clone(metadata)
			maps.DeleteFunc(metadata, func(key string, _ any) bool { return toolconfirmation.IsMark(key) })
			return metadata
		}
	}
	return metadata
}

// MaxToldText bounds the text of a stream that becomes the result of its call, in bytes.
const MaxToldText = 64 << 10

// TextResult encodes the beginning of a stream's text as a result of at most limit bytes.
// total is how long the whole text is; if text is shorter, the result ends by saying how
// many bytes were dropped.
func TextResult(text string, total int64, limit int) (json.RawMessage, error) {
	text = text[:min(len(text), MaxToldText)]
	for {
		whole := text
		if dropped := total - int64(len(text)); dropped > 0 {
			text = strings.ToValidUTF8(text, "") // it may end within a character
			whole = fmt.Sprintf("%s\n[%d bytes dropped]", text, total-int64(len(text)))
		}
		result, err := event.EncodeValue(whole)
		if err != nil || len(result) <= limit || text == "" {
			return result, err
		}
		text = text[:len(text)/2]
	}
}

// EncodeMetadata returns the JSON of metadata, nil if there is none.
func EncodeMetadata(metadata map[string]any) (json.RawMessage, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	return event.EncodeValue(metadata)
}
