package httptool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// header is a header field with a template as its value.
type header struct {
	name  string // canonical
	value []fragment
}

// reserved returns the reason why a field is not configurable, "" for any other field.
func reserved(canonical string) string {
	switch canonical {
	case "Host":
		return "the URL has the host"
	case "Content-Length":
		return "it follows from the body"
	case "Accept-Encoding":
		return "answers are decompressed here, up to their limit"
	case "Connection", "Expect", "Http2-Settings", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return "it belongs to the connection"
	}
	return ""
}

// parseHeaders parses the header templates, in the order of their names.
func parseHeaders(templates map[string]string, d *declared) []header {
	var headers []header
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		canonical := http.CanonicalHeaderKey(name)
		what := fmt.Sprintf("header %q", name)
		if !httpguts.ValidHeaderFieldName(name) {
			d.problem("%s: it is not the name of a header; write letters, digits and hyphens", what)
			continue
		}
		if why := reserved(canonical); why != "" {
			d.problem("%s: it cannot be set: %s", what, why)
			continue
		}
		if seen[canonical] {
			d.problem("%s: duplicate header; names of headers do not depend on case", what)
			continue
		}
		seen[canonical] = true
		h := header{canonical, d.parse(templates[name], place{what: what, secrets: true, optional: true})}
		for _, p := range h.value {
			if !isHeaderText(p.text) {
				d.problem("%s: its value has a line break or another character that a header cannot have; write printable ASCII", what)
			}
		}
		headers = append(headers, h)
	}
	return headers
}

// isHeaderText reports whether s can be part of the value of a header: printable ASCII and
// tabs. Recipients disagree about anything else (RFC 9110 §5.5).
func isHeaderText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') })
}

// cookieMarks are the characters that the value of a cookie cannot have (RFC 6265 §4.1.1).
// Servers take the text after them for another cookie, or drop it.
const cookieMarks = "\t \",;\\"

// expandHeaders sets the headers of a request. It omits a header that consists of a single,
// missing argument.
func expandHeaders(headers []header, args map[string]any, secrets *secrets, to http.Header) error {
	for _, h := range headers {
		if name, ok := sole(h.value); ok && isMissing(args, name) {
			continue
		}
		value := slices.Clone(h.value)
		for i, p := range value {
			if !p.secret {
				if list, _ := args[p.name].([]any); h.name == "Cookie" && p.name != "" && len(list) > 1 {
					return invalid(p.name, "has more than one element, and a cookie cannot have the commas between them")
				}
				continue
			}
			secret, err := secrets.get(p.name)
			if err != nil {
				return err
			}
			value[i] = fragment{text: secret}
		}
		text, err := fill(value, args, h.encode)
		if err != nil {
			return err
		}
		to.Set(h.name, text)
	}
	return nil
}

// encode is the [encoder] of a header. The elements of an array are joined, so they cannot have
// commas of their own.
func (h *header) encode(name, text string, list bool) (string, error) {
	switch {
	case !isHeaderText(text):
		return "", invalid(name, "has a line break or another character that a header cannot have; want printable ASCII")
	case list && strings.Contains(text, ","):
		return "", invalid(name, "has an element with a comma, which separates elements in a header")
	case h.name == "Cookie" && strings.ContainsAny(text, cookieMarks):
		return "", invalid(name, "has a space or one of %s, which end a cookie or its value", strings.TrimSpace(cookieMarks))
	}
	return text, nil
}

// secrets resolves the secrets of a request, and remembers them to redact them from the
// answer.
type secrets struct {
	resolve func(ctx context.Context, name string) (string, error)
	ctx     context.Context //nolint:containedctx // of the one request that this belongs to
	known   []secret        // the longest first: a shorter secret may be a part of it
}

// secret is a secret that was resolved.
type secret struct {
	name, value string
	forms       *regexp.Regexp // nil: it was not looked for yet
}

func (s *secrets) get(name string) (string, error) {
	if i := slices.IndexFunc(s.known, func(k secret) bool { return k.name == name }); i >= 0 {
		return s.known[i].value, nil
	}
	v, err := s.resolve(s.ctx, name)
	if err != nil {
		return "", fmt.Errorf("secret %q: %w", name, err)
	}
	switch {
	case v == "":
		err = errors.New("it is empty")
	case !isHeaderText(v):
		err = errors.New("it has a line break or another character that a header cannot have")
	}
	if err != nil {
		return "", fmt.Errorf("secret %q: %w", name, err)
	}
	s.known = append(s.known, secret{name: name, value: v})
	slices.SortFunc(s.known, func(a, b secret) int { return cmp.Or(len(b.value)-len(a.value), strings.Compare(a.name, b.name)) })
	return v, nil
}

// minRedacted is the length from which a secret is recognized in an answer. Shorter secrets
// would be found in any text.
const minRedacted = 6

// redact removes the secrets of the request from a text of the server, which may repeat the
// request.
func (s *secrets) redact(text string) string {
	for i := range s.known {
		k := &s.known[i]
		if len(k.value) < minRedacted {
			continue
		}
		shown := "[secret " + k.name + "]"
		if text = strings.ReplaceAll(text, k.value, shown); len(k.value) > maxForms {
			continue
		}
		if k.forms == nil {
			k.forms = forms(k.value)
		}
		text = k.forms.ReplaceAllLiteralString(text, shown)
	}
	return text
}

// maxForms is the length up to which other forms of a secret are recognized.
const maxForms = 4 << 10

// forms matches a secret, which is printable ASCII, in the forms that encoders of JSON, of
// URLs and of HTML give each of its characters.
func forms(v string) *regexp.Regexp {
	var b strings.Builder
	named := map[byte]string{'"': "|&quot;", '&': "|&amp;", '<': "|&lt;", '>': "|&gt;", '\'': "|&apos;", '\t': `|\\+t`, ' ': `|\+`}
	for _, c := range []byte(v) {
		before := `\\*`
		if Escape(string(c)) == string(c) {
			before = ""
		}
		fmt.Fprintf(&b, `(?:%s%s|\\+u00(?i:%02x)|%%(?i:%02x)|&#0*%d;|&#[xX]0*(?i:%x);%s)`, before, regexp.QuoteMeta(string(c)), c, c, c, c, named[c])
	}
	return regexp.MustCompile(b.String())
}

// redactValue is redact for the strings of a decoded JSON value, which it changes.
func (s *secrets) redactValue(v any) any {
	switch v := v.(type) {
	case string:
		return s.redact(v)
	case json.Number:
		if text := s.redact(v.String()); text != v.String() {
			return text
		}
	case []any:
		for i := range v {
			v[i] = s.redactValue(v[i])
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			member := s.redactValue(v[name])
			delete(v, name)
			v[s.redact(name)] = member
		}
	}
	return v
}
