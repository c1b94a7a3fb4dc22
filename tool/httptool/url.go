package httptool

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// urlTemplate is a URL with placeholders in its path and query.
type urlTemplate struct {
	scheme, host string
	path         [][]fragment // the segments after the first slash
	query        []parameter
}

// parameter is a parameter of a query or a form.
type parameter struct {
	key   string // escaped
	bare  bool   // the parameter has no "="
	value []fragment
}

// parseURL parses the template of a URL. Problems go to d.
func parseURL(template string, d *declared) *urlTemplate {
	t, path, query, err := splitURL(template)
	if err != nil {
		d.problem("url: %w", err)
		return nil
	}
	for i, segment := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		at := place{what: fmt.Sprintf("url: path segment %d", i+1)}
		fragments := d.parse(segment, at)
		if err := checkLiterals(fragments, url.PathUnescape); err != nil {
			d.problem("%s: %w", at.what, err)
		} else if text, ok := literal(fragments); ok && hasDots(text) {
			d.problem("%s: %q is not allowed; write the path that it leads to", at.what, segment)
		}
		t.path = append(t.path, fragments)
	}
	if query == "" {
		return t
	}
	for parameterText := range strings.SplitSeq(query, "&") {
		if p, ok := parseParameter(parameterText, d); ok {
			t.query = append(t.query, p)
		}
	}
	return t
}

