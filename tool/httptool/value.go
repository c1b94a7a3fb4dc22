package httptool

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"a2a-server/internal/strictjson"
	"a2a-server/tool"
)

// invalid returns the error for the argument of a name.
func invalid(name, format string, args ...any) error {
	return tool.Invalid("/"+strictjson.EscapePointer(name), format, args...)
}

// isMissing reports whether the place of an argument is left out of a URL, a form or a
// header.
func isMissing(args map[string]any, name string) bool {
	v := args[name]
	if list, ok := v.([]any); ok {
		return len(list) == 0
	}
	return v == nil
}

// elements returns the texts of an argument: a text for each element of an array, else its
// own.
func elements(args map[string]any, name string) ([]string, error) {
	list, ok := args[name].([]any)
	if !ok {
		list = []any{args[name]}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		var err error
		if texts[i], err = text(name, v); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// text returns the text of a scalar argument.
func text(name string, v any) (string, error) {
	text, ok := tool.ArgumentText(v)
	switch {
	case v == nil:
		return "", invalid(name, "is missing or null, and is needed as text")
	case !ok:
		return "", invalid(name, "cannot be written as text here; want a string, a number or a boolean")
	case !utf8.ValidString(text):
		return "", invalid(name, "is not valid UTF-8")
	}
	return text, nil
}

// Escape percent-encodes everything but the unreserved characters of RFC 3986 §2.3, so that
// the text has no meaning of its own anywhere in a URL or a form.
func Escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// isControl reports whether a text has a control character of ASCII.
func isControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
