package httptool_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"a2a-server/tool"
	"a2a-server/tool/httptool"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	secrets := func(context.Context, string) (string, error) { return "s", nil }
	url := func(u string) httptool.Config { return httptool.Config{Method: "GET", URL: u} }
	post := func(c httptool.Config) httptool.Config {
		c.Method, c.URL = "POST", "https://h.example/"
		return c
	}
	headers := func(name, value string) httptool.Config {
		return httptool.Config{Method: "GET", URL: "https://h.example/", Header: map[string]string{name: value}, Secrets: secrets}
	}
	tests := []struct {
		name   string
		config httptool.Config
		want   string
	}{
		{"no method", httptool.Config{URL: "https://h.example/"}, "method:"},
		{"a method of its own", httptool.Config{Method: "BREW", URL: "https://h.example/"}, "method:"},
		{"a method in lower case", httptool.Config{Method: "get", URL: "https://h.example/"}, "method:"},
		{"CONNECT", httptool.Config{Method: "CONNECT", URL: "https://h.example/"}, "method:"},
		{"no URL", url(""), "https://"},
		{"no scheme", url("h.example/x"), "https://"},
		{"another scheme", url("file:///etc/passwd"), "https://"},
		{"placeholder in the scheme", url("{s}://h.example/"), "https://"},
		{"placeholder in the host", url("https://{h}/x"), "host"},
		{"placeholder in part of the host", url("https://{h}.example/x"), "host"},
		{"placeholder in the port", url("https://h.example:{p}/x"), "host"},
		{"placeholder after the host", url("https://h.example{p}"), "host"},
		{"placeholder as user", url("https://{u}@h.example/"), "host"},
		{"user", url("https://admin:pw@h.example/"), "user name"},
		{"user without a password", url("https://good.example@evil.example/"), "user name"},
		{"encoded host", url("https://h%2eexample/"), "encoded"},
		{"zone", url("https://[fe80::1%25eth0]/"), "encoded"},
		{"no host", url("https:///x"), "not a host"},
		{"address without brackets", url("https://::1/"), "not a host"},
		{"port 0", url("https://h.example:0/"), "port"},
		{"large port", url("https://h.example:65536/"), "port"},
		{"empty port", url("https://h.example:/"), "port"},
		{"fragment", url("https://h.example/#x"), "fragment"},
		{"space", url("https://h.example/a b"), "byte 19"},
		{"line break", url("https://h.example/a\r\nHost: x"), "byte 19"},
		{"backslash", url(`https://h.example\@evil.example/`), "byte 17"},
		{"letters that are not ASCII", url("https://bücher.example/"), "byte 9"},
		{"dots", url("https://h.example/a/../b"), "path segment 2"},
		{"encoded dots", url("https://h.example/a/%2e%2E/b"), "path segment 2"},
		{"dots encoded twice", url("https://h.example/a/%252e%252e/b"), "path segment 2"},
		{"dots after an encoded slash", url("https://h.example/a%2f..%2fb"), "path segment 1"},
		{"encoding", url("https://h.example/%zz"), "percent-encoding"},
		{"encoding in a query", url("https://h.example/?a=%zz"), "percent-encoding"},
		{"brace", url("https://h.example/{{x}}"), "percent-encoding"},
		{"placeholder in a query key", url("https://h.example/?{k}=1"), "name of a query parameter"},
		{"placeholder as a query", url("https://h.example/?{k}"), "name of a query parameter"},
		{"open brace", url("https://h.example/{x"), "no partner"},
		{"close brace", url("https://h.example/x}"), "no partner"},
		{"no name", url("https://h.example/{}"), "not a placeholder"},
		{"bad name", url("https://h.example/{a:b}"), "not a placeholder"},
		{"all elements in a path", url("https://h.example/{x*}"), "only as the whole value"},
		{"all elements in a part of a query", url("https://h.example/?a=b{x*}"), "only as the whole value"},
		{"secret in a path", url("https://h.example/{secret:x}"), "not allowed here"},
		{"secret in a query", url("https://h.example/?key={secret:x}"), "not allowed here"},
		{"secret in a body", post(httptool.Config{JSON: "{secret:x}", Secrets: secrets}), "not allowed here"},
		{"secret in a form", post(httptool.Config{Form: map[string]string{"a": "{secret:x}"}, Secrets: secrets}), "not allowed here"},
		{"brackets in a path", url("https://h.example/{x[]}"), "{x[]} is allowed only as the whole value"},
		{"brackets of a secret", headers("X-A", "{secret:x[]}"), "remove the []"},
		{"fields of no argument", httptool.Config{Name: "t", Method: "POST", URL: "https://h.example", Fields: &httptool.Fields{Argument: "x"}}, `unknown argument "x"`},
		{"elements of a secret", headers("X-A", "{secret:x*}"), "no elements"},
		{"no secrets", httptool.Config{Method: "GET", URL: "https://h.example/", Header: map[string]string{"A": "{secret:x}"}}, "needs secrets"},
		{"header with a line break", headers("X-A", "a\r\nX-B: b"), "line break"},
		{"header with other letters", headers("X-A", "ä"), "line break"},
		{"name with a line break", headers("X-A\r\nX-B", "a"), "not the name"},
		{"name with a placeholder", headers("X-{a}", "a"), "not the name"},
		{"no header name", headers("", "a"), "not the name"},
		{"Host", headers("host", "evil.example"), "the URL has the host"},
		{"Content-Length", headers("Content-Length", "5"), "cannot be set"},
		{"Transfer-Encoding", headers("transfer-encoding", "chunked"), "cannot be set"},
		{"Accept-Encoding", headers("Accept-Encoding", "br"), "cannot be set"},
		{"header twice", httptool.Config{Method: "GET", URL: "https://h.example/", Header: map[string]string{"X-A": "1", "x-a": "2"}}, "duplicate"},
		{"body of GET", httptool.Config{Method: "GET", URL: "https://h.example/", JSON: "x"}, "body"},
		{"two bodies", post(httptool.Config{JSON: "x", Form: map[string]string{"a": "x"}}), "there are 2"},
		{"placeholder in a JSON name", post(httptool.Config{JSON: map[string]any{"{a}": 1}}), "in a name"},
		{"placeholder in a form name", post(httptool.Config{Form: map[string]string{"{a}": "1"}}), "in a name"},
		{"no JSON", post(httptool.Config{JSON: map[string]any{"a": make(chan int)}}), "not a value of JSON"},
		{"deep JSON", post(httptool.Config{JSON: nested(100)}), "nested deeper"},
		{"pointer", httptool.Config{Method: "GET", URL: "https://h.example/", Result: "key"}, "result:"},
		{"pointer with a tilde", httptool.Config{Method: "GET", URL: "https://h.example/", Result: "/a~2"}, "result:"},
		{"timeout", httptool.Config{Method: "GET", URL: "https://h.example/", Timeout: -time.Second}, "timeout:"},
		{"schema of no object", httptool.Config{Method: "GET", URL: "https://h.example/", Parameters: kind("string")}, "must be object"},
		{"schema that does not compile", httptool.Config{Method: "GET", URL: "https://h.example/{a}", Parameters: properties(map[string]any{"a": kind("strnig")}, "a")}, "parameters:"},
		{"schema with a reference", httptool.Config{Method: "GET", URL: "https://h.example/{a}", Parameters: properties(map[string]any{"a": map[string]any{"$ref": "https://evil.example/s.json"}}, "a")}, "parameters:"},
		{"unknown argument", httptool.Config{Method: "GET", URL: "https://h.example/{a}", Parameters: properties(nil)}, `unknown argument "a"`},
		{"unused argument", httptool.Config{Method: "GET", URL: "https://h.example/", Parameters: properties(map[string]any{"a": kind("string")})}, `"a" is used nowhere`},
		{"optional in a path", httptool.Config{Method: "GET", URL: "https://h.example/{a}", Parameters: properties(map[string]any{"a": kind("string")})}, "must be required"},
		{"optional in a larger text", httptool.Config{Method: "GET", URL: "https://h.example/?q=a{a}", Parameters: properties(map[string]any{"a": kind("string")})}, "must be required"},
		{"object in a query", httptool.Config{Method: "GET", URL: "https://h.example/?q={a}", Parameters: properties(map[string]any{"a": kind("object")})}, "is an object"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := tc.config
			c.Name = "it"
			made, err := httptool.New(c)
			if err == nil || made != nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `"it"`) {
				t.Errorf("New() = %v, %v, want an error with %q", made, err, tc.want)
			}
		})
	}
	t.Run("all problems", func(t *testing.T) {
		t.Parallel()
		_, err := httptool.New(httptool.Config{Name: "a b", Method: "X", URL: "ftp://", Result: "x"})
		for _, want := range []string{"name:", "method:", "url:", "result:"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("New() = %v, want an error with %q", err, want)
			}
		}
	})
}

