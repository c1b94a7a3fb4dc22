package openapitoolset_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/tool"
	"a2a-server/tool/openapitoolset"
)

// components returns a document whose operation has a body that refers to A, with these
// schemas.
func components(schemas string) []byte {
	return []byte(`{"openapi":"3.0.3","info":{"title":"x","version":"1"},"paths":{"/a":{"post":{"operationId":"op",
		"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}}}}},"components":{"schemas":{` + schemas + `}}}`)
}

func parameter(p string) []byte { return one(`"parameters":[` + p + `]`) }

// body returns a document whose operation has a body of a media type with these members.
func body(kind, members string) []byte {
	return one(`"requestBody":{"content":{"` + kind + `":{` + members + `}}}`)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	spec := func(s string) openapitoolset.Config { return openapitoolset.Config{Spec: []byte(s)} }
	tests := []struct {
		name   string
		config openapitoolset.Config
		want   []string
	}{
		{"no document", openapitoolset.Config{}, []string{"spec:", "path"}},
		{"two documents", openapitoolset.Config{Spec: one(""), Path: "x"}, []string{"spec:", "path"}},
		{"no file", openapitoolset.Config{Path: "testdata/none.yaml"}, []string{"none.yaml"}},
		{"a folder", openapitoolset.Config{Path: "testdata"}, []string{"not a regular file"}},
		{"empty", spec(" "), []string{"spec:"}},
		{"an array", spec("[]"), []string{"must be an object"}},
		{"text", spec("hello"), []string{"must be an object"}},
		{"no JSON", spec("{"), []string{"not JSON"}},
		{"no YAML", spec("a: [\n"), []string{"not YAML"}},
		{"two YAML documents", spec("openapi: 3.0.0\n---\na: b\n"), []string{"second document"}},
		{"two JSON documents", spec(`{"openapi":"3.0.0","paths":{}} {"openapi":"3.0.0"}`), []string{"second value", "one document"}},
		{"text after the JSON", spec(`{"openapi":"3.0.0","paths":{}} x`), []string{"second value"}},
		{"duplicate name in JSON", spec(`{"openapi":"3.0.0","paths":{},"paths":{}}`), []string{`duplicate key "paths"`, "at byte 30"}},
		{"duplicate name deep in JSON", spec(`{"openapi":"3.0.0","a":{"x":1},"b":[{"x":1},[{"x":1,"y":{"x":[]},"\u0078":2}]]}`), []string{`duplicate key "x"`}},
		{"duplicate name in YAML", spec("openapi: 3.0.0\npaths: {}\npaths: {}\n"), []string{"twice", "line 3"}},
		{"alias", spec("openapi: 3.0.0\ninfo: &a {x: 1}\npaths: *a\n"), []string{"aliases are not supported", "line 3"}},
		{"merge", spec("openapi: 3.0.0\ninfo: {<<: {a: b}}\n"), []string{"merge keys"}},
		{"tag", spec("openapi: 3.0.0\ninfo: !!binary aGVsbG8=\n"), []string{"tag"}},
		{"Swagger", spec(`{"swagger":"2.0"}`), []string{"Swagger 2.0"}},
		{"no version", spec(`{"paths":{}}`), []string{`"openapi"`}},
		{"version 3.2", spec(`{"openapi":"3.2.0"}`), []string{`"3.2.0"`}},
		{"version is a number", spec(`{"openapi":3.0}`), []string{`"3.0"`}},
		{"other dialect", spec(`{"openapi":"3.1.0","jsonSchemaDialect":"https://evil.example/"}`), []string{"jsonSchemaDialect"}},
		{"no operations", spec(`{"openapi":"3.1.0"}`), []string{"no operations"}},
		{"deep YAML", spec("openapi: 3.0.0\nx: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n"), []string{"nested deeper"}},
		{"large", spec(strings.Repeat(" ", 64<<20+1)), []string{"larger than 64 MiB"}},

		{"server without a host", openapitoolset.Config{Spec: one(""), Server: "/v1"}, []string{"server:", "absolute"}},
		{"server with a variable", openapitoolset.Config{Spec: one(""), Server: "https://{region}.example"}, []string{"server:"}},
		{"server with a user", openapitoolset.Config{Spec: one(""), Server: "https://u:p@h.example"}, []string{"server:"}},
		{"server with a query", openapitoolset.Config{Spec: one(""), Server: "https://h.example/?a=b"}, []string{"server:"}},
		{"file server", openapitoolset.Config{Spec: one(""), Server: "file:///etc"}, []string{"server:"}},
		{"server with dots", openapitoolset.Config{Spec: one(""), Server: "https://h.example/v1/.."}, []string{"path segment 2"}},

		{"unknown operation", openapitoolset.Config{Spec: one(""), Only: []string{"ops"}}, []string{`"ops"; did you mean op?`}},
		{"unknown approval", openapitoolset.Config{Spec: one(""), Approve: []string{"x"}}, []string{"approve:", `"x"`}},
		{"reserved header for all", openapitoolset.Config{Spec: one(""), Header: map[string]string{"Host": "x"}}, []string{`header "Host"`}},
		{"missing secret", openapitoolset.Config{Spec: one(""), Header: map[string]string{"A": "{secret:x}"}}, []string{"needs secrets"}},

		{"paths of another type", spec(`{"openapi":"3.0.0","paths":[]}`), []string{"/paths: paths is an array; it must be an object"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set, problems, err := openapitoolset.New(config(t, tc.config))
			if err == nil || set != nil || problems != nil {
				t.Fatalf("New() = %v, %q, %v, want an error", set, problems, err)
			}
			for _, want := range append(tc.want, `openapi "it": `) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New() = %v\nwant one with %s", err, want)
				}
			}
			if strings.Contains(err.Error(), "openapi3.") || strings.Contains(err.Error(), "Go struct") {
				t.Errorf("New() = %v, want one without names of Go types", err)
			}
		})
	}
	for name, c := range map[string]openapitoolset.Config{"name": {Spec: one("")}, "only": {Name: "it", Spec: one("")}} {
		c.Server = "https://h.example"
		if _, _, err := openapitoolset.New(c); err == nil || !strings.Contains(err.Error(), name+": it is missing") {
			t.Errorf("New() without %s = %v", name, err)
		}
	}
	for _, servers := range []string{"", `"servers":[],`, `"servers":[{"url":"https://a.example"},{"url":"https://b.example"}],`, `"servers":[{"url":"/v1"}],`, `"servers":[{"url":"https://{r}.example"}],`, `"servers":[{"url":5}],`, `"servers":[5],`, `"servers":{},`} {
		c := config(t, openapitoolset.Config{})
		c.Server = ""
		c.Spec = []byte(strings.Replace(string(one("")), `"info"`, servers+`"info"`, 1))
		if _, _, err := openapitoolset.New(c); err == nil || !strings.Contains(err.Error(), "server") {
			t.Errorf("New() with %s = %v, want an error", servers, err)
		}
	}
}

