package config_test

import (
	"strings"
	"testing"

	"a2a-server/internal/app/config"
)

// An entry that nobody can match has a warning, in both lists of subjects.
func TestUnknownSubjects(t *testing.T) {
	t.Parallel()
	key := func(subject string) (string, bool) { return "acme", subject == "key:bob" }
	for entry, want := range map[string]string{
		"key:bob": "", "acme/key:bob": "", "corp:alice": "", "acme/corp:alice": "", "socket:duty": "", "acme/proxy:paula": "",
		"mtls:spiffe://acme/key:bob": "",
		"bob":                        "begins with how its caller is authenticated, here corp: or key: or mtls: or proxy: or socket:",
		"crop:alice":                 "begins with how",
		"key:carol":                  "no valid API key",
		"evil/key:bob":               `tenant of this API key is "acme"`,
		"socket:night":               "no such subject",
		"proxy:paula":                "write tenant/proxy:paula",
	} {
		c := load(t, config.Source{File: write(t, `
tls: {cert: c.pem, key: k.pem, client_ca: ca.pem}
auth:
  tenant: acme
  keys: {file: keys.yaml}
  mtls: {subject: uri_san, roles: [requester]}
  socket: [{uid: 1, subject: duty, roles: [approver]}]
  proxy: {header: X-Forwarded-User, from: [10.0.0.1], tenant: {header: X-Tenant}, roles: [requester]}
  oidc: [{name: corp, issuer: "https://idp.example.com", audiences: [a], roles: [requester]}]
gates: [{tool: x, approvers: {subjects: ["`+entry+`"]}}]
tools: [{builtin: demo, for: {callers: ["`+entry+`"]}}]
`)})
		got := config.UnknownSubjects(c, key)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 2 || !strings.Contains(got[0], want) || !strings.HasPrefix(got[0], "tools[0].for.callers: ") || !strings.HasPrefix(got[1], "gates[0].approvers.subjects: ")) {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}
