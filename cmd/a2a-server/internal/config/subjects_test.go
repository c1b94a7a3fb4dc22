package config_test

import (
	"slices"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/config"
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

// A role of approvers that no caller has is named, and a gate that no caller may decide is a problem.
func TestUnmetApprovers(t *testing.T) {
	t.Parallel()
	const (
		issuer  = `{name: corp, issuer: "https://idp.example.com", audiences: [a], roles: {claim: groups`
		unheld  = `no caller has the role "leed"; did you mean lead?`
		nothing = "no caller may decide calls of this gate"
	)
	for name, tc := range map[string]struct {
		approvers, oidc string
		problem, warns  string
	}{
		"held":                {"roles: [lead]", "", "", ""},
		"misspelled":          {"roles: [leed]", "", unheld + "; " + nothing, ""},
		"misspelled, beside":  {"roles: [lead, leed]", "", "", unheld},
		"a subject":           {"roles: [leed], subjects: [acme/key:bob]", "", "", unheld},
		"an unknown subject":  {"subjects: [key:eve]", "", nothing, ""},
		"escalated":           {"roles: [leed]}, escalate: {after: 1h, add_roles: [lead]", "", "", unheld},
		"of a map":            {"roles: [boss]", issuer + ", map: {bosses: [approver, boss]}}}", "", ""},
		"in no map":           {"roles: [leed]", issuer + ", map: {bosses: [approver, boss]}}}", unheld, ""},
		"a subject of an IdP": {"subjects: [acme/corp:eve]", issuer + ", map: {bosses: [approver]}}}", "", ""},
	} {
		c := load(t, config.Source{File: write(t, "auth: {tenant: acme, keys: {file: keys.yaml}, oidc: ["+tc.oidc+"]}\ngates: [{tool: x, approvers: {"+tc.approvers+"}}]\n")})
		problems, warnings := config.UnmetApprovers(c, config.Callers(c, []auth.Principal{{Subject: "key:bob", Tenant: "acme", Roles: []string{auth.RoleApprover, "lead"}}}))
		for want, got := range map[*string][]string{&tc.problem: problems, &tc.warns: warnings} {
			if len(got) != min(len(*want), 1) || !slices.ContainsFunc(append(got, *want), func(text string) bool { return strings.Contains(text, *want) }) || len(got) > 0 && !strings.Contains(got[0], ".yaml:2:") {
				t.Errorf("%s: %q, want %q", name, got, *want)
			}
		}
		if problems, _ := config.UnmetApprovers(c, nil); problems != nil {
			t.Errorf("%s, without callers: %q", name, problems)
		}
	}
}
