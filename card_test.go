package a2aserver_test

import (
	"net/http"
	"strings"
	"testing"
)

// The card has the URL by which a client has come, and what a proxy says of it only when
// the configuration names the proxy.
func TestCardOfTheHost(t *testing.T) {
	t.Parallel()
	card := "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: localhost:8080\r\n"
	forwarded := card + "X-Forwarded-Host: agent.example.com\r\nX-Forwarded-Proto: https\r\n"
	named := map[string]string{"store": "memory", "allowed_hosts": "agent.example.com", "trusted_proxies": "127.0.0.1"}
	for _, tt := range []struct {
		name, request, want string
		config              map[string]string
	}{
		{"host", card, `"url":"http://localhost:8080"`, map[string]string{"store": "memory"}},
		{"nobody is named", forwarded, `"url":"http://localhost:8080"`, map[string]string{"store": "memory", "allowed_hosts": "agent.example.com"}},
		{"proxy", forwarded, `"url":"https://agent.example.com"`, named},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, body, _ := start(t, load(t, tt.config)).dial(t).ask(tt.request + "\r\n")
			if status != http.StatusOK || !strings.Contains(body, tt.want) {
				t.Errorf("card = %d %s, want %s", status, body, tt.want)
			}
		})
	}
}
