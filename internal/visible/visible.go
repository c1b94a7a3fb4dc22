// Package visible decides what of a text a person would not see, and how a text is
// escaped and shortened before a person reads it. It is the only place that does:
// whoever approves a call has to be shown in the hint, in the arguments and in an error
// what the call would get, so all of them have to agree.
//
// The definition is cautious. A character counts as invisible when it leaves no mark on
// a screen of today, when it may leave none, or when it changes how others are seen. So
// emoji with a variation selector, texts with spaces other than U+0020, and characters
// that are newer than the tables of the Go release are partly shown as escapes. They are
// ugly then, but nothing is hidden.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Invisible reports whether r leaves no mark of its own, or may leave none, or changes
// how others are seen:
//
//   - what is not graphic: controls, formats (bidirectional marks, joiners, tags), line
//     and paragraph separators, private use, surrogates, noncharacters and whatever else
//     Unicode has not assigned as far as the Go release knows;
//   - spaces but U+0020;
//   - variation selectors, and all that is ignorable by default, such as the fillers of
//     Hangul;
//   - the few graphic characters that are blank: see blank.
//
// U+FFFD, which stands for what is no UTF-8, is visible.
func Invisible(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == '\x7f'
	}
	return !unicode.IsGraphic(r) || blank(r) ||
		unicode.In(r, unicode.Zs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// blank reports whether r is a character that Unicode counts among letters, marks and
// symbols though fonts draw nothing for it.
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

// Line returns s fit to be read within a line: what is [Invisible], line breaks and tabs
// among it, is written as JSON writes it, \u202e or, above U+FFFF, \udb40\udc01. Bytes
// that are no UTF-8 become U+FFFD. A text without any of these is returned as it is.
func Line(s string) string { return escape(s, "") }

// Text is [Line] for a text of several lines: line feeds and tabs stay.
func Text(s string) string { return escape(s, "\n\t") }

// Clip is [Line], and [Shorten] to limit characters, for a text of any length from
// outside: it looks at no more of s than it returns. What it says of a text that it has
// cut is how many bytes that had.
func Clip(s string, limit int) string { return clip(s, limit, "") }

// Quote is [Clip] in quotation marks.
func Quote(s string, limit int) string { return `"` + Clip(s, limit) + `"` }

// ClipText is [Clip] for a text of several lines: line feeds and tabs stay.
func ClipText(s string, limit int) string { return clip(s, limit, "\n\t") }

func clip(s string, limit int, keep string) string {
	if len(s) <= limit {
		if line := escape(s, keep); len(line) <= limit {
			return line
		}
	}
	var b strings.Builder
	left := limit
	for _, r := range s { // what is no UTF-8 comes as U+FFFD
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
	for _, r := range s { // what is no UTF-8 comes as U+FFFD
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

// Shorten cuts s to limit characters and says how many it had. It is for texts that
// have been through [Line] or [Text]: what is cut is then what would have been read.
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