// splitURL checks the fixed part of a URL, and separates the rest.
func splitURL(template string) (t *urlTemplate, path, query string, err error) {
	if i := strings.IndexFunc(template, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`|", r) }); i >= 0 {
		return nil, "", "", fmt.Errorf("byte %d is a character that a URL cannot have; percent-encode it", i)
	}
	if strings.Contains(template, "#") {
		return nil, "", "", errors.New("a fragment is never sent; remove the # and the text after it")
	}
	scheme, rest, _ := strings.Cut(template, "://")
	if scheme != "http" && scheme != "https" {
		return nil, "", "", errors.New("it must begin with https:// or http://, without a placeholder")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	if err := checkHost(host); err != nil {
		return nil, "", "", err
	}
	path, query, _ = strings.Cut(rest[end:], "?")
	return &urlTemplate{scheme: scheme, host: host}, path, query, nil
}

// checkHost checks the host and port of a URL.
func checkHost(host string) error {
	switch {
	case strings.ContainsAny(host, "{}"):
		return errors.New("a placeholder is not allowed in the host, which must be fixed; make a tool for each server")
	case strings.Contains(host, "@"):
		return errors.New("a user name or password is not allowed; send it in a header, with {secret:name}")
	case strings.Contains(host, "%"):
		return errors.New("an encoded character is not allowed in the host")
	}
	u, err := url.Parse("http://" + host + "/")
	if err != nil || u.Host != host || u.Hostname() == "" {
		return fmt.Errorf("%q is not a host; write a name or an address, with a port if it is not the usual one", host)
	}
	if port := u.Port(); port != "" || strings.HasSuffix(host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%q is not a port; write a number from 1 to 65535", port)
		}
	}
	return nil
}

// parseParameter parses a parameter of a query.
func parseParameter(template string, d *declared) (p parameter, ok bool) {
	key, value, has := strings.Cut(template, "=")
	if strings.ContainsAny(key, "{}") {
		d.problem("url: a placeholder is not allowed in the name of a query parameter, %q", key)
		return p, false
	}
	at := place{what: fmt.Sprintf("url: query parameter %q", key), explode: true, optional: true}
	if _, err := url.QueryUnescape(key); err != nil {
		d.problem("%s: its name has an invalid percent-encoding", at.what)
		return p, false
	}
	p = parameter{key: key, bare: !has, value: d.parse(value, at)}
	if err := checkLiterals(p.value, url.QueryUnescape); err != nil {
		d.problem("%s: %w", at.what, err)
	}
	return p, true
}

// checkLiterals checks that literal text can be in a URL.
func checkLiterals(fragments []fragment, unescape func(string) (string, error)) error {
	for _, p := range fragments {
		if _, err := unescape(p.text); err != nil || strings.ContainsAny(p.text, "{}") {
			return fmt.Errorf("%q has an invalid percent-encoding; write %%7B and %%7D for braces, %%25 for a percent sign", p.text)
		}
	}
	return nil
}

// maxDecodings is how often a path may be decoded on its way to be refused if it then has
// dots: a proxy decodes it, and then the server.
const maxDecodings = 5

// hasDots reports whether a path segment has a part that is "." or "..", for a
// server that decodes it again, takes slashes of either kind for separators, or cuts off
// the text after a semicolon.
func hasDots(segment string) bool {
	for range maxDecodings {
		segment = compatible(segment)
		for part := range strings.FieldsFuncSeq(segment, func(r rune) bool { return r == '/' || r == '\\' }) {
			part, _, _ = strings.Cut(part, ";")
			if part = strings.Trim(part, " \t\r\n\x00"); part == "." || part == ".." {
				return true
			}
		}
		decoded := unescapeLenient(segment)
		if decoded == segment {
			return false
		}
		segment = decoded
	}
	return true // encoded so often that nobody can tell
}

// compatible replaces characters that servers take for the ASCII characters of paths: forms that
// become ASCII when text is made compatible (Unicode's NFKC) or is fitted to another encoding, and
// encodings of UTF-8 that are too long.
func compatible(s string) string {
	return strings.NewReplacer(
		"\xc0\xae", ".", "\xc0\xaf", "/", "\xc1\x9c", `\`, "\xe0\x80\xae", ".", "\xe0\x80\xaf", "/", "\xe0\x81\x9c", `\`,
		"\u3002", ".", "\u2044", "/", "\u2215", "/", "\u2216", `\`,
	).Replace(norm.NFKC.String(s))
}

// unescapeLenient decodes the valid percent-encodings of s, the form %u002e included, and
// leaves invalid encodings.
func unescapeLenient(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+5 < len(s) && s[i+1]|0x20 == 'u' {
			if c, err := strconv.ParseUint(s[i+2:i+6], 16, 16); err == nil {
				b.WriteRune(rune(c))
				i += 5
				continue
			}
		}
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// expand returns the URL for arguments.
func (t *urlTemplate) expand(args map[string]any) (*url.URL, error) {
	var raw strings.Builder
	for _, segment := range t.path {
		escaped, err := expandSegment(segment, args)
		if err != nil {
			return nil, err
		}
		raw.WriteString("/" + escaped)
	}
	query, err := expandParameters(t.query, args)
	if err != nil {
		return nil, err
	}
	path, err := url.PathUnescape(raw.String())
	if err != nil {
		return nil, fmt.Errorf("the path of the request: %w", err)
	}
	u := &url.URL{Scheme: t.scheme, Host: t.host, Path: path, RawPath: raw.String(), RawQuery: query}
	if u.EscapedPath() != raw.String() {
		// It would be sent in another encoding than the checked encoding.
		return nil, errors.New("the path of the request has no encoding that is sent unchanged")
	}
	return u, nil
}

const leadsElsewhere = `"." or "..", which leads to another path`

// expandSegment returns a path segment in its encoded form.
func expandSegment(segment []fragment, args map[string]any) (string, error) {
	if text, ok := literal(segment); ok {
		return text, nil
	}
	encoded, err := fill(segment, args, func(name, text string, list bool) (string, error) {
		switch {
		case isControl(unescapeLenient(text)):
			return "", invalid(name, "has a control character, which a path cannot have")
		case list && hasDots(text):
			return "", invalid(name, "has an element %s", leadsElsewhere)
		}
		return Escape(text), nil
	})
	if err != nil {
		return "", err
	}
	first := segment[slices.IndexFunc(segment, func(p fragment) bool { return p.name != "" })].name
	switch {
	case encoded == "":
		return "", invalid(first, "is empty, which would change the path of the request; a segment of the path needs a value")
	case hasDots(encoded):
		return "", invalid(first, "makes a part of the path %s", leadsElsewhere)
	}
	return encoded, nil
}

// expandParameters returns the parameters of a query or a form. It omits a parameter that
// consists of a single, missing argument.
func expandParameters(parameters []parameter, args map[string]any) (string, error) {
	var pairs []string
	for _, p := range parameters {
		name, whole := sole(p.value)
		switch {
		case p.bare:
			pairs = append(pairs, p.key)
		case whole && isMissing(args, name):
		case whole && p.value[0].nested:
			err := nested(name, "", args[name], func(key, text string) { pairs = append(pairs, p.key+Escape(key)+"="+Escape(text)) })
			if err != nil {
				return "", err
			}
		case whole && p.value[0].explode:
			texts, err := elements(args, name)
			if err != nil {
				return "", err
			}
			for _, s := range texts {
				pairs = append(pairs, p.key+"="+Escape(s))
			}
		default:
			value, err := fill(p.value, args, escaped)
			if err != nil {
				return "", err
			}
			pairs = append(pairs, p.key+"="+value)
		}
	}
	return strings.Join(pairs, "&"), nil
}
