package httptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"a2a-server/tool"
	"a2a-server/tool/httptool"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	optional := properties(map[string]any{"q": kind("string"), "tags": kind("array"), "n": map[string]any{}, "o": map[string]any{}})
	tests := []struct {
		name   string
		config httptool.Config // of a URL that begins after the host
		args   map[string]any
		uri    string
		header map[string]string // "": must be missing
		body   string
	}{
		{name: "nothing", config: httptool.Config{Method: "GET", URL: ""}, uri: "/"},
		{name: "query without a path", config: httptool.Config{Method: "GET", URL: "?a=1&b"}, uri: "/?a=1&b"},
		{name: "a path as it is", config: httptool.Config{Method: "GET", URL: "/a//b%2Fc/;v=1/"}, uri: "/a//b%2Fc/;v=1/"},
		{
			name: "escaped for their place", config: httptool.Config{Method: "GET", URL: "/x-{a}.json/{b}?q={a}&r=-{b}-"},
			args: map[string]any{"a": "ä b/c?d#e&f=g%h+i", "b": "k;l:m@n"},
			uri:  "/x-%C3%A4%20b%2Fc%3Fd%23e%26f%3Dg%25h%2Bi.json/k%3Bl%3Am%40n?q=%C3%A4%20b%2Fc%3Fd%23e%26f%3Dg%25h%2Bi&r=-k%3Bl%3Am%40n-",
		},
		{
			name: "numbers and booleans", config: httptool.Config{Method: "GET", URL: "/{a}/{b}/{c}/{d}?e={e}", Parameters: properties(map[string]any{"a": kind("integer"), "b": kind("number"), "c": kind("boolean"), "d": kind("number"), "e": kind("number")}, "a", "b", "c", "d", "e")},
			args: map[string]any{"a": float64(1 << 52), "b": 1.5, "c": true, "d": -0.25, "e": 1e300}, uri: "/4503599627370496/1.5/true/-0.25?e=1e%2B300",
		},
		{name: "arrays", config: httptool.Config{Method: "GET", URL: "/?t={tags}&u={tags*}", Parameters: properties(map[string]any{"tags": kind("array")}, "tags")}, args: map[string]any{"tags": []any{"a,b", "c", 1.0}}, uri: "/?t=a%2Cb,c,1&u=a%2Cb&u=c&u=1"},
		{name: "arrays in a path", config: httptool.Config{Method: "GET", URL: "/{tags}", Parameters: properties(map[string]any{"tags": kind("array")}, "tags")}, args: map[string]any{"tags": []any{"a", "b/c"}}, uri: "/a,b%2Fc"},
		{name: "brackets", config: httptool.Config{Method: "GET", URL: "/?a%20b={o[]}&t={tags[]}", Parameters: properties(map[string]any{"o": kind("object"), "tags": kind("array")}, "o")}, args: map[string]any{"o": map[string]any{"z": nil, "b": map[string]any{"c&d": true}, "a": []any{1.0, "x y"}}, "tags": []any{"u"}}, uri: "/?a%20b%5Ba%5D%5B0%5D=1&a%20b%5Ba%5D%5B1%5D=x%20y&a%20b%5Bb%5D%5Bc%26d%5D=true&t%5B0%5D=u"},
		{name: "left out", config: httptool.Config{Method: "GET", URL: "/?q={q}&x=1&t={tags*}&n={n}&o={o}", Parameters: optional, Header: map[string]string{"X-Q": "{q}"}}, args: map[string]any{"tags": []any{}, "n": nil}, uri: "/?x=1", header: map[string]string{"X-Q": ""}},
		{name: "all left out", config: httptool.Config{Method: "GET", URL: "/?q={q}&t={tags*}&n={n}&o={o}", Parameters: optional}, uri: "/"},
		{name: "empty is not missing", config: httptool.Config{Method: "GET", URL: "/?q={q}"}, args: map[string]any{"q": ""}, uri: "/?q="},
		{
			name: "headers", config: httptool.Config{Method: "GET", URL: "/", Header: map[string]string{"x-team": "t-{a}-{{x}}", "X-List": "{l}", "User-Agent": "mine", "Accept": "text/csv"}, Parameters: properties(map[string]any{"a": kind("string"), "l": kind("array")}, "a", "l")},
			args: map[string]any{"a": "x: y;z", "l": []any{"1", "2"}}, uri: "/", header: map[string]string{"X-Team": "t-x: y;z-{x}", "X-List": "1,2", "User-Agent": "mine", "Accept": "text/csv"},
		},
		{
			name: "JSON", config: httptool.Config{Method: "POST", URL: "/", JSON: map[string]any{"summary": "{s}", "text": "a {s} {{b}}", "n": "{n}", "o": "{o}", "gone": "{gone}", "list": []any{"{s}", "{gone}", 1, nil}, "fixed": true, "{{k}}": "<"}, Parameters: properties(map[string]any{"s": kind("string"), "n": kind("integer"), "o": kind("object"), "gone": map[string]any{}}, "s", "n", "o")},
			args: map[string]any{"s": `"},"admin":true,"x":{"`, "n": 5.0, "o": map[string]any{"a": []any{nil}}}, uri: "/", header: map[string]string{"Content-Type": "application/json"},
			body: `{"fixed":true,"list":["\"},\"admin\":true,\"x\":{\"",1,null],"n":5,"o":{"a":[null]},"summary":"\"},\"admin\":true,\"x\":{\"","text":"a \"},\"admin\":true,\"x\":{\" {b}","{k}":"<"}`,
		},
		{name: "JSON null", config: httptool.Config{Method: "POST", URL: "/", JSON: map[string]any{"a": "{n}"}, Parameters: optionalOnly("n")}, args: map[string]any{"n": nil}, uri: "/", body: `{"a":null}`},
		{name: "whole JSON", config: httptool.Config{Method: "POST", URL: "/", JSON: "{n}", Parameters: optionalOnly("n")}, args: map[string]any{"n": []any{1.0}}, uri: "/", body: `[1]`},
		{name: "no JSON", config: httptool.Config{Method: "POST", URL: "/", JSON: "{n}", Parameters: optionalOnly("n")}, uri: "/", header: map[string]string{"Content-Type": "", "Content-Length": "0"}},
		{name: "JSON of another type", config: httptool.Config{Method: "PATCH", URL: "/", JSON: []any{}, Header: map[string]string{"content-type": "application/json-patch+json"}}, uri: "/", header: map[string]string{"Content-Type": "application/json-patch+json"}, body: `[]`},
		{
			name: "form", config: httptool.Config{Method: "POST", URL: "/", Form: map[string]string{"a": "{a}", "b c": "1&{a}", "t": "{t*}", "n": "{n}"}, Parameters: properties(map[string]any{"a": kind("string"), "t": kind("array"), "n": map[string]any{}}, "a", "t")},
			args: map[string]any{"a": "x&admin=1", "t": []any{"1", "2"}}, uri: "/", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, body: "a=x%26admin%3D1&b%20c=1%26x%26admin%3D1&t=1&t=2",
		},
		{name: "delete without a body", config: httptool.Config{Method: "DELETE", URL: "/{id}"}, args: map[string]any{"id": "7"}, uri: "/7"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			address, requests := record(t)
			c := tc.config
			c.URL = address + c.URL
			if _, err := call(t.Context(), build(t, c), tc.args); err != nil {
				t.Fatal(err)
			}
			got := <-requests
			if got.method != c.Method || got.uri != tc.uri || got.body != tc.body {
				t.Errorf("sent %s %s %q\nwant %s %s %q", got.method, got.uri, got.body, c.Method, tc.uri, tc.body)
			}
			for name, want := range tc.header {
				if have := got.header.Get(name); have != want {
					t.Errorf("header %s = %q, want %q", name, have, want)
				}
			}
		})
	}
}

