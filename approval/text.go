package approval

import (
	"bytes"
	"encoding/json"
	"strings"

	"a2a-server/internal/visible"
)

// Lengths of text that people read, in characters.
const (
	maxValue  = 200  // one value in a hint
	maxWhole  = 2000 // arguments shown whole; longer ones are shortened one by one
	maxHint   = 8000 // a hint
	maxReason = 300  // why something failed
)

// quote returns s for use in a message: in quotation marks, shortened, and with
// nothing in it that a terminal or a browser would not show.
func quote(s string) string {
	return visible.Shorten(`"`+visible.Line(s)+`"`, maxValue)
}

// jsonText returns v as JSON with sorted keys, and invisible characters as \u escapes.
func jsonText(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return visible.Line(strings.TrimSuffix(buf.String(), "\n")), nil
}
