package openapitoolset_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool/openapitoolset"
)

// TestBodies tests which of several media types is sent, and how the members of an object
// become the fields of a form.
func TestBodies(t *testing.T) {
	t.Parallel()
	const object = `"schema":{"type":"object","properties":{"n":{"type":"integer"},"on":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},"deep":{"type":"object"},"list":{"type":"array"},"plain":{"type":"object"}}}`
	const deep = `,"encoding":{"deep":{"style":"deepObject","explode":true},"list":{"style":"deepObject"}}`
	for name, tc := range map[string]struct{ content, args, kind, sent string }{
		"JSON before others":        {`"*/*":{},"application/json":{},"text/csv":{}`, `{"body":[1]}`, "application/json", `[1]`},
		"merge patch before others": {`"application/apply-patch+yaml":{},"application/json-patch+json":{},"application/merge-patch+json":{},"application/strategic-merge-patch+json":{}`, `{"body":{"a":null}}`, "application/merge-patch+json", `{"a":null}`},
		"anything is JSON":          {`"*/*":{"schema":{"type":"object"}},"application/x-www-form-urlencoded":{}`, `{"body":{"a":1}}`, "application/json", `{"a":1}`},
		"no body":                   {`"application/x-www-form-urlencoded":{` + object + `}`, `{}`, "", ""},
		"empty form":                {`"application/x-www-form-urlencoded":{` + object + `}`, `{"body":{}}`, "application/x-www-form-urlencoded", ""},
		"scalars":                   {`"application/x-www-form-urlencoded":{` + object + `},"multipart/form-data":{}`, `{"body":{"n":5,"on":true,"x":"a b&c=d+ä","gone":null}}`, "application/x-www-form-urlencoded", "n=5&on=true&x=a%20b%26c%3Dd%2B%C3%A4"},
		"arrays and objects":        {`"application/x-www-form-urlencoded":{` + object + `}`, `{"body":{"tags":["a","b"],"plain":{"x":[1]},"list":[]}}`, "application/x-www-form-urlencoded", "plain=%7B%22x%22%3A%5B1%5D%7D&tags=a&tags=b"},
		"deepObject":                {`"application/x-www-form-urlencoded":{` + object + deep + `}`, `{"body":{"deep":{"b":{"c d":1},"a":["x",{"y":false}],"z":null},"list":[{"p":"q"}]}}`, "application/x-www-form-urlencoded", "deep%5Ba%5D%5B0%5D=x&deep%5Ba%5D%5B1%5D%5By%5D=false&deep%5Bb%5D%5Bc%20d%5D=1&list%5B0%5D%5Bp%5D=q"},
		"multipart": {
			`"multipart/form-data":{"schema":{"properties":{"n":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}},"plain":{"type":"object","properties":{"x":{"type":"string"}}},"f":{"type":"string","format":"binary"}}}}`,
			`{"body":{"n":5,"tags":["a","b"],"plain":{"x":"y"}}}`, "multipart/form-data", "n: 5; plain (application/json): {\"x\":\"y\"}; tags: a; tags: b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, requests := record(t)
			set := build(t, openapitoolset.Config{Spec: one(`"requestBody":{"content":{` + tc.content + `}}`), Server: address})
			if _, err := call(t, set, "op", tc.args); err != nil {
				t.Fatal(err)
			}
			got := <-requests
			kind, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
			text := got.body
			if kind == "multipart/form-data" {
				text = parts(t, got)
			}
			if diff := cmp.Diff([2]string{tc.kind, tc.sent}, [2]string{kind, text}); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// parts returns the parts of a multipart body.
func parts(t *testing.T, got sent) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(got.body))
	r.Header = got.header
	reader, err := r.MultipartReader()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "; ")
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		name := part.FormName()
		if kind := part.Header.Get("Content-Type"); kind != "" {
			name += " (" + kind + ")"
		}
		all = append(all, name+": "+string(text))
	}
}

