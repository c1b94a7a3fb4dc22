package dialect

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// escape makes text from outside fit to be looked at by somebody who decides: what
// cannot be seen, or changes how other characters are seen, is written as JSON writes
// it (\u202e). Line breaks and tabs stay.
func escape(s string) string {
	return escapeBut(s, "\n\t")
}

// oneLine is escape for what has to stay in its line.
func oneLine(s string) string {
	return escapeBut(s, "")
}

func escapeBut(s, keep string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !unseen(r) || strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// unseen reports whether r is a control character, a format character (among them
// those that turn the direction of text), a line separator, or another one that
// leaves no mark.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}