func optionalOnly(name string) map[string]any {
	return properties(map[string]any{name: map[string]any{}})
}

// TestRefusedArguments tests that nothing is sent for arguments that would change the
// request.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	c := httptool.Config{Method: "DELETE", Client: client(t, httptool.ClientConfig{})}
	path, mixed, header, list, cookie, cookies := c, c, c, c, c, c
	path.URL = address + "/pets/{x}/toys"
	mixed.URL = address + "/pets/{x}{y}/toys"
	mixed.Parameters = properties(map[string]any{"x": map[string]any{}, "y": map[string]any{}}, "x", "y")
	header.URL, header.Header = address+"/", map[string]string{"X-A": "a{x}"}
	list.URL, list.Header = address+"/", map[string]string{"X-A": "{x}"}
	list.Parameters = properties(map[string]any{"x": kind("array")}, "x")
	cookie.URL, cookie.Header = address+"/", map[string]string{"cookie": "team={x}; v=1"}
	cookies.URL, cookies.Header, cookies.Parameters = cookie.URL, cookie.Header, list.Parameters
	anything := path
	anything.Parameters = properties(map[string]any{"x": map[string]any{}}, "x")
	tests := []struct {
		config httptool.Config
		values []any
	}{
		{path, []any{
			"", ".", "..", "../../admin", `..\admin`, "a/../b", "a/./b", "a\\..", "/..", "../",
			"%2e%2e", "%2E.", ".%2e", "%252e%252e", "%25252e%25252e", "a%2f..%2fb", "a%2F%2E%2E", "a%5c..",
			"..;x=1", "..;", "a/..;/b", "%2e%2e%3b", ".. ", " ..", "..%20", "..%00", "..\x00",
			// What a server may take for dots, slashes and percent signs after it has made
			// characters compatible, or fitted them to another encoding.
			"\uff0e\uff0e", ".\uff0e", "\u2024\u2024", "\u2025", "\ufe52.", "a\uff0f..", "..\uff3ca", "..\u2215a", "..\u2044a", "..\ufe68a",
			"\uff052e\uff052e", "%ef%bc%8e%ef%bc%8e", "\uff05\uff12\uff45.", "..\uff1bx", "\u3002\u3002", "\uff61\uff61",
			"%c0%ae%c0%ae", "%c0%ae.", "%e0%80%ae%e0%80%ae", "..%c0%afa", "..%c1%9ca", "%u002e%u002e", "%uff0e.", "..%u2215a",
			"%2525252525252525", "a\r\nb", "a%0d%0ab", "a\x00", "%00", "a\x7f", "a\xff",
		}},
		{header, []any{"a\r\nX-Admin: 1", "a\nb", "a\rb", "a\x00", "ä", "\u2028", "a\x7f"}},
		{cookie, []any{"a; admin=1", "a;admin=1", "a,admin=1", "a admin=1", "a\tb", `"a`, `a\b`}},
		{cookies, []any{[]any{"a", "admin=1"}, []any{"", ""}, []any{"a;admin=1"}, []any{"a,b"}}},
		{list, []any{[]any{"a\r\nb"}, []any{"a,b"}, []any{nil}, []any{map[string]any{}}, []any{[]any{}}, "x"}},
		{anything, []any{nil, map[string]any{}, []any{}, []any{""}, []any{"..", ".."}[:1], []any{"a", "../b"}, []any{[]any{"a"}}, 5i}},
	}
	for i, tc := range tests {
		made := build(t, tc.config)
		for _, value := range tc.values {
			_, err := call(t.Context(), made, map[string]any{"x": value})
			var invalid *tool.InvalidError
			if !errors.As(err, &invalid) {
				t.Errorf("%d: call(%#v) = %v, want an invalid argument", i, value, err)
			}
			if errors.Is(err, tool.ErrOutcomeUnknown) {
				t.Errorf("%d: call(%#v) = %v, want a known outcome", i, value, err)
			}
		}
	}
	made := build(t, mixed)
	for _, pair := range [][2]any{{".", "."}, {"%2", "e."}, {"", ""}, {"a/.", "."}, {"%", "2e."}} {
		if _, err := call(t.Context(), made, map[string]any{"x": pair[0], "y": pair[1]}); err == nil {
			t.Errorf("call(%v) = nil, want an error", pair)
		}
	}
	for _, args := range []map[string]any{{}, {"x": "a", "other": "b"}, {"x": 5.0}} {
		if _, err := call(t.Context(), build(t, path), args); err == nil {
			t.Errorf("call(%v) = nil, want an error", args)
		}
	}
	select {
	case got := <-requests:
		t.Errorf("sent %s %s", got.method, got.uri)
	default:
	}
}

