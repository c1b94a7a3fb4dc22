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
)

// header is a header field whose value is a template.
type header struct {
	name  string // canonical
	value []piece
}

// reserved lists the fields that are not configurable, with the setting that decides them.
func reserved() map[string]string {
	const connection = "it belongs to the connection"
	return map[string]string{
		"Host":                "the URL has the host",
		"Content-Length":      "it follows from the body",
		"Accept-Encoding":     "answers are decompressed here, up to their limit",
		"Connection":          connection,
		"Expect":              connection,
		"Http2-Settings":      connection,
		"Keep-Alive":          connection,
		"Proxy-Authenticate":  connection,
		"Proxy-Authorization": connection,
		"Proxy-Connection":    connection,
		"Te":                  connection,
		"Trailer":             connection,
		"Transfer-Encoding":   connection,
		"Upgrade":             connection,
	}
}

// parseHeaders parses the header templates, in the order of their names.
func parseHeaders(templates map[string]string, d *declared) []header {
	var headers []header
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		canonical := http.CanonicalHeaderKey(name)
		what := fmt.Sprintf("header %q", name)
		if !isToken(name) {
			d.problem("%s: it is not the name of a header; write letters, digits and hyphens", what)
			continue
		}
		if why := reserved()[canonical]; why != "" {
			d.problem("%s: it cannot be set: %s", what, why)
			continue
		}
		if seen[canonical] {
			d.problem("%s: it is there twice; names of headers do not depend on case", what)
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

// isToken reports whether s can be the name of a header (RFC 9110 §5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// isHeaderText reports whether s can be part of the value of a header: printable ASCII and
// tabs. Recipients disagree about anything else (RFC 9110 §5.5).
func isHeaderText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') })
}

// cookieMarks are what the value of a cookie cannot have (RFC 6265 §4.1.1). Servers take
// what follows them for another cookie, or for none.
const cookieMarks = "\t \",;\\"

// expandHeaders sets the headers of a request, without those whose only argument is
// missing.
func expandHeaders(headers []header, args map[string]any, secrets *secrets, to http.Header) error {
	for _, h := range headers {
		if name, ok := sole(h.value); ok && isMissing(args, name) {
			continue
		}
		var b strings.Builder
		for _, p := range h.value {
			s := p.text
			var err error
			switch {
			case p.secret:
				s, err = secrets.get(p.name)
			case p.name != "":
				s, err = headerArgument(args, p.name)
				if err == nil && h.name == "Cookie" && strings.ContainsAny(s, cookieMarks) {
					err = invalid(p.name, "has a space or one of %s, which end a cookie or its value", strings.TrimSpace(cookieMarks))
				}
			}
			if err != nil {
				return err
			}
			b.WriteString(s)
		}
		to.Set(h.name, b.String())
	}
	return nil
}

// headerArgument returns the text of an argument in a header. The elements of an array are
// joined, so they cannot have commas of their own.
func headerArgument(args map[string]any, name string) (string, error) {
	texts, err := elements(args, name)
	if err != nil {
		return "", err
	}
	_, list := args[name].([]any)
	for _, s := range texts {
		if !isHeaderText(s) {
			return "", invalid(name, "has a line break or another character that a header cannot have; want printable ASCII")
		}
		if list && strings.Contains(s, ",") {
			return "", invalid(name, "has an element with a comma, which separates elements in a header")
		}
	}
	return strings.Join(texts, ","), nil
}

// secrets resolves the secrets of one request, and remembers them to keep them out of what
// is shown.
type secrets struct {
	resolve func(ctx context.Context, name string) (string, error)
	ctx     context.Context //nolint:containedctx // of the one request that this belongs to
	values  map[string]string
	forms   map[string]*regexp.Regexp // of values, as far as they were looked for
}

func (s *secrets) get(name string) (string, error) {
	if v, ok := s.values[name]; ok {
		return v, nil
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
	s.values[name] = v
	return v, nil
}

// minRedacted is the length from which a secret is recognized in an answer. Shorter ones
// would be found in any text.
const minRedacted = 6

// redact removes the secrets of the request from a text of the server, which may repeat
// what it was sent.
func (s *secrets) redact(text string) string {
	// The longest first: another one may be a part of it.
	names := slices.SortedFunc(maps.Keys(s.values), func(a, b string) int {
		return cmp.Or(len(s.values[b])-len(s.values[a]), strings.Compare(a, b))
	})
	for _, name := range names {
		v := s.values[name]
		if len(v) < minRedacted {
			continue
		}
		shown := "[secret " + name + "]"
		text = strings.ReplaceAll(text, v, shown)
		if len(v) > maxForms {
			continue
		}
		if s.forms == nil {
			s.forms = map[string]*regexp.Regexp{}
		}
		if s.forms[name] == nil {
			s.forms[name] = forms(v)
		}
		text = s.forms[name].ReplaceAllLiteralString(text, shown)
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
		if isUnreserved(c) {
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
