package openapitoolset_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/openapitoolset"
)

func pets(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/pets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTools(t *testing.T) {
	t.Parallel()
	set := build(t, openapitoolset.Config{Path: "testdata/pets.yaml"})
	type declared struct {
		name, description string
		gated             bool
		annotations       tool.Annotations
	}
	var got []declared
	for _, one := range tools(t, set) {
		got = append(got, declared{one.Name(), one.Description(), one.RequiresApproval(), tool.AnnotationsOf(one)})
	}
	want := []declared{
		{"listPets", "Lists pets\n\nAll pets of the shop, newest first.", false, tool.Annotations{ReadOnly: true}},
		{"createPet", "Creates a pet", true, tool.Annotations{}},
		{"getPet", "", false, tool.Annotations{ReadOnly: true}},
		{"patch_pet_1", "", true, tool.Annotations{}},
		{"delete_pets_id", "", true, tool.Annotations{Destructive: true}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(declared{})); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if set.Name() != "it" {
		t.Errorf("Name() = %s", set.Name())
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	set := build(t, openapitoolset.Config{Spec: pets(t)})
	for name, want := range map[string]string{
		"listPets": `{"type":"object","additionalProperties":false,"required":[],"properties":{
			"limit":{"type":"integer","minimum":1,"exclusiveMaximum":100,"description":"How many"},
			"tag":{"type":"array","items":{"type":"string"}},
			"ids":{"type":"array","items":{"type":"integer"}},
			"filter_name_":{"type":["string","null"],"enum":["a","b",null]},
			"X-Trace":{"type":"string"}}}`,
		"createPet": `{"type":"object","additionalProperties":false,"required":["body"],"properties":{
			"X-Trace":{"type":"string"},
			"body":{"$ref":"#/$defs/Pet","description":"The pet"}},
			"$defs":{
			"Pet":{"type":"object","required":["name"],"properties":{
				"name":{"type":"string","minLength":1},
				"born":{"type":["string","null"],"format":"date"},
				"secret":{"type":"string"},
				"code":{"type":"string"},
				"parents":{"type":"array","items":{"$ref":"#/$defs/Pet"}},
				"owner":{"anyOf":[{"allOf":[{"$ref":"#/$defs/Owner_X"}]},{"type":"null"}]}}},
			"Owner_X":{"type":"object","properties":{"pets":{"type":"array","items":{"$ref":"#/$defs/Pet"}},"age":{"type":"number","exclusiveMinimum":0}}}}}`,
		"getPet":         `{"type":"object","additionalProperties":false,"required":["path_id"],"properties":{"path_id":{"type":"integer","description":"The better one"},"query_id":{"type":"string"}}}`,
		"delete_pets_id": `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string"}}}`,
		"patch_pet_1":    `{"type":"object","additionalProperties":false,"required":["id"],"properties":{"id":{"type":"string"},"body":{"type":"object"}}}`,
	} {
		var expected map[string]any
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(expected, schema(t, set, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSchemas31 tests what a document of version 3.1 may have besides.
func TestSchemas31(t *testing.T) {
	t.Parallel()
	set := build(t, openapitoolset.Config{Spec: []byte(`{"openapi":"3.1.1","jsonSchemaDialect":"https://spec.openapis.org/oas/3.1/dialect/base","info":{"title":"x","version":"1"},
		"webhooks":{"w":{"post":{"operationId":"w"}}},
		"paths":{"/a":{"$ref":"#/components/pathItems/A"},"/b":{"get":{"operationId":"b"}}},
		"components":{"pathItems":{"A":{"post":{"operationId":"a","requestBody":{"$ref":"#/components/requestBodies/B"}}}},
			"requestBodies":{"B":{"content":{"text/plain":{},"application/json; charset=utf-8":{"schema":{"$ref":"#/components/schemas/S","description":"mine"}}}}},
			"schemas":{"S":{"type":["object","null"],"properties":{
				"n":{"exclusiveMinimum":5,"const":7,"examples":[7],"default":9223372036854775807},
				"t":{"prefixItems":[{"type":"string"},true],"items":false},
				"r":{"$ref":"#/components/schemas/R"},
				"d":{"$ref":"#/components/schemas/S/properties/n"},
				"e":{"$ref":"#/components/schemas/E"}},"required":["r","n"],"if":{"required":["n"]},"then":{"minProperties":1}},
				"R":{"type":"string","readOnly":true},"E":{"enum":["a",{"$ref":"http://data.example/"}]}}}}`)})
	want := map[string]any{}
	if err := json.Unmarshal([]byte(`{"type":"object","additionalProperties":false,"required":[],"properties":{"body":{"$ref":"#/$defs/S","description":"mine"}},"$defs":{
		"S":{"type":["object","null"],"properties":{"n":{"exclusiveMinimum":5,"const":7,"examples":[7],"default":9223372036854775807},"t":{"prefixItems":[{"type":"string"},true],"items":false},"d":{"$ref":"#/$defs/n"},"e":{"$ref":"#/$defs/E"}},
			"required":["n"],"if":{"required":["n"]},"then":{"minProperties":1}},
		"n":{"exclusiveMinimum":5,"const":7,"examples":[7],"default":9223372036854775807},"R":{"type":"string"},"E":{"enum":["a",{"$ref":"http://data.example/"}]}}}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, schema(t, set, "a")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(tools(t, set)); n != 2 {
		t.Errorf("%d tools, want 2", n)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	set := build(t, openapitoolset.Config{
		Spec: pets(t), Server: address + "/v1/",
		Header:  map[string]string{"X-Key": "{secret:pets}"},
		Secrets: func(_ context.Context, name string) (string, error) { return "value of " + name, nil },
	})
	tests := []struct {
		tool, args, method, uri, body, kind string
		header                              map[string]string
	}{
		{"listPets", `{}`, "GET", "/v1/pets", "", "", map[string]string{"X-Trace": ""}},
		{
			"listPets", `{"limit":5,"tag":["a b","c&d"],"ids":[1,2],"filter_name_":"a","X-Trace":"t"}`, "GET",
			"/v1/pets?limit=5&tag=a%20b&tag=c%26d&ids=1,2&filter%5Bname%5D=a", "", "", map[string]string{"X-Trace": "t"},
		},
		{"listPets", `{"filter_name_":null}`, "GET", "/v1/pets", "", "", nil},
		{"createPet", `{"body":{"name":"Rex","parents":[{"name":"A"}],"owner":null}}`, "POST", "/v1/pets", `{"name":"Rex","owner":null,"parents":[{"name":"A"}]}`, "application/json", nil},
		{"getPet", `{"path_id":7,"query_id":"8"}`, "GET", "/v1/pets/7?id=8", "", "", nil},
		{"delete_pets_id", `{"id":"a/b?c"}`, "DELETE", "/v1/pets/a%2Fb%3Fc", "", "", nil},
		{"patch_pet_1", `{"id":"1","body":{"a":null}}`, "PATCH", "/v1/pets/1", `{"a":null}`, "application/merge-patch+json", nil},
		{"patch_pet_1", `{"id":"1"}`, "PATCH", "/v1/pets/1", "", "*", nil},
	}
	for _, tc := range tests {
		if _, err := call(t, set, tc.tool, tc.args); err != nil {
			t.Errorf("%s(%s) = %v", tc.tool, tc.args, err)
			continue
		}
		got := <-requests
		if got.method != tc.method || got.uri != tc.uri || got.body != tc.body || tc.kind != "*" && got.header.Get("Content-Type") != tc.kind {
			t.Errorf("%s(%s) sent %s %s %s %s\nwant %s %s %s %s", tc.tool, tc.args, got.method, got.uri, got.header.Get("Content-Type"), got.body, tc.method, tc.uri, tc.kind, tc.body)
		}
		if got.header.Get("X-Key") != "value of pets" {
			t.Errorf("%s has the header X-Key %q", tc.tool, got.header.Get("X-Key"))
		}
		for name, want := range tc.header {
			if have := got.header.Get(name); have != want {
				t.Errorf("%s has the header %s: %q, want %q", tc.tool, name, have, want)
			}
		}
	}
	for name, args := range map[string]string{"getPet": `{"path_id":"../x"}`, "delete_pets_id": `{"id":"../admin"}`, "createPet": `{"body":{"name":""}}`, "listPets": `{"limit":100}`} {
		if _, err := call(t, set, name, args); err == nil {
			t.Errorf("%s(%s) = nil, want an error", name, args)
		}
	}
	if len(requests) > 0 {
		t.Error("a request was sent for invalid arguments")
	}
}

// TestConfiguredHeaders tests that a caller cannot set what the configuration sets, nor the
// headers that OpenAPI takes from elsewhere.
func TestConfiguredHeaders(t *testing.T) {
	t.Parallel()
	set := build(t, openapitoolset.Config{
		Spec:   one(`"parameters":[{"name":"x-key","in":"header","required":true,"schema":{}},{"name":"authorization","in":"header","schema":{}},{"name":"Accept","in":"header","schema":{}},{"name":"content-type","in":"header","schema":{}},{"name":"X-Other","in":"header","schema":{}}]`),
		Header: map[string]string{"X-Key": "k"},
	})
	properties, _ := schema(t, set, "op")["properties"].(map[string]any)
	if len(properties) != 1 || properties["X-Other"] == nil {
		t.Errorf("arguments = %v, want only X-Other", properties)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	address, requests := record(t)
	c := config(t, openapitoolset.Config{Only: []string{"op"}})
	c.Server = ""
	c.Spec = []byte(strings.Replace(string(one("")), `"info"`, `"servers":[{"url":"`+address+`"}],"info"`, 1))
	set, problems, err := openapitoolset.New(c)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	if _, err := call(t, set, "op", "{}"); err != nil {
		t.Fatal(err)
	}
	if got := <-requests; got.uri != "/a" {
		t.Errorf("sent %s", got.uri)
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		approve []string
		want    string
	}{
		"default": {nil, "createPet patch_pet_1 delete_pets_id"},
		"all":     {[]string{"*"}, "listPets createPet getPet patch_pet_1 delete_pets_id"},
		"none":    {[]string{}, ""},
		"named":   {[]string{"listPets", "patch pet/1"}, "listPets patch_pet_1"},
	} {
		var gated []string
		for _, one := range tools(t, build(t, openapitoolset.Config{Spec: pets(t), Approve: tc.approve})) {
			if one.RequiresApproval() {
				gated = append(gated, one.Name())
			}
		}
		if got := strings.Join(gated, " "); got != tc.want {
			t.Errorf("%s: gated %q, want %q", name, got, tc.want)
		}
	}
}

// TestSelection tests that only what is listed becomes a tool, that what others lack does
// not matter, and that names can have a prefix.
func TestSelection(t *testing.T) {
	t.Parallel()
	set := build(t, openapitoolset.Config{
		Spec: pets(t), Only: []string{"delete_pets_id", "getPet", "getPet"}, Prefix: "pets_",
	})
	var names []string
	for _, one := range tools(t, set) {
		names = append(names, one.Name())
	}
	if got := strings.Join(names, " "); got != "pets_getPet pets_delete_pets_id" {
		t.Errorf("tools = %s", got)
	}
}

// TestNames tests that names are valid, unique and stable for names of any length.
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	set := build(t, openapitoolset.Config{Spec: []byte(`{"openapi":"3.0.0","info":{},"paths":{
		"/a":{"get":{"operationId":"` + long + `1","parameters":[{"name":"` + long + `","in":"query","schema":{}},{"name":"$top","in":"query","schema":{}},{"name":".x","in":"query","schema":{}}]}},
		"/b":{"get":{"operationId":"` + long + `2"}},
		"/` + long + `/{id}":{"get":{"parameters":[{"name":"id","in":"path","required":true,"schema":{}}]}}}}`)})
	seen := map[string]bool{}
	for _, one := range tools(t, set) {
		if n := one.Name(); len(n) > 64 || seen[n] {
			t.Errorf("name %q is too long, or there twice", n)
		}
		seen[one.Name()] = true
		properties, _ := schema(t, set, one.Name())["properties"].(map[string]any)
		for name := range properties {
			if len(name) > 64 || strings.ContainsAny(name[:1], ".$") {
				t.Errorf("argument %q", name)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d tools, want 3", len(seen))
	}
}

// TestTexts tests that texts of a document are short and show everything.
func TestTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 2000)
	set := build(t, openapitoolset.Config{Spec: one(`"summary":"do\u202eit\u0000","description":"` + long + `","parameters":[{"name":"a","in":"query","description":"` + long + `","schema":{"title":"\u200b"}}]`)})
	text := named(t, set, "op").Description()
	if len(text) > 1024 || !strings.HasPrefix(text, `do\u202eit\u0000`) {
		t.Errorf("description = %q", text)
	}
	properties, _ := schema(t, set, "op")["properties"].(map[string]any)
	a, _ := properties["a"].(map[string]any)
	if d, _ := a["description"].(string); len(d) > 1024 || len(d) < 1000 || a["title"] != `\u200b` {
		t.Errorf("argument = %v", a)
	}
}

// one returns a document with one operation, op, that has these members.
func one(members string) []byte {
	if members != "" {
		members += ","
	}
	return []byte(`{"openapi":"3.0.3","info":{"title":"x","version":"1"},"paths":{"/a":{"post":{` + members + `"operationId":"op"}}}}`)
}
