package a2a_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"

	"a2a-server/a2a/internal/operation"
)

// TestOperationsAreThoseOfTheProto compares the table with the gRPC service of A2A 1.0 and
// with the paths that it is annotated with.
func TestOperationsAreThoseOfTheProto(t *testing.T) {
	t.Parallel()
	want := map[string][]string{}
	methods := a2apb.File_a2av1_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
		method, path := "", ""
		switch p := rule.GetPattern().(type) {
		case *annotations.HttpRule_Get:
			method, path = http.MethodGet, p.Get
		case *annotations.HttpRule_Post:
			method, path = http.MethodPost, p.Post
		case *annotations.HttpRule_Delete:
			method, path = http.MethodDelete, p.Delete
		}
		want[string(m.Name())] = []string{method + " " + strings.ReplaceAll(path, "=*", "")}
	}
	// The text of §11.3 has POST (D3).
	want["SubscribeToTask"] = append(want["SubscribeToTask"], "POST /tasks/{id}:subscribe")
	got := map[string][]string{}
	for _, op := range operation.Table() {
		for _, r := range op.Routes {
			got[op.Name] = append(got[op.Name], r.Method+" "+r.Path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations and their routes (-want +got):\n%s", diff)
	}
}

// TestOperationsAreServed walks the table over both bindings: each operation is reached by
// its names and at its routes, a stream is answered with a stream, and what is in no entry
// is refused.
func TestOperationsAreServed(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop())
	ask := func(method, path, body string) *httptest.ResponseRecorder { return s.ask(t, method, path, body) }
	rpc := func(method string) (contentType, body string) {
		w := ask(http.MethodPost, "/", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, method))
		return w.Header().Get("Content-Type"), w.Body.String()
	}
	served := map[string][]string{} // methods by path
	for _, op := range operation.Table() {
		contentType := map[bool]string{true: "text/event-stream", false: "application/json"}[op.Stream != nil]
		if got, body := rpc(op.Name); strings.Contains(body, "METHOD_NOT_FOUND") || got != contentType {
			t.Errorf("JSON-RPC %s = %s %s, want an answer of type %s", op.Name, got, body, contentType)
		}
		if op.Legacy != nil && op.Legacy.Method != "" {
			if got, body := rpc(op.Legacy.Method); strings.Contains(body, "METHOD_NOT_FOUND") || strings.Contains(body, "VERSION_NOT_SUPPORTED") || got != contentType {
				t.Errorf("JSON-RPC %s = %s %s, want an answer of type %s", op.Legacy.Method, got, body, contentType)
			}
		}
		for _, r := range op.Routes {
			path := strings.NewReplacer("{task_id}", "t1", "{id}", "x1").Replace(r.Path)
			served[path] = append(served[path], r.Method)
			if w := ask(r.Method, path, "{}"); strings.Contains(w.Body.String(), `"reason":"NOT_FOUND"`) || w.Code == http.StatusMethodNotAllowed {
				t.Errorf("%s %s = %d %s, want an answer of %s", r.Method, path, w.Code, w.Body, op.Name)
			}
		}
		if op.Action.String() == "unknown" || op.Summary == "" {
			t.Errorf("%s has action %v and summary %q, want both", op.Name, op.Action, op.Summary)
		}
	}
	for path, methods := range served {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if slices.Contains(methods, method) {
				continue
			}
			if w := ask(method, path, "{}"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
				t.Errorf("%s %s = %d, Allow %q, want 405 and what is allowed", method, path, w.Code, w.Header().Get("Allow"))
			}
		}
	}
	for _, path := range []string{"/tasks/t1:stop", "/tasks/t1:cancel:cancel", "/message:list", "/tasks/t1/other"} {
		if w := ask(http.MethodPost, path, "{}"); w.Code != http.StatusNotFound {
			t.Errorf("POST %s = %d, want 404", path, w.Code)
		}
	}
}

// BenchmarkOperations measures what the two bindings add to an operation: the send is one
// that has been made before, so that the engine has nothing to do for it.
func BenchmarkOperations(b *testing.B) {
	s := startWireServer(b, zerolog.Nop())
	ask := func(method, path, body string) *httptest.ResponseRecorder { return s.ask(b, method, path, body) }
	const send = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"/echo text=hello"}]}}`
	id, _, _ := strings.Cut(strings.SplitAfter(ask(http.MethodPost, "/message:send", send).Body.String(), `"task":{"id":"`)[1], `"`)
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	for _, bc := range []struct{ name, method, path, body string }{
		{"SendMessage/JSONRPC", http.MethodPost, "/", rpc("SendMessage", send)},
		{"SendMessage/REST", http.MethodPost, "/message:send", send},
		{"GetTask/JSONRPC", http.MethodPost, "/", rpc("GetTask", `{"id":"`+id+`"}`)},
		{"GetTask/REST", http.MethodGet, "/tasks/" + id, ""},
		{"ListTasks/JSONRPC", http.MethodPost, "/", rpc("ListTasks", `{"pageSize":10}`)},
		{"ListTasks/REST", http.MethodGet, "/tasks?pageSize=10", ""},
		{"CancelTask/REST", http.MethodPost, "/tasks/" + id + ":cancel", ""},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if w := ask(bc.method, bc.path, bc.body); w.Body.Len() == 0 {
					b.Fatal("no answer")
				}
			}
		})
	}
}