func nested(depth int) any {
	var v any = 1
	for range depth {
		v = []any{v}
	}
	return v
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tests := []struct {
		method  string
		approve *bool
		gated   bool
		want    tool.Annotations
	}{
		{"GET", nil, false, tool.Annotations{ReadOnly: true}},
		{"HEAD", nil, false, tool.Annotations{ReadOnly: true}},
		{"POST", nil, true, tool.Annotations{}},
		{"PATCH", nil, true, tool.Annotations{}},
		{"PUT", nil, true, tool.Annotations{Destructive: true}},
		{"DELETE", nil, true, tool.Annotations{Destructive: true}},
		{"GET", &yes, true, tool.Annotations{ReadOnly: true}},
		{"DELETE", &no, false, tool.Annotations{Destructive: true}},
	}
	for _, tc := range tests {
		made := build(t, httptool.Config{Method: tc.method, URL: "https://h.example/{a}", Description: "d", Approve: tc.approve})
		if got := tool.AnnotationsOf(made); got != tc.want {
			t.Errorf("%s: annotations = %+v, want %+v", tc.method, got, tc.want)
		}
		ask, err := tool.NeedsApproval(nil, made, map[string]any{"a": "x y"})
		if ask != tc.gated || made.RequiresApproval() != tc.gated || err != nil {
			t.Errorf("%s: NeedsApproval() = %v, %v, want %v", tc.method, ask, err, tc.gated)
		}
		if want := tc.method + " https://h.example/x%20y"; !strings.HasPrefix(hintOf(t, made, map[string]any{"a": "x y"}), want) {
			t.Errorf("%s: the hint does not begin with %q", tc.method, want)
		}
	}
	made := build(t, httptool.Config{Name: "n", Method: "GET", URL: "https://h.example/", Description: "d", Timeout: time.Minute})
	timed, ok := tool.As[tool.Timed](made)
	if !ok || timed.Timeout() <= time.Minute {
		t.Error("the server would end the call before the tool does")
	}
	if made.Name() != "n" || made.Description() != "d" || made.IsLongRunning() {
		t.Errorf("it declares %s, %s, %v", made.Name(), made.Description(), made.IsLongRunning())
	}
}

