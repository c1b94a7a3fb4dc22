package a2a_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"a2a-server/a2a"
	"a2a-server/internal/httpd"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	g := httpd.Guard{Hosts: []string{"localhost", "127.0.0.1", "[::1]", "agents.example"}, Origins: []string{"https://inbox.example"}}
	for _, tc := range []struct {
		name, host string
		origins    []string
		status     int
	}{
		{"name", "localhost", nil, 200},
		{"name and port", "LOCALHOST:8080", nil, 200},
		{"address", "127.0.0.1:1", nil, 200},
		{"IPv6", "[::1]:8080", nil, 200},
		{"IPv6 without port", "[::1]", nil, 200},
		{"configured", "agents.example:443", nil, 200},
		{"foreign name", "attacker.example:8080", nil, 403},
		{"a name that only begins like ours", "localhost.attacker.example", nil, 403},
		{"listed origin", "localhost", []string{"https://inbox.example"}, 200},
		{"foreign origin", "localhost", []string{"https://attacker.example"}, 403},
		{"origin with another port", "localhost", []string{"https://inbox.example:8443"}, 403},
		{"origin of the server itself, not listed", "localhost", []string{"http://localhost"}, 403},
		{"null origin", "localhost", []string{"null"}, 403},
		{"empty origin", "localhost", []string{""}, 403},
		{"two origins", "localhost", []string{"https://inbox.example", "https://attacker.example"}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := g.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), a2a.WriteRefusal)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			r.Host, r.Header["Origin"] = tc.host, tc.origins
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tc.status {
				t.Errorf("status = %d, want %d: %s", w.Code, tc.status, w.Body)
			}
			if tc.status == 403 && !strings.Contains(w.Body.String(), "PERMISSION_DENIED") {
				t.Errorf("body = %s", w.Body)
			}
		})
	}
}

// The server applies its guard to every path, and lets the pages of a listed origin
// read what they get.
func TestServerGuards(t *testing.T) {
	t.Parallel()
	srv := start(t, func(c *a2a.Config) { c.Guard = httpd.Guard{Origins: []string{"https://inbox.example"}} })
	for _, path := range []string{"/", "/message:send", "/tasks", "/tasks/x:subscribe", "/.well-known/agent-card.json", "/nothing"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "https://attacker.example")
		if got := do(t, r); got.status != 403 {
			t.Errorf("GET %s from a foreign page = %d, want 403", path, got.status)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, srv.URL+"/message:send", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://inbox.example")
	r.Header.Set("Access-Control-Request-Method", "POST")
	got := do(t, r)
	if allowed := got.header.Get("Access-Control-Allow-Origin"); got.status != 204 || allowed != "https://inbox.example" {
		t.Errorf("preflight = %d, allowed %q", got.status, allowed)
	}
}

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func do(t *testing.T, r *http.Request) answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

func TestCard(t *testing.T) {
	t.Parallel()
	srv := start(t, func(c *a2a.Config) {
		c.Card.Name, c.Card.URL = "payments", "https://example.com/agents/payments"
		c.Card.Skills = []a2a.Skill{{ID: "transfer", Description: "moves money", Tags: []string{"money"}}}
	})
	get := func(path, etag string) answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		return do(t, r)
	}
	first := get("/.well-known/agent-card.json", "")
	var card struct {
		Name                string
		SupportedInterfaces []struct{ URL, ProtocolBinding, ProtocolVersion string }
		Capabilities        struct {
			Streaming, PushNotifications, ExtendedAgentCard bool
			Extensions                                      []struct{ URI string }
		}
		Skills []struct{ ID, Name string }
	}
	if err := json.Unmarshal([]byte(first.body), &card); err != nil {
		t.Fatalf("card = %s: %v", first.body, err)
	}
	if card.Name != "payments" || len(card.SupportedInterfaces) != 4 || card.SupportedInterfaces[0].URL != "https://example.com/agents/payments" ||
		card.SupportedInterfaces[0].ProtocolVersion != "1.0" || card.SupportedInterfaces[2].ProtocolVersion != "0.3" || !card.Capabilities.Streaming || card.Capabilities.PushNotifications ||
		card.Capabilities.ExtendedAgentCard || len(card.Capabilities.Extensions) != 3 || len(card.Skills) != 1 || card.Skills[0].Name != "transfer" {
		t.Errorf("card = %s", first.body)
	}
	etag := first.header.Get("ETag")
	if etag == "" || first.header.Get("Cache-Control") == "" {
		t.Errorf("header = %v, want ETag and Cache-Control", first.header)
	}
	if again := get("/.well-known/agent-card.json", etag); again.status != 304 || again.body != "" {
		t.Errorf("the same card again = %d %q, want 304 without a body", again.status, again.body)
	}
	// A proxy that does not strip the path of the public URL finds everything, too.
	if below := get("/agents/payments/.well-known/agent-card.json", ""); below.status != 200 {
		t.Errorf("card below the path of its URL = %d", below.status)
	}
	for _, path := range []string{"/agents/payments", "/agents/payments/"} {
		if status, body := post(t, srv.URL+path, "application/json", `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`); status != 200 || !strings.Contains(body, `"tasks":[]`) {
			t.Errorf("ListTasks at %s = %d %s", path, status, body)
		}
	}
}
