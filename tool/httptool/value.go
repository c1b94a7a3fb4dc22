package httptool

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"a2a-server/internal/strictjson"
	"a2a-server/tool"
)

// invalid returns the error for the argument of a name.
func invalid(name, format string, args ...any) error {
	return &tool.InvalidError{Violations: []tool.Violation{{
		Pointer: "/" + strictjson.EscapePointer(name),
		Message: fmt.Sprintf(format, args...),
	}}}
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
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return "", invalid(name, "is not valid UTF-8")
		}
		return v, nil
	case tool.Masked: // in a hint
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return v.String(), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatFloat(v, 'f', 0, 64), nil
		}
	case int, int64:
		return fmt.Sprint(v), nil
	case nil:
		return "", invalid(name, "is missing or null, and is needed as text")
	default:
		return "", invalid(name, "cannot be written as text here; want a string, a number or a boolean")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "", invalid(name, "is not a number of JSON")
	}
	return string(raw), nil
}

// Escape percent-encodes everything but the unreserved characters of RFC 3986 §2.3, so that
// the text has no meaning of its own anywhere in a URL or a form.
func Escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// isControl reports whether a text has a control character of ASCII.
func isControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
