package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	a2aserver "a2a-server"
)

// The page of an approval has the gates that asked, as they were, whatever the configuration becomes.
func TestGate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	configure := func(payments string) {
		t.Helper()
		text := "gates:\n" + payments + "  - {tool: echo, expires: never, action: ask}\n  - {tool: \"*_money\", name: all-money, who: {callers: [\"*\"]}}\n  - {tool: \"*\", name: huge, when: has(args.amount) && args.amount > 1000}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure("  - {tool: transfer_money, name: payments, when: args.amount > 1, hint: \"Pay {amount}\u202e?\"}\n")
	w := start(t, func(c *a2aserver.Config) { c.File = file })
	page := func(tool string, args map[string]any) string {
		id, _ := w.asks(tool, args)
		return "/ui/approvals/" + id
	}
	money, echo, mail := page("transfer_money", map[string]any{"amount": 5, "to": "dave"}), page("echo", map[string]any{"text": "x"}), page("mail", letter)
	asked := func() {
		t.Helper()
		p := w.get(alice, money)
		w.has(p, http.StatusOK, []string{"name: payments", "when: args.amount &gt; 1", "hint: Pay {amount}", "name: all-money", `who: {"callers":["*"]}`, "as they were when it was asked"}, "huge", "later", "strict")
		w.safe(money, p)
	}
	asked()
	w.has(w.get(alice, echo), http.StatusOK, []string{"name: echo"}, "gate:echo", "all-money")
	w.has(w.get(alice, mail), http.StatusOK, []string{"The tool itself asks", "name: tool"})
	configure("  - {tool: transfer_money, name: payments, hint: later}\n  - {tool: transfer_money, name: strict, people: 2}\n")
	if err := w.Reload(); err != nil {
		t.Fatal(err)
	}
	asked()
	w.has(w.get(alice, page("transfer_money", map[string]any{"amount": 5, "to": "eve"})), http.StatusOK, []string{"hint: later", "name: strict"})
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
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, []string{"1 for first of role approver; 1 for second of corp:dana or corp:erin for whom args.text == &#34;x&#34;", "0 of 1", "missing: 1 of role approver, 1 of corp:dana or corp:erin for whom args.text == "})
}
