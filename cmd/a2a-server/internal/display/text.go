package display

import (
	"bytes"
	"encoding/json"
	"strconv"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// After returns text after a separator; "" if there is none.
func After(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// JSON returns v as JSON that people read.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return visible.Text(b.String()), nil
}

// JSONString returns a text as JSON.
func JSONString(text string) json.RawMessage {
	raw, _ := strictjson.Plain(text) // a string always can be
	return raw
}

// Count returns n with a noun, whose plural ends in s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
