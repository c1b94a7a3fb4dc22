package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	a2aserver "a2a-server"
)

// The page of an approval has what asked as it is configured, and says if that was read after it
// was asked.
func TestGate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	configure := func(payments string) {
		t.Helper()
		text := "gates:\n" + payments + "  - {tool: echo, expires: never, action: ask}\n  - {tool: \"*_money\", name: all-money}\n" +
			"tools:\n  - {command: greet, description: Greets., run: [/bin/echo], env: {TOKEN: s3cret}, approve: true}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const later, gone = "after the request", "no longer has a gate with this name"
	configure("  - {tool: transfer_money, name: payments, hint: \"Pay {amount}\u202e?\", risk: high, mask: [/to], approvers: {roles: [approver]}}\n")
	w := start(t, func(c *a2aserver.Config) { c.File = file })
	page := func(tool string, args map[string]any) string {
		id, _ := w.asks(tool, args)
		return "/ui/approvals/" + id
	}
	money, echo, greet, mail := page("transfer_money", map[string]any{"amount": 5, "to": "dave"}), page("echo", map[string]any{"text": "x"}), page("greet", map[string]any{}), page("mail", letter)
	p := w.get(alice, money)
	w.has(p, http.StatusOK, []string{"# a2a-server.yaml:2", "name: payments", "tool: transfer_money", `hint: "Pay {amount}\u202e?"`, "risk: high", "mask: [/to]", `approvers: {"roles":["approver"]}`, "expires: 168h # by default", "Other gates for this tool: all-money"}, later, gone)
	w.safe(money, p)
	w.has(w.get(alice, echo), http.StatusOK, []string{"# a2a-server.yaml:3", "expires: never", "on_expiry: reject # by default"}, "168h", later)
	w.has(w.get(alice, greet), http.StatusOK, []string{"# a2a-server.yaml:6", "command: greet", "approve: true"}, "s3cret", "TOKEN", later)
	w.has(w.get(alice, mail), http.StatusOK, []string{"The tool itself asks"}, "From the current configuration", gone)

	reload := func(payments string) {
		w.Advance(time.Minute)
		configure(payments)
		if err := w.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	reload("  - {tool: transfer_money, name: payments, risk: low}\n")
	w.has(w.get(alice, money), http.StatusOK, []string{"risk: low", later}, "mask: [/to]", gone)
	w.has(w.get(alice, echo), http.StatusOK, []string{"# a2a-server.yaml:3"}, later)
	reload("  - {tool: transfer_money, name: other}\n")
	w.has(w.get(alice, money), http.StatusOK, []string{gone, "Other gates for this tool: other, all-money"}, "name: other")
}

// If several gates restrict the approvers, the page says which votes are missing.
func TestApproversOfSeveralGates(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	text := "gates:\n  - {tool: echo, name: first, approvers: {roles: [approver]}}\n  - {tool: \"ec*\", name: second, approvers: {subjects: [corp:dana, corp:erin], when: args.text == \"x\"}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *a2aserver.Config) { c.File = file })
	id, _ := w.asks("echo", map[string]any{"text": "x"})
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, []string{"1 for first of role approver; 1 for second of corp:dana or corp:erin for whom args.text == &#34;x&#34;", "0 of 2", "missing: 1 of role approver, 1 of corp:dana or corp:erin for whom args.text == "})
}
