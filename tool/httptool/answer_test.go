package httptool_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/httptool"
)

// answers returns a handler that answers with a type and a body.
func answers(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	with := func(name, value string, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(name, value)
			h(w, r)
		}
	}
	tests := []struct {
		name    string
		method  string
		pointer string
		handler http.HandlerFunc
		want    any
	}{
		{"object", "GET", "", answers(200, "application/json; charset=utf-8", `{"a": [1, 12345678901234567890, 1.50, null]}`), map[string]any{"a": []any{json.Number("1"), json.Number("12345678901234567890"), json.Number("1.50"), nil}}},
		{"array", "GET", "", answers(200, "application/vnd.api+json", `[]`), []any{}},
		{"string", "GET", "", answers(200, "application/json", `"x"`), "x"},
		{"null", "GET", "", answers(200, "application/json", `null`), nil},
		{"at a pointer", "POST", "/items/1/a~1b~0", answers(201, "application/json", `{"items": [0, {"a/b~": "x"}]}`), "x"},
		{"at the empty name", "GET", "/", answers(200, "application/json", `{"": 5}`), json.Number("5")},
		{"at a pointer, whatever its type", "GET", "/a", answers(200, "text/plain", `{"a": true}`), true},
		{"text", "GET", "", answers(200, "text/csv; charset=UTF-8", "a,ä\r\n"), "a,ä\r\n"},
		{"markup", "GET", "", answers(200, "image/svg+xml", "<svg/>"), "<svg/>"},
		{"no type, text", "GET", "", answers(200, "", "{"), "{"},
		{"no type, bytes", "GET", "", answers(200, "", "\x00\x01"), agent.Part{Raw: []byte("\x00\x01"), MediaType: "application/octet-stream"}},
		{"bad type", "GET", "", answers(200, "a/b/c;;=", "\xff"), agent.Part{Raw: []byte("\xff"), MediaType: "application/octet-stream"}},
		{"file", "GET", "", with("Content-Disposition", `attachment; filename="a b.pdf"`, answers(200, "application/pdf", "%PDF")), agent.Part{Raw: []byte("%PDF"), MediaType: "application/pdf", Filename: "a b.pdf"}},
		{"file with a path", "GET", "", with("Content-Disposition", `attachment; filename="..\\..\\a/../../etc/passwd"`, answers(200, "image/png", "x")), agent.Part{Raw: []byte("x"), MediaType: "image/png", Filename: "passwd"}},
		{"file with an invisible name", "GET", "", with("Content-Disposition", `attachment; filename*=UTF-8''a%E2%80%AEfdp.exe`, answers(200, "image/png", "x")), agent.Part{Raw: []byte("x"), MediaType: "image/png"}},
		{"text in another charset", "GET", "", answers(200, "text/plain; charset=iso-8859-1", "\xe4"), agent.Part{Raw: []byte("\xe4"), MediaType: "text/plain"}},
		{"text that is none", "GET", "", answers(200, "text/plain", "a\x00b"), agent.Part{Raw: []byte("a\x00b"), MediaType: "text/plain"}},
		{"no content", "DELETE", "", answers(204, "", ""), map[string]any{"status": 204}},
		{"created", "POST", "", with("Location", "/issue/7?token=x#y", answers(201, "application/json", "")), map[string]any{"status": 201, "location": "/issue/7"}},
		{"blank", "POST", "", answers(200, "application/json", " \n"), map[string]any{"status": 200}},
		{"head", "HEAD", "", with("ETag", `"x"`, answers(200, "text/plain", "")), map[string]any{"status": 200, "content-type": "text/plain", "etag": `"x"`}},
		{"compressed", "GET", "", func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				w.WriteHeader(400)
				return
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, `{"a":1}`)
			_ = z.Close()
		}, map[string]any{"a": json.Number("1")}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := call(t.Context(), build(t, httptool.Config{Method: tc.method, URL: answering(t, tc.handler), Result: tc.pointer}), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.Content); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if r.Streaming || r.Error != "" || r.Metadata["status"] == nil {
				t.Errorf("result = %+v, want a final one with a status", r)
			}
		})
	}
}

