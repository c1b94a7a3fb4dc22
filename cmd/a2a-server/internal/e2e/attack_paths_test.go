package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What is for everybody says nothing of tasks and callers, and no other path or method is.
func TestPathsWithoutCredential(t *testing.T) {
	t.Parallel()
	w := startAttacked(t)
	task := w.tasks["acme ended"]
	get := func(path string, header string) answered {
		return w.raw(t, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"+header+"\r\n")
	}
	for _, path := range []string{"/", "/.well-known/agent-card.json", "/openapi.json", "/livez", "/readyz"} {
		for _, header := range []string{"", "Accept: text/html\r\n", "X-API-Key: wrong\r\n"} {
			a := get(path, header)
			for _, leak := range []string{victims, task, "corp", "key:", "umbrella", w.keys["victim"]} {
				if leak == "corp" && strings.HasSuffix(path, ".json") {
					continue // the name of the scheme in the card
				}
				if strings.Contains(a.Body+fmt.Sprint(a.Header), leak) {
					t.Errorf("GET %s with %q has %q: %+v", path, header, leak, a)
				}
			}
			if a.Calls != 0 {
				t.Errorf("GET %s reads the store %d times", path, a.Calls)
			}
		}
	}
	// By these, nobody gets a task, with a credential of somebody else or none.
	odd := []string{
		"//tasks/{id}", "/tasks//{id}", "/tasks/{id}/", "/./tasks/{id}", "/x/../tasks/{id}", "/tasks/%2e%2e/tasks/{id}", "/tasks%2F{id}", "/TASKS/{id}", "/tasks/{id};x=1",
		"/tasks/{id}%00", "/tasks/{id}%0d%0aX-Injected:1", "/tasks/{id}?", "/tasks/{id}:get", "/tasks/{id}:", "/tasks/{id}%3Acancel", "/tasks/{id}:cancel", "/tasks/{id}:SUBSCRIBE",
		"/v1/tasks/{id}", "/a2a/tasks/{id}", "/tasks/{id}/artifacts", "/tasks/{id}/messages", "/tasks/{id}/approvals", "/approvals", "/approvals/{id}.a1", "/admin", "/debug/pprof/", "/debug/vars",
		"/metrics", "/keys", "/data/a2a.db", "/.git/config", "/tasks?tenant=acme", "/tasks?owner=victim", "/extendedAgentCard", "http://127.0.0.1/tasks/{id}", "*",
	}
	for _, path := range odd {
		path = strings.ReplaceAll(path, "{id}", task)
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS", "TRACE", "get"} {
			for who, header := range map[string]string{"nobody": "", "mallory": "X-API-Key: " + w.keys["mallory"] + "\r\n"} {
				a := w.raw(t, method+" "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n"+header+"\r\n")
				if strings.Contains(a.Body, victims) || a.Header.Get("X-Injected") != "" || a.Status >= 500 {
					t.Errorf("%s %s of %s: %+v", method, path, who, a)
				}
				if who == "nobody" && (a.Calls != 0 || a.Status < 300 && method != http.MethodOptions) {
					t.Errorf("%s %s of nobody: %+v", method, path, a)
				}
			}
		}
	}
	// Names of methods that are none, or of another version, and several at once.
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"{id}"}}`, `{"jsonrpc":"2.0","id":1,"method":"gettask","params":{"id":"{id}"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"{id}"}}]`, `{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"ListTasks","params":{"id":"{id}"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"no-id","id":"{id}"}}`, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"name":"tasks/{id}"}}`,
		`{"jsonrpc":"2.0","method":"CancelTask","params":{"id":"{id}"}}`, `{"jsonrpc":"2.0","id":{"method":"GetTask"},"method":"GetTask","params":{"id":"{id}"}}`,
	} {
		body = strings.ReplaceAll(body, "{id}", w.tasks["acme running"])
		if a := w.do(t, nil, http.MethodPost, "/", body); a.Status != http.StatusUnauthorized || a.Calls != 0 {
			t.Errorf("%s of nobody: %+v", body, a)
		}
		if a := w.do(t, w.mallory(), http.MethodPost, "/", body); a.reason() == "" || strings.Contains(a.Body, victims) {
			t.Errorf("%s: %+v", body, a)
		}
	}
	w.unharmed(t, attackBindings()[0])
}