// TestAllowedArguments tests that arguments which only look odd are sent.
func TestAllowedArguments(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	made := build(t, httptool.Config{Method: "GET", URL: address + "/{x}"})
	for value, want := range map[string]string{
		"...": "/...", "\u2026": "/%E2%80%A6", "a\uff0eb": "/a%EF%BC%8Eb", "%u00e9": "/%25u00e9", "%c0": "/%25c0", "..a": "/..a", "a..b": "/a..b", ".git": "/.git", "group/project": "/group%2Fproject", "100%": "/100%25", "%zz": "/%25zz",
		"http://evil.example/": "/http%3A%2F%2Fevil.example%2F", "@evil.example": "/%40evil.example", ":80": "/%3A80", "?a=b#c": "/%3Fa%3Db%23c", "//evil.example": "/%2F%2Fevil.example",
	} {
		if _, err := call(t.Context(), made, map[string]any{"x": value}); err != nil {
			t.Errorf("call(%q) = %v", value, err)
			continue
		}
		if got := <-requests; got.uri != want {
			t.Errorf("call(%q) sent %s, want %s", value, got.uri, want)
		}
	}
}

// TestCookieOfList tests that a list of one element is the value of a cookie.
func TestCookieOfList(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	made := build(t, httptool.Config{Method: "GET", URL: address, Header: map[string]string{"Cookie": "s={x}"}, Parameters: properties(map[string]any{"x": kind("array")}, "x")})
	if _, err := call(t.Context(), made, map[string]any{"x": []any{"a"}}); err != nil {
		t.Fatal(err)
	}
	if got := (<-requests).header.Get("Cookie"); got != "s=a" {
		t.Errorf("sent the cookie %q", got)
	}
}

