// Package visible defines the characters that a person cannot see, and escapes and shortens
// text for people. Nothing else does: the hint, the arguments and the errors that an approver
// reads must all show the exact text of the call.
//
// The definition is cautious. A character counts as invisible if it leaves no mark on today's
// screens, may leave none, or changes the look of other characters. So emoji with a variation
// selector, spaces other than U+0020, and characters newer than the tables of the Go release
// are partly shown as escapes. That is ugly, but hides nothing.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Invisible reports whether r leaves no mark of its own, may leave none, or changes the look
// of other characters:
//
//   - characters that are not graphic: controls, formats (bidirectional marks, joiners,
//     tags), line and paragraph separators, private use, surrogates, noncharacters, and
//     anything that is unassigned in the Unicode version of the Go release;
//   - spaces other than U+0020;
//   - variation selectors, and everything else that is ignorable by default, such as the
//     Hangul fillers;
//   - the few graphic characters that are blank: see blank.
//
// U+FFFD, which replaces invalid UTF-8, is visible.
func Invisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == '\x7f'
	}
	return !unicode.IsGraphic(r) || blank(r) ||
		unicode.In(r, unicode.Zs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// blank reports whether r is a letter, mark or symbol in Unicode for which fonts draw
// nothing.
func blank(r rune) bool {
	switch r {
	case 0x2800, // Braille pattern blank
		0xFFFC,           // object replacement character
		0x16FE4,          // Khitan small script filler
		0x13441, 0x13442, // Egyptian hieroglyph full blank and half blank
		0x1D159: // musical symbol null notehead
		return true
	}
	return false
}

// Line returns s for display on one line: characters that are [Invisible], including line
// breaks and tabs, are escaped as in JSON, \u202e or, above U+FFFF, \udb40\udc01. Invalid
// UTF-8 becomes U+FFFD. Any other text is returned unchanged.
func Line(s string) string { return escape(s, "") }

// Text is [Line] for multi-line text: it keeps line feeds and tabs.
func Text(s string) string { return escape(s, "\n\t") }

// Clip is [Line] and [Shorten] to limit characters, for text of any length from outside: it
// reads no more of s than it returns. After a truncated text it gives the length of s in
// bytes.
func Clip(s string, limit int) string { return clip(s, limit, "") }

// Quote is [Clip] in quotation marks.
func Quote(s string, limit int) string { return `"` + Clip(s, limit) + `"` }

// ClipText is [Clip] for multi-line text: it keeps line feeds and tabs.
func ClipText(s string, limit int) string { return clip(s, limit, "\n\t") }

func clip(s string, limit int, keep string) string {
	var b strings.Builder
	left := limit
	for _, r := range s { // invalid UTF-8 comes as U+FFFD
		shown, size := string(r), 1
		if Invisible(r) && !strings.ContainsRune(keep, r) {
			shown = escaped(r)
			size = len(shown)
		}
		if left -= size; left < 0 {
			return fmt.Sprintf("%s… (%d bytes)", b.String(), len(s))
		}
		b.WriteString(shown)
	}
	return b.String()
}

func escape(s, keep string) string {
	hidden := func(r rune) bool { return Invisible(r) && !strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // invalid UTF-8 comes as U+FFFD
		if hidden(r) {
			b.WriteString(escaped(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// escaped returns r as JSON writes it in a string.
func escaped(r rune) string {
	if r > 0xFFFF {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Shorten truncates s to limit characters, and then gives its length in characters. It is for
// the results of [Line] and [Text], so that it counts the characters that people read.
func Shorten(s string, limit int) string {
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
