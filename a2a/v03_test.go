package a2a_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/store"
	"a2a-server/task/engine"
)

// failing is a store that fails, and panics in follow-ups, with what nobody may learn.
type failing struct {
	store.Handle
	panics bool
}

const secretPath = "/data/secret.db"

func (f failing) Read(context.Context, store.Scope, store.TaskID, store.From, store.Limit) (store.LogPage, error) {
	if f.panics {
		panic("open " + secretPath)
	}
	return store.LogPage{}, errors.New("open " + secretPath + ": permission denied")
}

// The defects of the SDK's handlers for 0.3, by their numbers in docs/design/v03.md.
func TestDefectsOfTheSDK(t *testing.T) {
	t.Parallel()
	const missing = `{"id":"019b7c00-0000-7000-8000-00000000ffff"}`
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":90071992547409931234567890,"method":"` + method + `"` + params + `}`
	}
	s := startWireServer(t, zerolog.Nop())
	for name, c := range map[string]struct {
		path, body  string
		status      int
		contentType string
		want        string
	}{
		"5, an error is JSON":            {"/", rpc("tasks/get", `,"params":`+missing), 200, "application/json", `"code":-32001`},
		"5, over HTTP+JSON, too (10)":    {"/v1/message:send", `{}`, 400, "application/json", `"reason":"INVALID_PARAMS"`},
		"6, no params":                   {"/", rpc("message/send", ""), 200, "application/json", `"code":-32602,"message":"message is required"`},
		"6, empty params":                {"/", rpc("message/send", `,"params":{}`), 200, "application/json", `"code":-32602,"message":"message is required"`},
		"6, the body of HTTP+JSON":       {"/", rpc("message/send", `,"params":{"message":{"messageId":"m","role":"user","content":[{"text":"x"}]}}`), 200, "application/json", `message.parts must have at least one part`},
		"6, a message that is null":      {"/v1/message:send", `{"message":null}`, 400, "application/json", `message is required`},
		"6, params of another type":      {"/", rpc("message/send", `,"params":[]`), 200, "application/json", `"code":-32602`},
		"11, an error of a stream":       {"/v1/message:stream", `{"message":{"messageId":"m","role":"ROLE_USER","content":[]}}`, 400, "application/json", `must have at least one part`},
		"11, a stream of a missing task": {"/v1/tasks/019b7c00-0000-7000-8000-00000000ffff:subscribe", ``, 404, "application/json", `"TASK_NOT_FOUND"`},
		"11, a body over the limit":      {"/v1/message:send", `{"message":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "application/json", `REQUEST_TOO_LARGE`},
		"14, a large id":                 {"/", rpc("tasks/get", `,"params":`+missing), 200, "application/json", `"id":90071992547409931234567890,`},
		"14, a large id of a stream":     {"/", rpc("tasks/resubscribe", `,"params":`+missing), 200, "text/event-stream", `"id":90071992547409931234567890,`},
	} {
		w := s.ask(t, http.MethodPost, c.path, c.body)
		if got := w.Header().Get("Content-Type"); w.Code != c.status || got != c.contentType || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s %.300s, want %d %s with %s", name, w.Code, got, w.Body, c.status, c.contentType, c.want)
		}
	}
	for _, panics := range []bool{false, true} {
		s := startWireServer(t, zerolog.Nop(), func(e *engine.Config, _ *a2a.Config) { e.Store = failing{e.Store, panics} })
		srv := httptest.NewServer(s.handler)
		for name, c := range map[string]struct{ path, body string }{
			"1": {"/", rpc("tasks/get", `,"params":`+missing)}, "1, HTTP+JSON": {"/v1/tasks/019b7c00-0000-7000-8000-00000000ffff:cancel", ""},
			"1, a stream": {"/", rpc("tasks/resubscribe", `,"params":`+missing)}, "1, a stream of HTTP+JSON": {"/v1/tasks/019b7c00-0000-7000-8000-00000000ffff:subscribe", ""},
		} {
			resp, err := wireClient.Do(newRequest(t, http.MethodPost, srv.URL+c.path, c.body))
			if panics { // 8: the connection ends
				if err == nil {
					_ = resp.Body.Close()
					t.Errorf("%s: a panic is answered with %d", name, resp.StatusCode)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var body strings.Builder
			if err := resp.Write(&body); err != nil {
				t.Error(err)
			}
			_ = resp.Body.Close()
			if strings.Contains(body.String(), secretPath) || !strings.Contains(body.String(), `"INTERNAL_ERROR"`) {
				t.Errorf("%s: %s", name, body.String())
			}
		}
		srv.Close()
	}
}

// With 0.3 off nothing of it is there: no method, no path, no member of the card.
func TestOnlyV1(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { c.OnlyV1 = true })
	for path, body := range map[string]string{"/v1/message:send": "{}", "/v1/tasks/x:cancel": "", "/v1/tasks": ""} {
		method := http.MethodPost
		if path == "/v1/tasks" {
			method = http.MethodGet
		}
		if w := s.ask(t, method, path, body); w.Code != http.StatusNotFound {
			t.Errorf("%s = %d %s, want 404", path, w.Code, w.Body)
		}
	}
	if w := s.ask(t, http.MethodPost, "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{}}`); !strings.Contains(w.Body.String(), `"code":-32009`) {
		t.Errorf("tasks/get = %s", w.Body)
	}
	w := s.ask(t, http.MethodGet, "/.well-known/agent-card.json", "")
	if strings.Contains(w.Body.String(), "0.3") || strings.Contains(w.Body.String(), "preferredTransport") || strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "A2A-Version") {
		t.Errorf("the card is %v %s", w.Header(), w.Body)
	}
}