func TestCheckedArguments(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	made := build(t, httptool.Config{Method: "GET", URL: address + "/?n={n}", Parameters: properties(map[string]any{"n": map[string]any{"type": "integer", "maximum": 5}})})
	args := map[string]any{"n": 7.0}
	var invalid *tool.InvalidError
	if _, err := call(t.Context(), made, args); !errors.As(err, &invalid) {
		t.Errorf("call() = %v, want an invalid argument", err)
	}
	if _, err := call(t.Context(), made, map[string]any{"n": json.Number("3")}); err != nil {
		t.Error(err)
	} else if got := <-requests; got.uri != "/?n=3" {
		t.Errorf("sent %s", got.uri)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	const value = `tok/en"1<2`
	good := func(_ context.Context, name string) (string, error) {
		if name != "jira" {
			return "", errors.New("there is no such secret")
		}
		return value, nil
	}
	base := func(url string) httptool.Config {
		return httptool.Config{Method: "GET", URL: url, Secrets: good, Header: map[string]string{"Authorization": "Bearer {secret:jira}", "X-Again": "{secret:jira}"}}
	}
	t.Run("sent", func(t *testing.T) {
		t.Parallel()
		address, requests := record(t)
		if _, err := call(t.Context(), build(t, base(address)), nil); err != nil {
			t.Fatal(err)
		}
		got := <-requests
		if got.header.Get("Authorization") != "Bearer "+value || got.header.Get("X-Again") != value {
			t.Errorf("sent %v", got.header)
		}
	})
	t.Run("unusable", func(t *testing.T) {
		t.Parallel()
		address, requests := record(t)
		for name, secrets := range map[string]func(context.Context, string) (string, error){
			"missing":    func(context.Context, string) (string, error) { return "leaked", errors.New("there is no such secret") },
			"empty":      func(context.Context, string) (string, error) { return "", nil },
			"line break": func(context.Context, string) (string, error) { return "leaked\n", nil },
			"injected":   func(context.Context, string) (string, error) { return "leaked\r\nX-Admin: 1", nil },
		} {
			c := base(address)
			c.Secrets = secrets
			_, err := call(t.Context(), build(t, c), nil)
			if err == nil || strings.Contains(err.Error(), "leaked") || !strings.Contains(err.Error(), `secret "jira"`) || errors.Is(err, tool.ErrOutcomeUnknown) {
				t.Errorf("%s: call() = %v, want an error that names the secret", name, err)
			}
		}
		if len(requests) > 0 {
			t.Error("a request was sent without its secret")
		}
	})
	// A server repeats what it was sent, as services for debugging do.
	repeat := func(status int, kind string, body func(v string) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Location", "/to/"+r.Header.Get("X-Again"))
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body(r.Header.Get("X-Again"))))
		}
	}
	asJSON := func(v string) string {
		raw, _ := json.Marshal(map[string]any{v: []any{"Bearer " + v}})
		return string(raw)
	}
	php := func(v string) string {
		return `{"a":"` + strings.NewReplacer("/", `\/`, `"`, `\"`).Replace(v) + `"}`
	}
	plain := func(v string) string { return "you sent " + v }
	for name, h := range map[string]http.HandlerFunc{
		"in JSON":            repeat(200, "application/json", asJSON),
		"in text":            repeat(200, "text/plain", plain),
		"in a file":          repeat(200, "application/pdf", plain),
		"in an error":        repeat(400, "text/plain", plain),
		"in an error's JSON": repeat(500, "application/json", asJSON),
		"in escaped JSON":    repeat(500, "application/json", php),
		"in a redirect":      repeat(302, "text/plain", plain),
		"in bad JSON":        repeat(200, "application/json", plain),
		"in an empty answer": repeat(201, "text/plain", func(string) string { return "" }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := call(t.Context(), build(t, base(answering(t, h))), nil)
			shown, _ := json.Marshal(r)
			text := string(shown)
			if err != nil {
				text = err.Error()
			}
			for _, form := range []string{value, `tok\/en`, `tok/en\"1`, `tok/en"1`, `tok/en\\\"1`} {
				if strings.Contains(text, form) {
					t.Errorf("the secret is in %s", text)
				}
			}
		})
	}
}