// TestNotOffered tests that an operation which cannot be served is a problem that says why,
// and no error: the others are there.
func TestNotOffered(t *testing.T) {
	t.Parallel()
	spec := func(s string) openapitoolset.Config { return openapitoolset.Config{Spec: []byte(s)} }
	of := func(b []byte) openapitoolset.Config { return openapitoolset.Config{Spec: b} }
	tests := []struct {
		name   string
		config openapitoolset.Config
		want   []string
	}{
		{"own servers", of(one(`"servers":[{"url":"https://evil.example"}]`)), []string{`"op"`, "/paths/~1a/post/servers", "servers of its own"}},
		{"duplicate operationId", spec(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"x"}},"/b":{"get":{"operationId":"x"},"post":{"operationId":"x"}}}}`), []string{`operation "x" (GET /a) is not offered: operation "x" (GET /b) would be the tool x, too`, `operation "x" (POST /b) is not offered`}},
		{"duplicate tool", spec(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"x y"}},"/b":{"get":{"operationId":"x/y"}}}}`), []string{`"x y" (GET /a)`, `"x/y" (GET /b)`, "would be the tool x_y"}},
		{"path item of another type", spec(`{"openapi":"3.0.0","paths":{"/a~b":5}}`), []string{"/paths/~1a~0b: a path item is a number"}},
		{"operation of another type", spec(`{"openapi":"3.0.0","paths":{"/a":{"get":"x"}}}`), []string{"/paths/~1a/get: an operation is a string"}},
		{"operationId of another type", spec(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":{}}}}}`), []string{"/paths/~1a/get/operationId: it is an object"}},
		{"summary of another type", of(one(`"summary":5`)), []string{`operation "op" (POST /a)`, "/paths/~1a/post/summary: it is a number"}},
		{"parameters of another type", of(one(`"parameters":{}`)), []string{`operation "op" (POST /a)`, "/paths/~1a/post/parameters: parameters is an object; it must be an array"}},
		{"parameter of another type", of(parameter(`5`)), []string{"/paths/~1a/post/parameters/0: a parameter is a number"}},
		{"parameter twice", of(parameter(`{"name":"a","in":"query","schema":{}},{"name":"a","in":"query","schema":{}}`)), []string{"/paths/~1a/post: it is not valid", "more than one"}},
		{"parameter without a name", of(parameter(`{"in":"query","schema":{}}`)), []string{"/paths/~1a/post: it is not valid"}},
		{"parameter nowhere", of(parameter(`{"name":"a","in":"body","schema":{}}`)), []string{"/paths/~1a/post: it is not valid"}},
		{"required of another type", of(parameter(`{"name":"a","in":"query","required":"yes","schema":{}}`)), []string{"/paths/~1a/post: it cannot be read", "required"}},
		{"style of another type", of(parameter(`{"name":"a","in":"query","style":[],"schema":{}}`)), []string{"/paths/~1a/post: it cannot be read", "style"}},
		{"parameter without a schema", of(parameter(`{"name":"a","in":"query"}`)), []string{"/paths/~1a/post: it is not valid"}},
		{"cookie", of(parameter(`{"name":"a","in":"cookie","required":true,"schema":{}}`)), []string{`"a" (cookie): cookies are not supported`}},
		{"content", of(parameter(`{"name":"a","in":"query","required":true,"content":{"application/json":{}}}`)), []string{`"a" (query): it has content`}},
		{"spaceDelimited", of(parameter(`{"name":"a","in":"query","required":true,"style":"spaceDelimited","schema":{}}`)), []string{"spaceDelimited"}},
		{"pipeDelimited", of(parameter(`{"name":"a","in":"query","required":true,"style":"pipeDelimited","schema":{}}`)), []string{"pipeDelimited"}},
		{"unknown style", of(parameter(`{"name":"a","in":"query","style":"fancy","schema":{}}`)), []string{"fancy"}},
		{"label", spec(`{"openapi":"3.0.0","paths":{"/a/{x}":{"get":{"parameters":[{"name":"x","in":"path","required":true,"style":"label","schema":{}}]}}}}`), []string{"label is not supported"}},
		{"object in a query", of(parameter(`{"name":"a","in":"query","required":true,"schema":{"type":"object"}}`)), []string{`"a" (query): it is an object`}},
		{"names that collide", of(parameter(`{"name":"a[b]","in":"query","schema":{}},{"name":"a.b]","in":"query","schema":{}},{"name":"a_b_","in":"query","schema":{}},{"name":"a(b)","in":"query","schema":{}}`)), []string{`"a[b]" (query) and "a_b_" (query) would both be the argument "query_a_b_"`}},
		{"reserved header", of(parameter(`{"name":"Host","in":"header","schema":{}}`)), []string{`header "Host"`}},
		{"path parameter that is missing", spec(`{"openapi":"3.0.0","paths":{"/a/{x}":{"get":{"operationId":"op"}}}}`), []string{"/paths/~1a~1{x}/get", "x"}},
		{"path parameter that is not required", spec(`{"openapi":"3.0.0","paths":{"/a/{x}":{"get":{"parameters":[{"name":"x","in":"path","schema":{}}]}}}}`), []string{"not valid"}},
		{"path parameter without its place", spec(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"op","parameters":[{"name":"x","in":"path","required":true,"schema":{}}]}}}}`), []string{"x"}},
		{"path with a query", spec(`{"openapi":"3.0.0","paths":{"/a?b=c":{"get":{"operationId":"op"}}}}`), []string{`"/a?b=c" is not a path`}},
		{"path with dots", spec(`{"openapi":"3.0.0","paths":{"/a/../b":{"get":{"operationId":"op"}}}}`), []string{"path segment 2"}},
		{"path that changes the host", spec(`{"openapi":"3.0.0","paths":{"@evil.example/":{"get":{"operationId":"op"}}}}`), []string{"@evil.example/"}},

		{"body of another type", of(one(`"requestBody":[]`)), []string{"/paths/~1a/post/requestBody: a request body is an array"}},
		{"content of another type", of(one(`"requestBody":{"content":[]}`)), []string{"/paths/~1a/post/requestBody/content: content is an array"}},
		{"media type of another type", of(one(`"requestBody":{"content":{"application/json":5}}`)), []string{"/content/application~1json: a media type is a number"}},
		{"no content", of(one(`"requestBody":{}`)), []string{"/paths/~1a/post: it is not valid"}},
		{"body without JSON", of(one(`"requestBody":{"content":{"application/xml":{},"text/csv":{}}}`)), []string{"neither JSON nor a form, but application/xml, text/csv"}},
		{"form of a string", of(body("application/x-www-form-urlencoded", `"schema":{"type":"string"}`)), []string{"urlencoded/schema: the body is a form", "not that of an object"}},
		{"form with a style", of(body("application/x-www-form-urlencoded", `"schema":{"properties":{"a":{"type":"array"}}},"encoding":{"a":{"style":"pipeDelimited"}}`)), []string{"/encoding/a: the style", "pipeDelimited"}},
		{"form with commas", of(body("application/x-www-form-urlencoded", `"schema":{"properties":{"a":{"type":"array"}}},"encoding":{"a":{"explode":false}}`)), []string{"/encoding/a: elements joined by commas"}},
		{"form with an object as fields", of(body("application/x-www-form-urlencoded", `"schema":{"properties":{"a":{"type":"object"}}},"encoding":{"a":{"style":"form"}}`)), []string{"/properties/a: the field is an object with the style form"}},
		{"form that is no object", of(body("multipart/form-data", `"schema":5`)), []string{"the schema of a form is a number"}},
		{"encoding of another type", of(body("multipart/form-data", `"schema":{},"encoding":[]`)), []string{"/encoding: encoding is an array"}},
		{"required file", of(body("multipart/form-data", `"schema":{"required":["f"],"properties":{"f":{"type":"string","format":"binary"}}}`)), []string{"/schema/properties/f: the field is a file"}},
		{"file of 3.1", spec(`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"op","requestBody":{"content":{"multipart/form-data":{"schema":{"required":["f"],"properties":{"f":{"type":"array","items":{"contentMediaType":"image/png"}}}}}}}}}}}`), []string{"the field is a file"}},
		{"file by its encoding", of(body("multipart/form-data", `"schema":{"required":["f"],"properties":{"f":{"type":"string"}}},"encoding":{"f":{"contentType":"image/png, image/jpeg"}}`)), []string{"the field is a file"}},
		{"file in a part of a schema", of(body("multipart/form-data", `"schema":{"allOf":[{"properties":{"f":{"type":"string","format":"binary"}}}]}`)), []string{"/schema/allOf/0/properties/f: the field is a file"}},
		{"form of itself", spec(`{"openapi":"3.0.0","paths":{"/a":{"post":{"operationId":"op","requestBody":{"content":{"multipart/form-data":{"schema":{"$ref":"#/components/schemas/A"}}}}}}},"components":{"schemas":{"A":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}}`), []string{"composed deeper"}},
		{"required body of GET", spec(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"op","requestBody":{"required":true,"content":{"application/json":{}}}}}}}`), []string{"GET has no body"}},
		{"schema of another type", of(one(`"requestBody":{"content":{"application/json":{"schema":[]}}}`)), []string{"application~1json/schema: a schema is an array"}},
		{"properties of another type", of(components(`"A":{"properties":[]}`)), []string{"/components/schemas/A/properties: properties is an array"}},
		{"items of another type", of(components(`"A":{"items":"x"}`)), []string{"/components/schemas/A/items: a schema is a string"}},
		{"allOf of another type", of(components(`"A":{"allOf":{}}`)), []string{"/components/schemas/A/allOf: allOf is an object"}},
		{"description of another type", of(components(`"A":{"description":5}`)), []string{"/components/schemas/A/description: it is a number"}},
		{"type that does not exist", of(components(`"A":{"type":"strnig"}`)), []string{`operation "op"`, "parameters:", "$defs/A"}},
		{"minimum of another type", of(components(`"A":{"minimum":"5"}`)), []string{"$defs/A/minimum"}},
		{"$id", of(components(`"A":{"$id":"https://evil.example/"}`)), []string{"/components/schemas/A/$id", "not supported"}},
		{"$dynamicRef", of(components(`"A":{"$dynamicRef":"#x"}`)), []string{"/components/schemas/A/$dynamicRef"}},

		{"external parameter", of(parameter(`{"$ref":"common.yaml#/A"}`)), []string{"/paths/~1a/post/parameters/0/$ref", `"common.yaml#/A" is outside the document`}},
		{"external path item", spec(`{"openapi":"3.0.0","paths":{"/a":{"$ref":"https://evil.example/a.json"}}}`), []string{"/paths/~1a/$ref", "outside the document"}},
		{"external body", of(one(`"requestBody":{"$ref":"/etc/passwd"}`)), []string{"/requestBody/$ref", `"/etc/passwd" is outside`}},
		{"external schema", of(components(`"A":{"properties":{"x":{"$ref":"http://169.254.169.254/latest"}}}`)), []string{"/components/schemas/A/properties/x/$ref", "outside the document"}},
		{"external schema in a list", of(components(`"A":{"oneOf":[{"type":"string"},{"$ref":"file:///etc/passwd"}]}`)), []string{"/components/schemas/A/oneOf/1/$ref"}},
		{"reference of another type", of(components(`"A":{"allOf":[{"$ref":5}]}`)), []string{"/components/schemas/A/allOf/0/$ref: it is a number"}},
		{"reference to nothing", of(components(`"A":{"allOf":[{"$ref":"#/components/schemas/B"}]}`)), []string{"/components/schemas/A/allOf/0/$ref", "nothing at"}},
		{"reference to an anchor", of(components(`"A":{"allOf":[{"$ref":"#B"}]}`)), []string{"not a place in the document"}},
		{"reference to itself", of(components(`"A":{"$ref":"#/components/schemas/A"}`)), []string{"circle"}},
		{"references in a circle", of(components(`"A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}`)), []string{"circle"}},
		{"parameters in a circle", spec(`{"openapi":"3.0.0","paths":{"/a":{"get":{"operationId":"op","parameters":[{"$ref":"#/components/parameters/A"}]}}},"components":{"parameters":{"A":{"$ref":"#/components/parameters/A"}}}}`), []string{"circle"}},
		{"path items in a circle", spec(`{"openapi":"3.0.0","paths":{"/a":{"$ref":"#/paths/~1a"}}}`), []string{"circle"}},
		{"deep schema", of(components(`"A":` + strings.Repeat(`{"items":`, 40) + "{}" + strings.Repeat("}", 40))), []string{"nested too deep"}},
		{"many schemas", of(components(`"A":{"anyOf":[` + strings.Repeat("{},", 10000) + "{}]}")), []string{"more than 10000 schemas"}},
		{"large schema", of(components(`"A":{"enum":["` + strings.Repeat("x", 300<<10) + `"]}`)), []string{"KiB, more than 256"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set, problems, err := openapitoolset.New(config(t, tc.config))
			if err != nil || len(problems) == 0 {
				t.Fatalf("New() = %q, %v, want problems", problems, err)
			}
			if n := len(tools(t, set)); n != 0 {
				t.Errorf("%d tools are offered", n)
			}
			got := strings.Join(problems, "\n")
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("New() = %s\nwant a problem with %s", got, want)
				}
			}
			if strings.Contains(got, "openapi3.") || strings.Contains(got, "Go struct") {
				t.Errorf("New() = %s, want problems without names of Go types", got)
			}
		})
	}
}

