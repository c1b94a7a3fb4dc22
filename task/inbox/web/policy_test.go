package web_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"a2a-server/auth"
	"a2a-server/internal/testserver"
)

// The page of the policy has the gates, and explains a call without making it. It is for admins:
// gates may be about other tenants.
func TestPolicyPage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	text := "gates:\n  - {tool: transfer_money, name: large<b>, when: args.amount > 1000, four_eyes: true}\n  - {tool: mail, name: letters}\n" +
		"  - {tool: mail, name: closed, action: deny, when: 'caller.tenant == \"x1\" || \"x1\" in caller.roles || \"x1\" in caller.chain'}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *testserver.Config) { c.File = file })
	root := person("root", auth.RoleAdmin)
	const here = "/ui/policy"
	p := w.get(root, here)
	w.has(p, http.StatusOK, []string{`href="/ui/policy" aria-current="page"`, "# a2a-server.yaml:2", `when: "args.amount > 1000"`, "letters"}, "large<b>", "Explain.</b>")
	w.safe(here, p)
	w.has(w.get(root, here+"?tool=mail"), http.StatusOK, []string{"Gates about mail", "letters"}, "args.amount")
	call := func(tool, args, subject string) url.Values {
		return url.Values{"tool": {tool}, "args": {args}, "subject": {subject}, "tenant": {"acme"}, "roles": {"requester, ops"}}
	}
	p = w.do(root, http.MethodPost, here, call("transfer_money", `{"amount": 5000, "to": "bob"}`, "corp:alice"))
	w.has(p, http.StatusOK, []string{"The call has to be approved", "when is true", "not the requester, nor parties that act for it", `value="corp:alice"`}, "letters")
	w.safe(here, p)
	for _, wrong := range []url.Values{call("transfer_money", "{", "a"), call("transfer_mony", "{}", "a"), call("transfer_money", `{"amount": "x", "to": "bob"}`, "")} {
		w.has(w.do(root, http.MethodPost, here, wrong), http.StatusUnprocessableEntity, []string{`role="alert"`})
	}
	for of, told := range map[string]string{"tenant": "is denied", "roles": "is denied", "chain": "is denied", "other": "has to be approved"} {
		form := url.Values{"tool": {"mail"}, "args": {`{"body": "b", "count": 1, "subject": "s", "to": ["t"], "urgent": true}`}, of: {"x1"}}
		w.has(w.do(root, http.MethodPost, here, form), http.StatusOK, []string{told})
	}
	for _, by := range []auth.Principal{alice, bob, carol, person("mallory")} {
		w.has(w.get(by, here), http.StatusForbidden, nil, "args.amount", `href="/ui/policy"`)
		w.has(w.do(by, http.MethodPost, here, call("mail", "{}", "")), http.StatusForbidden, nil, "letters")
	}
	if waiting := w.get(root, "/ui/tasks"); waiting.status == http.StatusOK {
		w.has(waiting, http.StatusOK, nil, "transfer_money")
	}
}
