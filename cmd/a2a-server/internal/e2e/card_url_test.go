package e2e_test

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
	named := map[string]string{"store": "memory", "allowed_hosts": "agent.example.com", "trusted_proxies": "127.0.0.1", "insecure_no_auth": "true"}
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

// The card says how each tool is called, and for how long it may be kept. gRPC can be left out of
// it: its address is no URL, and ADK for Python refuses a card with one.
func TestCardSaysHowToCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config map[string]string
		want   []string
		not    string
	}{
		"all":                 {map[string]string{"store": "memory", "grpc.listen": "127.0.0.1:0"}, []string{`"examples":["/transfer_money amount=250 to=alice"]`, `Call a tool with a text`, `"GRPC"`}, `"needs"`},
		"without gRPC":        {map[string]string{"store": "memory", "grpc.listen": "127.0.0.1:0", "card.grpc": "false"}, []string{`"JSONRPC"`}, `"GRPC"`},
		"another description": {map[string]string{"store": "memory", "agent.description": "Pays."}, []string{`"description":"Pays."`}, `Call a tool with a text`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := start(t, load(t, tt.config))
			card := in.fetch(t, http.MethodGet, "/.well-known/agent-card.json", "", "A2A-Version", "1.0")
			if card.Status != http.StatusOK || strings.Contains(card.Body, tt.not) {
				t.Errorf("card = %+v, which has %s", card, tt.not)
			}
			for _, want := range tt.want {
				if !strings.Contains(card.Body, want) {
					t.Errorf("card = %s, want %s", card.Body, want)
				}
			}
			if got := card.Header.Get("Cache-Control"); got != "public, max-age=60" {
				t.Errorf("Cache-Control: %s", got)
			}
		})
	}
}