// TestProblems tests that operations that cannot be served keep no other from being there,
// whether each is selected by its name or all are.
func TestProblems(t *testing.T) {
	t.Parallel()
	spec := []byte(`{"openapi":"3.0.0","paths":{
		"/a":{"post":{"operationId":"a","requestBody":{"content":{"application/octet-stream":{}}}}},
		"/b":{"get":{"operationId":"b","parameters":{}}},
		"/c":{"get":{"operationId":"c"}},
		"/d":{"$ref":"d.yaml"}}}`)
	for _, tc := range []struct{ only, want []string }{
		{[]string{"*"}, []string{"/paths/~1d/$ref", `operation "a" (POST /a) is not offered: /paths/~1a/post/requestBody/content: `, `operation "b" (GET /b) is not offered: `}},
		{[]string{"a", "c"}, []string{`operation "a" (POST /a)`}},
	} {
		set, problems, err := openapitoolset.New(config(t, openapitoolset.Config{Spec: spec, Only: tc.only}))
		if err != nil || len(problems) != len(tc.want) {
			t.Fatalf("New() of %q = %q, %v, want %d problems", tc.only, problems, err, len(tc.want))
		}
		for i, want := range tc.want {
			if !strings.Contains(problems[i], want) {
				t.Errorf("problem %d of %q is %s, want one with %s", i, tc.only, problems[i], want)
			}
		}
		if all := tools(t, set); len(all) != 1 || all[0].Name() != "c" {
			t.Errorf("the tools of %q are %v, want only c", tc.only, all)
		}
	}
	// The path that cannot be read may have the operation that is missing.
	_, _, err := openapitoolset.New(config(t, openapitoolset.Config{Spec: spec, Only: []string{"d"}}))
	if err == nil || !strings.Contains(err.Error(), "/paths/~1d/$ref") {
		t.Errorf("New() of an operation of a path that cannot be read = %v", err)
	}
}

