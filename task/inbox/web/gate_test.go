package web_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/internal/testserver"
)

// The page of an approval has the gates that asked, as they were, whatever the configuration becomes. Where
// the present gates demand more, those who may decide it may ask it anew.
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
	w := start(t, func(c *testserver.Config) { c.File = file })
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
	p := w.get(alice, money)
	w.has(p, http.StatusOK, []string{"name: payments", "hint: Pay {amount}", "The present gates demand more: votes: 2 different people. Asking anew ends this approval and asks again", "Ask anew</button>"}, "name: strict")
	w.safe(money, p)
	w.has(w.get(alice, page("transfer_money", map[string]any{"amount": 5, "to": "eve"})), http.StatusOK, []string{"hint: later", "name: strict"}, "Ask anew")
	w.has(w.get(person("vera", auth.RoleViewer), money), http.StatusOK, []string{"as they were when it was asked"}, "Ask anew")

	digest := url.Values{"digest": {into(t, p, `name="digest" value="([^"]+)"`)}}
	w.has(w.do(alice, http.MethodPost, money+"/anew", url.Values{"digest": {"other"}}), http.StatusPreconditionFailed, []string{"has changed since you opened it", "Ask anew</button>"})
	next := w.do(alice, http.MethodPost, money+"/anew", digest)
	if at := next.header.Get("Location"); next.status != http.StatusSeeOther || at == money {
		t.Fatalf("asked anew = %d, to %s", next.status, at)
	}
	anew := next.header.Get("Location")
	w.has(w.get(alice, anew), http.StatusOK, []string{"0 of 2", "name: strict", "hint: later", "name: payments", "replaces an earlier approval"}, "Ask anew")
	w.has(w.get(alice, money), http.StatusOK, []string{`data-state="Replaced"`, "asked anew, because its gates demand more now"}, "Ask anew")
	w.has(w.do(alice, http.MethodPost, money+"/anew", digest), http.StatusConflict, []string{`data-state="Replaced"`})
	w.has(w.decide(alice, strings.TrimPrefix(anew, "/ui/approvals/"), url.Values{"decision": {"approve"}, "digest": digest["digest"], "confirm": {"transfer_money"}}), http.StatusSeeOther, nil)
	configure("  - {tool: transfer_money, name: strict, people: 3}\n")
	if err := w.Reload(); err != nil {
		t.Fatal(err)
	}
	w.has(w.get(alice, anew), http.StatusOK, []string{"demand more: votes: 3 different people. Asking anew ends this approval, and its 1 vote, and asks"})
}

// into returns the first match of a pattern in a page.
func into(t *testing.T, p page, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(p.body)
	if len(found) != 2 {
		t.Fatalf("the page has no %s", pattern)
	}
	return html.UnescapeString(found[1])
}

// If several gates restrict the approvers, the page says which votes are missing.
func TestApproversOfSeveralGates(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	text := "gates:\n  - {tool: echo, name: first, approvers: {roles: [approver]}}\n  - {tool: \"ec*\", name: second, approvers: {subjects: [corp:dana, corp:erin], when: args.text == \"x\"}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *testserver.Config) { c.File = file })
	id, _ := w.asks("echo", map[string]any{"text": "x"})
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, []string{"1 for first of role approver; 1 for second of corp:dana or corp:erin for whom args.text == &#34;x&#34;", "0 of 1", "missing: 1 of role approver, 1 of corp:dana or corp:erin for whom args.text == "})
}