func TestRefusedAnswer(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 5000)
	tests := []struct {
		name    string
		pointer string
		handler http.HandlerFunc
		want    []string
		not     string
		unknown bool
	}{
		{"client error", "", answers(404, "text/plain", "no such issue\n"), []string{"status 404 (Not Found): no such issue"}, "\n", false},
		{"server error", "", answers(500, "application/json", `{"error":"x"}`), []string{`status 500 (Internal Server Error): {"error":"x"}`}, "", false},
		{"no body", "", answers(503, "", ""), []string{"status 503 (Service Unavailable)"}, ": ", false},
		{"unknown status", "", answers(599, "", ""), []string{"status 599"}, "(", false},
		{"gateway timeout", "", answers(504, "text/html", "<h1>Timeout</h1>"), []string{"status 504 (Gateway Timeout): <h1>"}, "", true},
		{"bad gateway", "", answers(502, "", ""), []string{"status 502"}, "", true},
		{"long", "", answers(400, "text/plain", large), []string{large[:2048] + "…", "(5000 bytes)"}, large[:2049], false},
		{"invisible", "", answers(400, "text/plain", "ok\u202egnorw\x1b[2J\x00"), []string{`ok\u202egnorw\u001b[2J\u0000`}, "\x1b", false},
		{"not UTF-8", "", answers(400, "text/plain", "a\xff\xfeb"), []string{"a\uFFFDb"}, "", false},
		{"redirect", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://u:p@169.254.169.254/latest?token=t#f")
			w.WriteHeader(302)
		}, []string{"status 302 (Found)", "not followed", "http://169.254.169.254/latest,"}, "token", false},
		{"redirect to nowhere", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", ":%zz")
			w.WriteHeader(301)
		}, []string{"status 301", "not followed"}, "zz", false},
		{"not modified", "", answers(304, "", ""), []string{"status 304"}, "", false},
		{"invalid JSON", "", answers(200, "application/json", "<html>\u202e"), []string{"status 200, so it was carried out", "not JSON", `"<html>\u202e"`}, "\u202e", false},
		{"half JSON", "", answers(200, "application/json", `{"a": `), []string{"not JSON"}, "", false},
		{"two values", "", answers(200, "application/json", `{} {}`), []string{"more than one"}, "", false},
		{"JSON with rubbish", "", answers(200, "application/json", `{} x`), []string{"more than one"}, "", false},
		{"deep JSON", "", answers(200, "application/json", strings.Repeat("[", 100000)), []string{"nested deeper than 64"}, "", false},
		{"deep but in a string", "/a", answers(200, "application/json", `["`+strings.Repeat(`[\"`, 100)+`"]`), []string{`no value at "/a"; it begins with "[`}, "", false},
		{"missing member", "/a/b", answers(200, "application/json", `{"a":{"c%d":1,"x\u202e":2}}`), []string{`no value at "/a/b"; it begins with "{`, "c%d"}, "\u202e", false},
		{"missing element", "/1", answers(200, "application/json", `[0]`), []string{`no value at "/1"`}, "", false},
		{"after the end", "/-", answers(200, "application/json", `[0,1]`), []string{`no value at "/-"`}, "", false},
		{"inside a scalar", "/a/b", answers(200, "application/json", `{"a":7}`), []string{`no value at "/a/b"`}, "", false},
		{"empty at a pointer", "/a", answers(204, "", ""), []string{`empty, and has no value at "/a"`}, "", false},
		{"other coding", "", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "x")
		}, []string{`encoded as "br"`}, "", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := call(t.Context(), build(t, httptool.Config{Method: "POST", URL: answering(t, tc.handler), Result: tc.pointer}), nil)
			if err == nil || r != nil {
				t.Fatalf("call() = %+v, %v, want an error", r, err)
			}
			if is := isUnknown(err); is != tc.unknown {
				t.Errorf("unknown = %v, want %v: %v", is, tc.unknown, err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error = %q, want one with %q", err, want)
				}
			}
			if tc.not != "" && strings.Contains(strings.TrimPrefix(err.Error(), tool.ErrOutcomeUnknown.Error()+": "), tc.not) {
				t.Errorf("error = %q, want one without %q", err, tc.not)
			}
		})
	}
}