// TestUnused tests that what is not selected may be as wrong as it likes.
func TestUnused(t *testing.T) {
	t.Parallel()
	set := build(t, openapitoolset.Config{Only: []string{"good"}, Spec: []byte(`{"openapi":"3.0.0","paths":{
		"/a":{"get":{"operationId":"bad","parameters":[{"$ref":"x.yaml"}],"requestBody":5},"parameters":[]},
		"/b":{"get":{"operationId":"good","responses":{"200":{"$ref":"https://x.example/"}},"callbacks":5,"security":5,"tags":5}}},
		"components":5}`)})
	if n := len(tools(t, set)); n != 1 {
		t.Errorf("%d tools, want 1", n)
	}
}

// TestCycles tests that schemas which refer to each other work, and that values are checked.
func TestCycles(t *testing.T) {
	t.Parallel()
	set := build(t, openapitoolset.Config{Spec: components(`
		"A":{"type":"object","additionalProperties":false,"properties":{"b":{"$ref":"#/components/schemas/B"}}},
		"B":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/A"},"all":{"allOf":[{"$ref":"#/components/schemas/B"}]},"self":{"$ref":"#/components/schemas/A/properties/b"}}}`)})
	s, err := tool.CompileSchema(schema(t, set, "op"))
	if err != nil {
		t.Fatal(err)
	}
	for args, valid := range map[string]bool{
		`{"body":{"b":{"a":{"b":{"all":{"self":{}}}}}}}`: true,
		`{"body":{"b":{"a":{"c":1}}}}`:                   false,
		`{"body":{"b":{"self":{"a":{"x":1}}}}}`:          false,
	} {
		decoded, err := tool.DecodeArgs([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(decoded); (err == nil) != valid {
			t.Errorf("Validate(%s) = %v, want valid: %v", args, err, valid)
		}
	}
	// A schema that is its own part, with nothing in between, has no value that fits.
	_, problems, err := openapitoolset.New(config(t, openapitoolset.Config{Spec: components(`"A":{"allOf":[{"$ref":"#/components/schemas/A"}]}`)}))
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "refers to itself") {
		t.Errorf("New() with an endless schema = %q, %v, want a problem", problems, err)
	}
}

// TestDiamonds tests that schemas which are reached on very many ways are read once.
func TestDiamonds(t *testing.T) {
	t.Parallel()
	var schemas strings.Builder
	for i := range 200 {
		name := "A"
		if i > 0 {
			name = fmt.Sprintf("A%d", i)
		}
		fmt.Fprintf(&schemas, `"%s":{"properties":{"a":{"$ref":"#/components/schemas/A%d"},"b":{"$ref":"#/components/schemas/A%d"}}},`, name, i+1, i+1)
	}
	schemas.WriteString(`"A200":{"type":"string"}`)
	defs, _ := schema(t, build(t, openapitoolset.Config{Spec: components(schemas.String())}), "op")["$defs"].(map[string]any)
	if len(defs) != 201 {
		t.Errorf("%d definitions, want 201", len(defs))
	}
}

// TestLarge tests a document of the size of GitHub's, of which little is used.
func TestLarge(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("openapi: 3.1.0\ninfo: {title: x, version: '1'}\npaths:\n")
	for i := 0; b.Len() < 13<<20; i++ {
		fmt.Fprintf(&b, "  /a/%d:\n    get:\n      operationId: get%d\n      description: %s\n      responses:\n        200: {description: x}\n", i, i, strings.Repeat("x", 4000))
	}
	path := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	set := build(t, openapitoolset.Config{Path: path, Only: []string{"get7", "get1000"}})
	if n := len(tools(t, set)); n != 2 {
		t.Errorf("%d tools, want 2", n)
	}
}

// TestMany tests that a document does not make any number of tools.
func TestMany(t *testing.T) {
	t.Parallel()
	var paths strings.Builder
	for i := range 2001 {
		fmt.Fprintf(&paths, `"/a%d":{"get":{}},`, i)
	}
	spec := `{"openapi":"3.0.0","paths":{` + strings.TrimSuffix(paths.String(), ",") + `}}`
	if _, _, err := openapitoolset.New(config(t, openapitoolset.Config{Spec: []byte(spec)})); err == nil || !strings.Contains(err.Error(), "at most 2000") {
		t.Errorf("New() of all operations = %v, want an error", err)
	}
}
