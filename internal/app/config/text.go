package config

import (
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words is any text that passes check; value describes it.
func words(value string, check func(string) error) form[string] {
	return form[string]{
		value: value,
		parse: func(text string) (string, error) {
			if err := checkText(text); err != nil {
				return "", err
			}
			if check != nil {
				if err := check(text); err != nil {
					return "", err
				}
			}
			return text, nil
		},
		write: func(text string) string { return text },
	}
}

// notEmpty wants a text that is more than space; what is its noun.
func notEmpty(what string) func(string) error {
	return func(text string) error {
		if strings.TrimSpace(text) == "" {
			return wrong("is empty; write %s", what)
		}
		return nil
	}
}

// checkText refuses what nobody types: it would hide in logs and in questions.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return wrong("%s is not UTF-8", quote(text))
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return wrong("%s has the control character %U; remove it", quote(text), r)
		}
	}
	return nil
}

// checkLine refuses what does not stand on one line, too.
func checkLine(text string) error {
	if strings.ContainsAny(text, "\n\t") {
		return wrong("%s has a line break or a tab; write it on one line", quote(text))
	}
	return nil
}

// every is all checks, up to the first that fails.
func every(checks ...func(string) error) func(string) error {
	return func(text string) error {
		for _, check := range checks {
			if err := check(text); err != nil {
				return err
			}
		}
		return nil
	}
}

// mediaRange is a media type, or all of a kind, or all.
func mediaRange() form[string] {
	return words("a media type such as text/plain, image/* or */*", func(text string) error {
		media, params, err := mime.ParseMediaType(text)
		kind, subtype, ok := strings.Cut(media, "/")
		switch {
		case err != nil || !ok || kind == "" || subtype == "" || kind == "*" && subtype != "*":
			return wrong("%s is not a media type; write it as text/plain, or text/* for all texts, or */* for everything", quote(text))
		case len(params) > 0:
			return wrong("%s has parameters, which are ignored; write %s", quote(text), clip(media))
		case media != text:
			return wrong("%s has capitals or spaces; write %s", quote(text), clip(media))
		}
		return nil
	})
}
