package setting

import (
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"a2a-server/internal/visible"
)

// Text returns a value that is a string that passes all checks. how describes it.
func Text(to *string, how string, checks ...func(string) error) Value {
	return textAs(to, how, func(text string) (string, error) {
		for _, check := range checks {
			if err := check(text); err != nil {
				return "", err
			}
		}
		return text, nil
	})
}

// textAs returns a value that is the string that parse returns.
func textAs(to *string, how string, parse func(string) (string, error)) Value {
	return variable[string]{
		to: to, how: how,
		parse: func(text string) (string, error) {
			if err := checkText(text); err != nil {
				return "", err
			}
			return parse(text)
		},
		write: func(text string) string { return text },
	}
}

// checkText refuses invalid UTF-8 and control characters, which would be invisible in logs
// and questions.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s is not UTF-8", quote(text))
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return fmt.Errorf("%s has the control character %U; remove it", quote(text), r)
		}
	}
	return nil
}

// NotEmpty returns a check that refuses text that is only space. The error asks for what.
func NotEmpty(what string) func(string) error {
	return func(text string) error {
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("is empty; write %s", what)
		}
		return nil
	}
}

// OneLine is a check that refuses line breaks and tabs.
func OneLine(text string) error {
	if strings.ContainsAny(text, "\n\t") {
		return fmt.Errorf("%s has a line break or a tab; write it on one line", quote(text))
	}
	return nil
}

// MediaRange returns a value that is a media type, type/* or */*, in lower case and without
// parameters.
func MediaRange(to *string) Value {
	return Text(to, "a media type such as image/*", func(text string) error {
		media, params, err := mime.ParseMediaType(text)
		kind, subtype, ok := strings.Cut(media, "/")
		switch {
		case err != nil || !ok || kind == "" || subtype == "" || kind == "*" && subtype != "*":
			return fmt.Errorf("%s is not a media type; write it as text/plain, or text/* for any text, or */* for everything", quote(text))
		case len(params) > 0:
			return fmt.Errorf("%s has parameters, which are ignored; write %s", quote(text), clip(media))
		case media != text:
			return fmt.Errorf("%s has capitals or spaces; write %s", quote(text), clip(media))
		}
		return nil
	})
}

// quote returns text for an error: in quotes, escaped, on a single line and shortened.
func quote(text string) string { return visible.Quote(text, 60) }

// clip is quote without the quotes.
func clip(text string) string { return visible.Clip(text, 60) }
