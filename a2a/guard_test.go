package a2a_test

import (
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
