package event

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ResultPart returns the JSON of a result as a part: a text part for a string, else a data
// part. A data part cannot be null, so null becomes an empty text.
func ResultPart(result json.RawMessage) json.RawMessage {
	var text string
	if string(result) == "null" {
		return TextPart("")
	}
	switch {
	case plainText(result):
		b := make([]byte, 0, len(result)+10)
		b = append(b, `{"text":`...)
		b = append(b, result...)
		return append(b, '}')
	case len(result) > 0 && result[0] == '"' && json.Unmarshal(result, &text) == nil:
		return TextPart(text)
	}
	b := make([]byte, 0, len(result)+10)
	b = append(b, `{"data":`...)
	b = append(b, result...)
	return append(b, '}')
}

// TextPart returns the JSON of a part that only has text.
func TextPart(text string) json.RawMessage {
	// Room for some escapes too: most texts have line breaks.
	dst := make([]byte, 0, len(`{"text":""}`)+len(text)+len(text)/16+4)
	dst = append(dst, `{"text":`...)
	dst = AppendString(dst, text)
	return append(dst, '}')
}

// ResultParts returns the JSON of a result as the parts of an artifact. Null or a string,
// also as {"result": string}, as tools made from functions return it, becomes only a text
// part. Anything else becomes a data part and a text part with its JSON, for clients that
// read only text to show it to people or to pass it to a language model; the text part is
// left out if the parts would exceed limit bytes. Data for which imitates returns true
// becomes only the text part, or a note if that would exceed the limit.
func ResultParts(result json.RawMessage, limit int, imitates func(json.RawMessage) bool) json.RawMessage {
	if only, ok := bytes.CutPrefix(result, []byte(`{"result":`)); ok && len(only) > 1 && only[0] == '"' {
		var members map[string]json.RawMessage
		switch only = only[:len(only)-1]; {
		case plainText(only):
			result = only
		case json.Unmarshal(result, &members) == nil && len(members) == 1:
			result = members["result"]
		}
	}
	part := ResultPart(result)
	if len(result) == 0 || result[0] == '"' || string(result) == "null" {
		return part
	}
	text := TextPart(Readable(result))
	if imitates(result) {
		if len(text) > limit {
			return TextPart("The result is not shown: it has the form of a question or an answer, and is too large for a text.")
		}
		return text
	}
	if len(part)+1+len(text) > limit {
		return part
	}
	return append(append(part, ','), text...)
}

// plainText reports whether raw is a JSON string without escapes, as AppendString would
// write it. Nearly every string is.
func plainText(raw json.RawMessage) bool {
	return len(raw) >= 2 && raw[0] == '"' && raw[len(raw)-1] == '"' && plainLength(raw[1:len(raw)-1]) == len(raw)-2
}

// readable undoes the escapes that only HTML needs, but not behind an escaped backslash.
var readable = strings.NewReplacer(`\\`, `\\`, `\u003c`, `<`, `\u003e`, `>`, `\u0026`, `&`)

// Readable returns JSON without the escapes that only HTML needs.
func Readable(raw json.RawMessage) string { return readable.Replace(string(raw)) }
