package setting

import (
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"a2a-server/internal/visible"
)

// Text is a text that passes all checks. how describes it.
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

// textAs is a text as parse returns it.
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

// checkText refuses what nobody types: it would hide in logs and in questions.
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

// NotEmpty wants a text that is more than space; what is its noun.
func NotEmpty(what string) func(string) error {
	return func(text string) error {
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("is empty; write %s", what)
		}
		return nil
	}
}

// OneLine refuses what is not on one line.
func OneLine(text string) error {
	if strings.ContainsAny(text, "\n\t") {
		return fmt.Errorf("%s has a line break or a tab; write it on one line", quote(text))
	}
	return nil
}

// MediaRange is a media type, or all of a kind, or all.
func MediaRange(to *string) Value {
	return Text(to, "a media type such as text/plain, image/* or */*", func(text string) error {
		media, params, err := mime.ParseMediaType(text)
		kind, subtype, ok := strings.Cut(media, "/")
		switch {
		case err != nil || !ok || kind == "" || subtype == "" || kind == "*" && subtype != "*":
			return fmt.Errorf("%s is not a media type; write it as text/plain, or text/* for all texts, or */* for everything", quote(text))
		case len(params) > 0:
			return fmt.Errorf("%s has parameters, which are ignored; write %s", quote(text), clip(media))
		case media != text:
			return fmt.Errorf("%s has capitals or spaces; write %s", quote(text), clip(media))
		}
		return nil
	})
}

// quote returns text as an error repeats it: visible, on one line, and not all of a long one.
func quote(text string) string { return visible.Quote(text, 60) }

// clip is quote without quotation marks.
func clip(text string) string { return visible.Clip(text, 60) }
