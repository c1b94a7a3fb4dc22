package a2a_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"a2a-server/a2a/internal/operation"
)

// documented is the document of HTTP+JSON, as far as answers are compared with it.
type documented struct {
	Paths      map[string]map[string]documentedOperation
	Components struct {
		Schemas   map[string]map[string]any
		Responses map[string]documentedResponse
	}
	raw map[string]any // the components
}

type documentedOperation struct {
	OperationID string
	RequestBody *struct {
		Content map[string]struct{ Schema any }
	}
	Responses map[string]documentedResponse
}

type documentedResponse struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema map[string]any }
}

// openAPI is the document with its schemas made strict: what they do not name is no part
// of an answer.
var openAPI = sync.OnceValues(func() (*documented, error) {
	raw, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	d := &documented{}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, err
	}
	for _, s := range d.Components.Schemas {
		if s["properties"] != nil {
			s["additionalProperties"] = false
		}
	}
	d.raw = map[string]any{"schemas": anyMap(d.Components.Schemas)}
	return d, nil
})

func anyMap[V any](m map[string]V) map[string]any {
	out := make(map[string]any, len(m))
	for name, value := range m {
		out[name] = value
	}
	return out
}

// at returns what is documented of a method and a path, which is below the base URL.
func (d *documented) at(method, path string) (documentedOperation, bool) {
	for template, methods := range d.Paths {
		op, ok := methods[strings.ToLower(method)]
		if ok && fits(template, path) {
			return op, true
		}
	}
	return documentedOperation{}, false
}

// fits reports whether a path is one of a template.
func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		name, verb, parameter := strings.Cut(want, "}")
		if !parameter {
			return name == got
		}
		id, rest, _ := strings.Cut(got, ":")
		return id != "" && rest == strings.TrimPrefix(verb, ":")
	})
}

// check compares an answer with what is documented of its operation.
func (d *documented) check(op documentedOperation, status int, contentType string, body []byte) error {
	r, ok := op.Responses[fmt.Sprint(status)]
	if !ok {
		return fmt.Errorf("%s: the status %d is not documented", op.OperationID, status)
	}
	if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
		r = d.Components.Responses[name]
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return err
	}
	content, ok := r.Content[media]
	switch {
	case !ok:
		return fmt.Errorf("%s: %d with the type %s is not documented", op.OperationID, status, contentType)
	case media != "text/event-stream":
		return d.validate(content.Schema, body)
	}
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if err := d.validate(content.Schema["contentSchema"], data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *documented) validate(schema any, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const place = "memory:///schema.json"
	if err := c.AddResource(place, map[string]any{"allOf": []any{schema}, "components": d.raw}); err != nil {
		return err
	}
	compiled, err := c.Compile(place)
	if err != nil {
		return err
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("%w\nin %.2000s", err, text)
	}
	return nil
}

// checkDocumented compares an answer to any request with the document. What HTTP refuses
// at a path or with a method that is none of HTTP+JSON is not in it.
func checkDocumented(t *testing.T, r *http.Request, status int, contentType string, body []byte) {
	t.Helper()
	d, err := openAPI()
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(r.URL.Path, "/a2a")
	if path == "/.well-known/agent-card.json" && bytes.Contains(body, []byte(`"preferredTransport"`)) {
		return // it has the members of 0.3, too, and those of 1.0 as they are
	}
	if op, ok := d.at(r.Method, path); ok && status != http.StatusNotModified {
		if err := d.check(op, status, contentType, body); err != nil {
			t.Errorf("%s %s is not answered as openapi.json has it: %v", r.Method, path, err)
		}
	}
}

// TestOpenAPIHasEveryRoute compares the paths of the document with the table of operations.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	d, err := openAPI()
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			left[strings.ToUpper(method)+" "+path] = op.OperationID
		}
	}
	delete(left, "GET /.well-known/agent-card.json") // of no binding
	ids := map[string]bool{}
	for _, op := range operation.Table() {
		for _, r := range op.Routes {
			id := left[r.Method+" "+r.Path]
			if !strings.HasPrefix(id, op.Name) || ids[id] {
				t.Errorf("%s %s is documented as %q, want %s", r.Method, r.Path, id, op.Name)
			}
			ids[id] = true
			delete(left, r.Method+" "+r.Path)
		}
	}
	for route, id := range left {
		t.Errorf("%s is documented, as %s, and in no entry of the table", route, id)
	}
}

