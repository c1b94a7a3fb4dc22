package httptool

import (
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzURL fuzzes a template and the arguments in it: whatever they are, the server, the
// number of path segments and the names of query parameters stay those of the template, and
// every argument arrives as it was given.
func FuzzURL(f *testing.F) {
	schema := map[string]any{"properties": map[string]any{"x": map[string]any{}, "y": map[string]any{}}, "required": []any{"x", "y"}}
	for _, seed := range [][3]string{
		{"https://h.example/a/{x}/b?q={y}", "../..", "%2e%2e"},
		{"https://h.example:8080/{x}{y}", ".", "."},
		{"http://[::1]/v-{x}.json?a=b&q=-{y}-&c", "a/b\\c", "a&b=c#d"},
		{"https://h.example/{{x}}/%2e%2e", "", "\x00"},
		{"https://{x}/", "evil.example", "@"},
		{"https://h.example/?q={y*}&r={x}", "\r\nHost: x", "ä"},
		{"https://h.example/?q={y[]}&r={x[]}", "]&a=b", "%5D"},
		{"https://h.example/{secret:x}/{x", "}", "{"},
		{"https://h.example/{x};v=1/..;/{y}", "..;", "%25%32%65"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, template, x, y string) {
		d := newDeclared(schema)
		made := parseURL(template, d)
		if len(d.problems) > 0 {
			return
		}
		u, err := made.expand(map[string]any{"x": x, "y": y})
		if err != nil {
			return
		}
		if !utf8.ValidString(x) && d.used["x"] || !utf8.ValidString(y) && d.used["y"] {
			t.Errorf("expand(%q, %q) of %q is %s", x, y, template, u)
		}
		again, err := url.Parse(u.String())
		if err != nil {
			t.Fatalf("%q is no URL: %v", u, err)
		}
		scheme, rest, _ := strings.Cut(template, "://")
		host := rest
		if end := strings.IndexAny(rest, "/?"); end >= 0 {
			host = rest[:end]
		}
		if again.Scheme != scheme || again.Host != host || again.User != nil || again.Fragment != "" {
			t.Errorf("%q leads to %s://%s", u, again.Scheme, again.Host)
		}
		if again.EscapedPath() != u.EscapedPath() {
			t.Errorf("the path of %q is sent as %q", u, again.EscapedPath())
		}
		segments := strings.Split(strings.TrimPrefix(again.EscapedPath(), "/"), "/")
		if len(segments) != len(made.path) {
			t.Errorf("%q has %d path segments, want %d", u, len(segments), len(made.path))
		}
		for _, segment := range segments {
			once, err := url.PathUnescape(segment)
			if err != nil {
				t.Fatalf("%q: %v", segment, err)
			}
			if clean := path.Clean("/a/" + once); !strings.HasPrefix(clean, "/a") {
				t.Errorf("%q leads to %s", u, clean)
			}
		}
		if strings.ContainsAny(u.String(), "\r\n \x00") {
			t.Errorf("%q has characters that end a line", u)
		}
		if again.RawQuery == "" {
			return
		}
		if got := len(strings.Split(again.RawQuery, "&")); got > len(made.query) {
			t.Errorf("%q has %d parameters, want at most %d", u, got, len(made.query))
		}
		for i, pair := range strings.Split(again.RawQuery, "&") {
			key, value, _ := strings.Cut(pair, "=")
			p := made.query[i]
			if key != p.key {
				t.Errorf("%q has the parameter %q, want %q", u, key, p.key)
			}
			if name, ok := sole(p.value); ok {
				if got, err := url.QueryUnescape(value); err != nil || got != map[string]string{"x": x, "y": y}[name] {
					t.Errorf("%q has %s=%q, %v", u, name, got, err)
				}
			}
		}
	})
}

// FuzzHeader fuzzes the value of a header: whatever the argument is, it stays one value.
func FuzzHeader(f *testing.F) {
	schema := map[string]any{"properties": map[string]any{"x": map[string]any{}}, "required": []any{"x"}}
	f.Add("Bearer {x}", "a\r\nX-Admin: 1")
	f.Add("{x}", "ä")
	f.Add("{{{x}}}", "\u2028")
	f.Fuzz(func(t *testing.T, template, x string) {
		d := newDeclared(schema)
		headers := parseHeaders(map[string]string{"X-A": template}, d)
		if len(d.problems) > 0 || len(d.secrets) > 0 {
			return
		}
		to := map[string][]string{}
		if err := expandHeaders(headers, map[string]any{"x": x}, &secrets{}, to); err != nil {
			return
		}
		if len(to) != 1 || len(to["X-A"]) != 1 || strings.ContainsAny(to["X-A"][0], "\r\n\x00") {
			t.Errorf("header = %q", to)
		}
	})
}
