package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	a2aserver "a2a-server"
)

func TestEmbed(t *testing.T) {
	t.Parallel()
	settings := a2aserver.DefaultSettings()
	settings.Store, settings.Data = "memory", t.TempDir()
	agent, err := newAgent(a2aserver.Config{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(context.WithoutCancel(t.Context())) }()
	web := httptest.NewServer(routes(agent))
	defer web.Close()
	send := func(key, id string) (status int, body, challenge string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/agent/message:send",
			strings.NewReader(`{"message": {"messageId": "`+id+`", "role": "ROLE_USER", "parts": [{"text": "/whoami"}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("X-API-Key", key)
		}
		resp, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(raw), resp.Header.Get("WWW-Authenticate")
	}
	status, body, _ := send("k-alice", "m1")
	for status == http.StatusServiceUnavailable { // it is about to run
		status, body, _ = send("k-alice", "m1")
	}
	if status != http.StatusOK || !strings.Contains(body, "hello") {
		t.Errorf("alice: %d %s", status, body)
	}
	if status, body := list(t, web); status != http.StatusOK || !strings.Contains(body, "totalSize") {
		t.Errorf("JSON-RPC at the URL of the card: %d %s", status, body)
	}
	if status, _, challenge := send("", "m2"); status != http.StatusUnauthorized || challenge != "Bearer" {
		t.Errorf("nobody: %d, challenge %q", status, challenge)
	}
	if status, body, challenge := send("k-mallory", "m3"); status != http.StatusUnauthorized || !strings.HasPrefix(challenge, "ApiKey ") || !strings.Contains(body, "ask the operator") {
		t.Errorf("a wrong key: %d %s, challenge %q", status, body, challenge)
	}
	if err := agent.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// list lists tasks by JSON-RPC, as a client does that follows no redirect.
func list(t *testing.T, web *httptest.Server) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/agent", strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-API-Key", "k-alice")
	resp, err := web.Client().Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}