// TestOpenAPIIsServed has the document served, below the path of the base URL too.
func TestOpenAPIIsServed(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	s := startWireServer(t, zerolog.Nop())
	for _, path := range []string{"/openapi.json", "/a2a/openapi.json"} {
		w := s.ask(t, http.MethodGet, path, "")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Body.String() != string(want) {
			t.Errorf("GET %s = %d %s, %d bytes; want the document", path, w.Code, w.Header(), w.Body.Len())
		}
		if head := s.ask(t, http.MethodHead, path, ""); head.Code != http.StatusOK || head.Body.Len() > 0 || head.Header().Get("ETag") != w.Header().Get("ETag") {
			t.Errorf("HEAD %s = %d %s, %d bytes; want what GET has, without a body", path, head.Code, head.Header(), head.Body.Len())
		}
	}
}

// TestAnswersAreAsDocumented validates requests, answers, streams and errors with the
// schemas of the document. TestWire does it with the answers of every case.
func TestAnswersAreAsDocumented(t *testing.T) {
	t.Parallel()
	d, err := openAPI()
	if err != nil {
		t.Fatal(err)
	}
	s := startWireServer(t, zerolog.Nop())
	send := func(id, text string) string {
		return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"historyLength":3}}`, id, text)
	}
	_, rest, _ := strings.Cut(s.ask(t, http.MethodPost, "/message:send", send("m0", `/echo text="hello"`)).Body.String(), `"task":{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	answered := map[string]bool{}
	for _, tc := range []struct {
		method, path, query, body string
		status                    int
	}{
		{http.MethodPost, "/message:send", "", send("m1", `/echo text="hello"`), 200},
		{http.MethodPost, "/message:send", "", send("m2", `/transfer amount=3 to="alice"`), 200},
		{http.MethodPost, "/message:send", "", send("m3", `/fail`), 200},
		{http.MethodPost, "/message:send", "", send("", "x"), 400},
		{http.MethodPost, "/message:stream", "", send("m4", `/stream n=3`), 200},
		{http.MethodGet, "/tasks/" + id, "?historyLength=1", "", 200},
		{http.MethodGet, "/tasks/" + id, "?historyLength=-1", "", 400},
		{http.MethodGet, "/tasks/nothing", "", "", 404},
		{http.MethodGet, "/tasks", "?includeArtifacts=true", "", 200},
		{http.MethodGet, "/tasks", "?pageSize=101", "", 400},
		{http.MethodPost, "/tasks/" + id + ":cancel", "", "", 400},
		{http.MethodGet, "/tasks/" + id + "/pushNotificationConfigs", "", "", 400},
		{http.MethodGet, "/.well-known/agent-card.json", "?A2A-Version=1.0", "", 200},
	} {
		op, ok := d.at(tc.method, tc.path)
		if !ok {
			t.Errorf("%s %s is not documented", tc.method, tc.path)
			continue
		}
		w := s.ask(t, tc.method, tc.path+tc.query, tc.body)
		if w.Code != tc.status {
			t.Errorf("%s %s = %d %s, want %d", tc.method, tc.path, w.Code, w.Body, tc.status)
		}
		if err := d.check(op, w.Code, w.Header().Get("Content-Type"), w.Body.Bytes()); err != nil {
			t.Errorf("%s %s: %v", tc.method, tc.path, err)
		}
		if tc.body != "" {
			err := d.validate(op.RequestBody.Content["application/json"].Schema, []byte(tc.body))
			if valid := tc.status == http.StatusOK; valid != (err == nil) {
				t.Errorf("%s %s is answered with %d, and its body, by the document: %v", tc.method, tc.path, w.Code, err)
			}
		}
		// The schema is not one that anything passes.
		if media := w.Header().Get("Content-Type"); media != "text/event-stream" {
			for _, wrong := range []string{`{}`, `[]`, strings.Replace(w.Body.String(), `{`, `{"other":1,`, 1)} {
				if d.check(op, w.Code, media, []byte(wrong)) == nil {
					t.Errorf("%s %s: %.100s passes, too", tc.method, tc.path, wrong)
				}
			}
		}
		answered[op.OperationID+fmt.Sprint(w.Code)] = true
	}
	if len(answered) < 11 {
		t.Errorf("answers of %d kinds were compared: %v", len(answered), answered)
	}
}
