package approval

import (
	"strings"
	"time"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// Lengths of text that people read, in characters.
const (
	maxValue  = 200  // a value in a hint
	maxWhole  = 2000 // arguments shown whole; longer text is shortened argument by argument
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
	text, err := strictjson.Plain(v)
	return visible.Line(string(text)), err
}

// Span returns a duration without the units that are zero, such as "24h" or "1h30m"; "0s" for zero.
func Span(d time.Duration) string {
	text := strings.Replace(d.String(), "h0m", "h", 1)
	if strings.HasSuffix(text, "m0s") || strings.HasSuffix(text, "h0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}