// TestFormNames tests that a call cannot send a field by a name that stands for a value in
// another one.
func TestFormNames(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	set := build(t, openapitoolset.Config{Server: address, Spec: body("application/x-www-form-urlencoded", `"encoding":{"a":{"style":"deepObject"}}`)})
	for _, args := range []string{`{"body":{"a[b]":1}}`, `{"body":{"a":{"b][c":1}}}`, `{"body":{"a":{"b\n":1}}}`, `{"body":{"x\u0000":1}}`, `{"body":{"x":[[1]]}}`, `{"body":"x=1"}`} {
		if _, err := call(t, set, "op", args); err == nil {
			t.Errorf("op(%s) = nil, want an error", args)
		}
	}
	if len(requests) > 0 {
		t.Error("a request was sent for invalid arguments")
	}
}

// TestLeftOut tests that optional parameters, files and bodies of GET that cannot be sent are
// no arguments, and that the others of the operation are.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec []byte
		want string // the arguments
	}{
		"parameters": {parameter(`{"name":"a","in":"cookie","schema":{}},{"name":"b","in":"query","content":{"application/json":{}}},{"name":"c","in":"query","style":"pipeDelimited","schema":{"type":"array"}},
			{"name":"d","in":"query","schema":{"type":"object"}},{"name":"e","in":"header","schema":{"type":"object"}},{"name":"f","in":"query","schema":{"type":"string"}}`), `f`},
		"file":            {body("multipart/form-data", `"schema":{"type":"object","additionalProperties":false,"properties":{"f":{"type":"string","format":"binary"},"n":{"type":"string"}}}`), `body n`},
		"file of an $ref": {[]byte(`{"openapi":"3.0.0","paths":{"/a":{"post":{"operationId":"op","requestBody":{"content":{"multipart/form-data":{"schema":{"$ref":"#/components/schemas/A"}}}}}}},"components":{"schemas":{"A":{"nullable":true,"type":"object","properties":{"f":{"$ref":"#/components/schemas/F"},"n":{}}},"F":{"type":"string","format":"binary"}}}}`), `body n`},
		"body of GET":     {[]byte(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"op","requestBody":{"content":{"text/csv":{}}}}}}}`), ``},
	} {
		properties, _ := schema(t, build(t, openapitoolset.Config{Spec: tc.spec}), "op")["properties"].(map[string]any)
		var got []string
		for name, p := range properties {
			got = append(got, name)
			if m, ok := p.(map[string]any); ok && name == "body" {
				fields, _ := m["properties"].(map[string]any)
				for field := range fields {
					got = append(got, field)
				}
			}
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: the arguments are %q, want %q", name, text, tc.want)
		}
	}
}

// TestDeepObject tests parameters of a query with the style deepObject.
func TestDeepObject(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	set := build(t, openapitoolset.Config{Server: address, Spec: parameter(`{"name":"created","in":"query","style":"deepObject","explode":true,"schema":{"anyOf":[{"type":"object"},{"type":"integer"}]}},
		{"name":"f[x]","in":"query","style":"deepObject","schema":{"type":"object"}},{"name":"expand","in":"query","style":"deepObject","schema":{"type":"array","items":{"type":"string"}}}`)})
	for args, want := range map[string]string{
		`{"created":{"gt":1,"lt":2}}`:        "/a?created%5Bgt%5D=1&created%5Blt%5D=2",
		`{"created":7,"f_x_":{}}`:            "/a?created=7",
		`{"expand":["a b","c"]}`:             "/a?expand%5B0%5D=a%20b&expand%5B1%5D=c",
		`{"f_x_":{"a":{"b&c":"d=e"}}}`:       "/a?f%5Bx%5D%5Ba%5D%5Bb%26c%5D=d%3De",
		`{"expand":[],"created":null}`:       "",
		`{"created":{"a][b":1},"expand":[]}`: "",
	} {
		if _, err := call(t, set, "op", args); err != nil {
			if want != "" {
				t.Errorf("op(%s) = %v", args, err)
			}
			continue
		}
		if got := <-requests; got.uri != want {
			t.Errorf("op(%s) sent %s, want %q", args, got.uri, want)
		}
	}
}

// TestOwnServers tests that an operation with servers of its own is there if the configured
// one is among them, and that no document chooses where requests go.
func TestOwnServers(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	set := build(t, openapitoolset.Config{Spec: one(`"servers":[{"url":"https://evil.example"},{"url":"` + address + `/"}]`), Server: address})
	if _, err := call(t, set, "op", `{}`); err != nil {
		t.Fatal(err)
	}
	if got := <-requests; got.uri != "/a" {
		t.Errorf("sent %s", got.uri)
	}
}