// TestSecretsInEachOther tests that of two secrets of which one begins with the other, no
// part is left.
func TestSecretsInEachOther(t *testing.T) {
	t.Parallel()
	values := map[string]string{"a": "abcdef", "b": "abcdef-and-the-rest", "c": "12345678"}
	for name, h := range map[string]http.HandlerFunc{
		"in text": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("B")) },
		"in an error": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, r.Header.Get("B"))
		},
		"percent-encoded": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "abcdef%2dand%2Dthe-rest abcdef\\u002dand\\u002Dthe\\u002drest")
		},
		"as a number": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"result": `+r.Header.Get("C")+`}`)
		},
		"in the names that are there": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"`+r.Header.Get("B")+`": 1}`)
		},
	} {
		c := httptool.Config{
			Method: "GET", URL: answering(t, h), Header: map[string]string{"A": "{secret:a}", "B": "{secret:b}", "C": "{secret:c}"},
			Secrets: func(_ context.Context, name string) (string, error) { return values[name], nil },
		}
		if name == "as a number" || strings.HasPrefix(name, "in the names") {
			c.Result = "/result"
		}
		r, err := call(t.Context(), build(t, c), nil)
		shown, _ := json.Marshal(r)
		text := string(shown)
		if err != nil {
			text = err.Error()
		}
		if strings.Contains(text, "rest") || strings.Contains(text, "12345678") || !strings.Contains(text, "[secret ") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestNothingForwarded tests that what the caller has is not sent on.
func TestNothingForwarded(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	if _, err := call(t.Context(), build(t, httptool.Config{Method: "GET", URL: address}), nil); err != nil {
		t.Fatal(err)
	}
	got := <-requests
	for name := range got.header {
		switch name {
		case "User-Agent", "Accept", "Accept-Encoding", "Connection":
		default:
			t.Errorf("header %s was sent", name)
		}
	}
}
