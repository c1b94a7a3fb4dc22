package event

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/strictjson"
)

// The functions of this file write the same bytes as json.Marshal, without reflection: every
// send encodes a message, a handful of events and a result, and reflection was a tenth of the
// cost of a send. They leave values of other types to json.Marshal.

// maxValueDepth bounds the nesting that appendValue follows.
const maxValueDepth = 64

// EncodeMessage returns the JSON of a message.
func EncodeMessage(m *a2a.Message) (json.RawMessage, error) {
	if b, ok := appendMessage(make([]byte, 0, messageRoom(m)), m); ok {
		return b, nil
	}
	return json.Marshal(m)
}

// messageRoom returns how many bytes the JSON of a message has, if it has little besides
// its ids and texts.
func messageRoom(m *a2a.Message) int {
	n := 128 + len(m.ID) + len(m.ContextID) + len(m.TaskID)
	for _, p := range m.Parts {
		n += 64
		if p != nil {
			n += len(p.Text())
		}
	}
	return n
}

// MessageInTask returns the JSON of a message with the ids of a task instead of its own.
// raw is the message's JSON as [EncodeMessage] returns it.
func MessageInTask(raw []byte, m *a2a.Message, ids *IDs) json.RawMessage {
	dst := make([]byte, 0, len(raw)+len(ids.TaskJSON)+len(ids.ContextJSON)+32)
	dst = appendText(dst, `{"messageId":`, m.ID)
	end := len(dst)
	if m.ContextID != "" {
		end = len(appendTextField(dst, `,"contextId":`, m.ContextID))
	}
	rest := len(raw) - 1 // before the closing brace
	if m.TaskID != "" {
		rest -= len(appendTextField(nil, `,"taskId":`, string(m.TaskID)))
	}
	dst = AppendRawField(dst, `,"contextId":`, ids.ContextJSON)
	dst = append(dst, raw[end:rest]...)
	dst = AppendRawField(dst, `,"taskId":`, ids.TaskJSON)
	return append(dst, '}')
}

// EncodePart returns the JSON of a part.
func EncodePart(p *a2a.Part) (json.RawMessage, error) {
	if b, ok := appendPart(make([]byte, 0, 64), p); ok {
		return b, nil
	}
	return json.Marshal(p)
}

// EncodeValue returns the JSON of any value.
func EncodeValue(v any) (json.RawMessage, error) {
	if b, ok := appendValue(make([]byte, 0, 64), v, 0 /* depth */); ok {
		return b, nil
	}
	return json.Marshal(v)
}

// appendMessage appends the JSON of a message. false means that it contains something
// that only json.Marshal can encode, or refuse.
func appendMessage(dst []byte, m *a2a.Message) (_ []byte, ok bool) {
	dst = appendText(dst, `{"messageId":`, m.ID)
	dst = appendTextField(dst, `,"contextId":`, m.ContextID)
	dst = appendTexts(dst, `,"extensions":`, m.Extensions)
	if dst, ok = appendMetadata(dst, m.Metadata); !ok {
		return dst, false
	}
	dst = append(dst, `,"parts":`...)
	if m.Parts == nil {
		dst = append(dst, `null`...)
	} else {
		dst = append(dst, '[')
		for i, p := range m.Parts {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, ok = appendPart(dst, p); !ok {
				return dst, false
			}
		}
		dst = append(dst, ']')
	}
	dst = appendTexts(dst, `,"referenceTaskIds":`, m.ReferenceTasks)
	dst = appendText(dst, `,"role":`, m.Role.String())
	dst = appendTextField(dst, `,"taskId":`, string(m.TaskID))
	return append(dst, '}'), true
}

