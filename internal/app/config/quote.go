package config

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted is how much of a value a problem repeats, in bytes.
const maxQuoted = 60

func quote(text string) string {
	if len(text) > maxQuoted {
		return strconv.Quote(cut(text)) + "…"
	}
	return strconv.Quote(text)
}

// clip returns text as a problem repeats it without quotes.
func clip(text string) string {
	if len(text) > maxQuoted {
		return printable(cut(text)) + "…"
	}
	return printable(text)
}

// cut returns the beginning of text without half a character at its end.
func cut(text string) string {
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// printable escapes what could not be seen, or would break the line.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}