func hintOf(t *testing.T, made tool.Tool, args map[string]any) string {
	t.Helper()
	hint, err := tool.Hint(nil, made, args)
	if err != nil {
		t.Errorf("Hint(%v) = %v", args, err)
	}
	return hint
}

// TestHintOfWhatCannotBeSent tests that arguments which cannot be sent have no hint that says otherwise.
func TestHintOfWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	made := build(t, httptool.Config{Method: "POST", URL: "https://h.example/{a}"})
	if hint, err := tool.Hint(nil, made, map[string]any{"a": ".."}); hint != "" || err == nil {
		t.Errorf("Hint() = %q, %v, want none and why", hint, err)
	}
}

// TestMaskedHint tests that a masked argument is ••• wherever the request has it, or that there is no hint.
func TestMaskedHint(t *testing.T) {
	t.Parallel()
	masked := map[string]any{"a": tool.Masked{}, "b": []any{tool.Masked{}, "c"}}
	for want, c := range map[string]httptool.Config{
		`POST https://h.example/•••?q=•••,c`:                                               {URL: "https://h.example/{a}?q={b}"},
		`POST https://h.example/ with the body {"to":"•••","why":"-•••-","x":["•••","c"]}`: {URL: "https://h.example/", JSON: map[string]any{"to": "{a}", "why": "-{a}-", "x": "{b}"}},
		`POST https://h.example/ with the body to=•••&x=•••&x=c`:                           {URL: "https://h.example/", Form: map[string]string{"to": "{a}", "x": "{b*}"}},
	} {
		c.Method = "POST"
		if got := hintOf(t, build(t, c), masked); got != want {
			t.Errorf("Hint() = %s, want %s", got, want)
		}
	}
	header := build(t, httptool.Config{Method: "POST", URL: "https://h.example/", Header: map[string]string{"X-To": "{a}"}})
	if hint, err := tool.Hint(nil, header, masked); hint != "" || err == nil {
		t.Errorf("Hint() of a masked header = %q, %v", hint, err)
	}
}

