package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of text that people read, in characters.
const (
	maxValue  = 200  // one value in a hint
	maxWhole  = 2000 // arguments shown whole; beyond, each is shortened by itself
	maxHint   = 8000 // a hint
	maxReason = 300  // why something failed
)

// quote returns s for use in a message: in quotation marks, shortened, and with
// nothing in it that a terminal or a browser would not show.
func quote(s string) string {
	return shorten(`"`+escape(s, false /* keepLines */)+`"`, maxValue)
}

// jsonText returns v as JSON that shows what it holds: keys sorted, hidden and
// direction-changing characters as \u escapes.
func jsonText(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return escape(strings.TrimSuffix(buf.String(), "\n"), false /* keepLines */), nil
}

// escape writes control characters and everything that is there but not seen, or
// that reorders what is seen, as \u escapes. Line feeds and tabs stay with keepLines.
func escape(s string, keepLines bool) string {
	clean := func(r rune) bool { return !hidden(r) || keepLines && (r == '\n' || r == '\t') }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s { // what is not UTF-8 comes out as U+FFFD
		switch {
		case clean(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hidden reports whether r does not show, or changes how others show: controls,
// formats (bidirectional marks, zero-width characters, tags), line and paragraph
// separators, private use, and variation selectors beyond those of emoji.
func hidden(r rune) bool {
	if r < 0x7F {
		return r < 0x20
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) ||
		r >= 0xE0100 && r <= 0xE01EF
}

// shorten cuts s to limit characters and says how long it was.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return s
	}
	end := 0
	for range limit {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return fmt.Sprintf("%s… (%d characters)", s[:end], n)
}