// appendPart appends the JSON of a part.
func appendPart(dst []byte, p *a2a.Part) (_ []byte, ok bool) {
	if p == nil {
		return append(dst, `null`...), true
	}
	start := len(dst)
	switch c := p.Content.(type) {
	case a2a.Text:
		dst = appendText(dst, `,"text":`, string(c))
	case a2a.Raw:
		dst = append(dst, `,"raw":`...)
		if c == nil {
			dst = append(dst, `null`...)
			break
		}
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, c)
		dst = append(dst, '"')
	case a2a.Data:
		dst = append(dst, `,"data":`...)
		if dst, ok = appendValue(dst, c.Value, 0 /* depth */); !ok {
			return dst, false
		}
	case a2a.URL:
		dst = appendTextField(dst, `,"url":`, string(c))
	}
	dst = appendTextField(dst, `,"filename":`, p.Filename)
	dst = appendTextField(dst, `,"mediaType":`, p.MediaType)
	if dst, ok = appendMetadata(dst, p.Metadata); !ok {
		return dst, false
	}
	if len(dst) == start {
		return append(dst, `{}`...), true
	}
	dst[start] = '{' // in place of the first field's comma
	return append(dst, '}'), true
}

// appendMetadata appends a field of metadata, unless there is none.
func appendMetadata(dst []byte, metadata map[string]any) ([]byte, bool) {
	if len(metadata) == 0 {
		return dst, true
	}
	dst = append(dst, `,"metadata":`...)
	return appendValue(dst, metadata, 0 /* depth */)
}

// appendTextField appends name, which includes the field's punctuation, and text, unless
// text is empty.
func appendTextField(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return appendText(dst, name, text)
}

// appendText is appendTextField for a field that is never left out.
func appendText(dst []byte, name, text string) []byte {
	return AppendString(append(dst, name...), text)
}

// appendInt appends name, which includes the field's punctuation, and n.
func appendInt(dst []byte, name string, n int) []byte {
	return strconv.AppendInt(append(dst, name...), int64(n), 10)
}

// appendTexts appends a field that is a list of strings, unless it is empty.
func appendTexts[T ~string](dst []byte, name string, texts []T) []byte {
	if len(texts) == 0 {
		return dst
	}
	dst = append(dst, name...)
	for i, text := range texts {
		dst = append(dst, ListPunctuation(i))
		dst = AppendString(dst, string(text))
	}
	return append(dst, ']')
}

// appendRaw appends JSON as json.Marshal copies it: without spaces and with its
// escapes. nil is null.
func appendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	if raw == nil {
		return append(dst, `null`...), nil
	}
	if strictjson.IsCompact(raw) {
		return append(dst, raw...), nil
	}
	compact, err := json.Marshal(raw)
	return append(dst, compact...), err
}

// appendValue appends the JSON of a value of the types that encoding/json decodes to, of
// integer types and of json.RawMessage. false means that it is, or contains, something
// else.
func appendValue(dst []byte, v any, depth int) (_ []byte, ok bool) {
	if depth > maxValueDepth {
		return dst, false
	}
	switch v := v.(type) {
	case nil:
		return append(dst, `null`...), true
	case bool:
		return strconv.AppendBool(dst, v), true
	case string:
		return AppendString(dst, v), true
	case float64:
		return appendFloat(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10), true
	case json.RawMessage:
		dst, err := appendRaw(dst, v)
		return dst, err == nil
	case []any:
		if v == nil {
			return append(dst, `null`...), true
		}
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, ok = appendValue(dst, element, depth+1); !ok {
				return dst, false
			}
		}
		return append(dst, ']'), true
	case map[string]any:
		if v == nil {
			return append(dst, `null`...), true
		}
		return appendObject(dst, v, depth)
	}
	return dst, false
}

// appendObject appends the JSON of an object, its members sorted by name.
func appendObject(dst []byte, members map[string]any, depth int) (_ []byte, ok bool) {
	var few [8]string // most objects have no more members, so this avoids an allocation
	names := few[:0]
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, name)
		dst = append(dst, ':')
		if dst, ok = appendValue(dst, members[name], depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, '}'), true
}

// appendFloat appends a number as encoding/json and JavaScript do: the shortest digits,
// with an exponent below 1e-6 and from 1e21 on.
func appendFloat(dst []byte, f float64) ([]byte, bool) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return dst, false
	}
	abs := math.Abs(f)
	if abs == 0 || 1e-6 <= abs && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), true
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is written e-9
		dst = dst[:n-1]
	}
	return dst, true
}