// TestHint tests that an approver sees the request as it would be sent, without its secrets.
func TestHint(t *testing.T) {
	t.Parallel()
	base := httptool.Config{Method: "POST", URL: "https://h.example/{a}?q={b}"}
	with := func(change func(*httptool.Config)) httptool.Config {
		c := base
		change(&c)
		return c
	}
	for _, tt := range []struct {
		c    httptool.Config
		want string
	}{
		{base, "POST https://h.example/x%2Fy?q=%E2%80%AE1"},
		{with(func(c *httptool.Config) {
			c.JSON = map[string]any{"to": "{a}", "why": "-{b}-", "always": []any{true, 1}}
		}),
			`POST https://h.example/x%2Fy?q=%E2%80%AE1 with the body {"always":[true,1],"to":"x/y","why":"-\u202e1-"}`},
		{with(func(c *httptool.Config) { c.Form = map[string]string{"mode": "all", "to": "{a}"} }), "POST https://h.example/x%2Fy?q=%E2%80%AE1 with the body mode=all&to=x%2Fy"},
		{with(func(c *httptool.Config) {
			c.Header = map[string]string{"X-Mode": "{a}", "Authorization": "Bearer {secret:jira}", "X-None": "{b}"}
			c.URL = "https://h.example/{a}"
			c.Parameters = properties(map[string]any{"a": kind("string"), "b": kind("string")}, "a")
			c.Secrets = func(context.Context, string) (string, error) { t.Error("the secret is read"); return "leaked", nil }
		}), `POST https://h.example/x%2Fy with the headers Authorization: Bearer {secret:jira}, X-Mode: x/y`},
	} {
		args := map[string]any{"a": "x/y", "b": "\u202e1"}
		if tt.c.Header != nil {
			delete(args, "b")
		}
		if hint := hintOf(t, build(t, tt.c), args); hint != tt.want {
			t.Errorf("Hint() = %s, want %s", hint, tt.want)
		}
	}
}

// TestDigest tests that the definition, which an approval is bound to, changes with what is
// sent, and contains neither addresses nor secrets.
func TestDigest(t *testing.T) {
	t.Parallel()
	value := "first-secret-value"
	base := httptool.Config{
		Method: "POST", URL: "https://internal.example/{a}", Header: map[string]string{"Authorization": "Bearer {secret:jira}"}, JSON: "{a}",
		Secrets: func(context.Context, string) (string, error) { return value, nil },
	}
	comment := func(c httptool.Config) any {
		schema := tool.ToDefinition(build(t, c)).Parameters
		for _, hidden := range []string{"internal.example", value, "Authorization"} {
			if text := strings.Join(texts(schema), "\n"); strings.Contains(text, hidden) {
				t.Errorf("the schema has %q: %s", hidden, text)
			}
		}
		return schema["$comment"]
	}
	first := comment(base)
	value = "second-secret-value"
	if again := comment(base); again != first {
		t.Errorf("the digest changes with the value of a secret: %v, %v", first, again)
	}
	for name, change := range map[string]func(*httptool.Config){
		"method": func(c *httptool.Config) { c.Method = "PUT" },
		"host":   func(c *httptool.Config) { c.URL = "https://other.example/{a}" },
		"header": func(c *httptool.Config) { c.Header = map[string]string{"Authorization": "Bearer {secret:other}"} },
		"body":   func(c *httptool.Config) { c.JSON = map[string]any{"x": "{a}"} },
	} {
		c := base
		change(&c)
		if got := comment(c); got == first {
			t.Errorf("the digest does not change with the %s", name)
		}
	}
}

// texts returns the strings in a JSON value.
func texts(v any) []string {
	var all []string
	switch v := v.(type) {
	case string:
		all = append(all, v)
	case map[string]any:
		for name, value := range v {
			all = append(append(all, name), texts(value)...)
		}
	case []any:
		for _, value := range v {
			all = append(all, texts(value)...)
		}
	}
	return all
}
