package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/notify/mailtest"
	"a2a-server/internal/oidctest"
)

// evil is a value that ends its line, and goes on as a header, a mail, and markup of Slack.
const evil = "x\r\nBcc: eve@example.org\r\n.\r\nMAIL FROM:<eve@example.org>\r\n```<!channel> <http://evil.example|ok> & @here"

// Routes of the configuration reach Slack and mail servers. No value of a caller or decider is
// more than text there, a program that opens the links of a mail decides nothing, an address that
// is not public gets nothing unless it is allowed, and a requester whose issuer has verified their
// address is told how it ended, after a restart, though nobody can read the address anywhere.
func TestNotifyPeople(t *testing.T) {
	t.Parallel()
	const address = "alice@example.com"
	chat := make(chan string, 20)
	slack := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		chat <- body.Text
	}))
	t.Cleanup(slack.Close)
	server, issuer, dir := mailtest.Start(t, "none", nil), oidctest.New(t), t.TempDir()
	keys, hook := filepath.Join(dir, "keys.yaml"), filepath.Join(dir, "slack")
	rewrite(t, hook, slack.URL+"/secret-path")
	bot := newKey(t, keys, apikey.Key{ID: "bot", Roles: []string{auth.RoleRequester}})
	admin := newKey(t, keys, apikey.Key{ID: "admin", Roles: []string{auth.RoleAdmin, auth.RoleViewer, auth.RoleApprover}})
	c, _ := configured(t, fmt.Sprintf(`
public_url: http://127.0.0.1:9
allowed_hosts: [127.0.0.1]
auth:
  tenant: acme
  keys: {file: %[1]q}
  oidc: [{name: corp, issuer: %[2]q, audiences: [a2a], networks: [127.0.0.1], roles: {claim: groups, map: {sre: [requester]}}}]
gates: [{tool: transfer_money, hint: "Pay {to}?"}]
notify:
  - {name: chat, kind: slack, url: {file: %[3]q}, networks: [127.0.0.0/8], all: true, arguments: true}
  - {name: inside, kind: slack, url: {file: %[3]q}, all: true}
  - {name: mail, kind: smtp, smtp: {host: 127.0.0.1, port: %[4]d, tls: none, from: a2a@example.com}, to: [ops@example.com], all: true, arguments: true}
  - {name: requesters, kind: smtp, smtp: {host: 127.0.0.1, port: %[4]d, tls: none, from: a2a@example.com}, requester: true, events: [resolved], all: true}
`, keys, issuer.URL, hook, server.Port))
	in := start(t, c)
	verified := []string{"Authorization", "Bearer " + issuer.Token(t, map[string]any{"email": address, "email_verified": true})}
	var ids []string // alice's is the last
	for n, who := range [][]string{
		{"X-API-Key", bot, "X-Forwarded-Email", "bot@example.com"},
		{"Authorization", "Bearer " + issuer.Token(t, map[string]any{"sub": "mallory", "email": "mallory@example.com", "email_verified": false})},
		verified,
	} {
		call := map[string]any{"tool": "transfer_money", "args": map[string]any{"amount": 1, "to": evil}}
		task, said := in.sendAs(t, map[string]any{"message": map[string]any{
			"messageId": fmt.Sprint("m", n), "role": "ROLE_USER", "parts": []any{map[string]any{"data": call}}, "metadata": map[string]any{"email": "eve@example.org"},
		}}, who...)
		if task.ID == "" {
			t.Fatal(said)
		}
		ids = append(ids, task.ID)
		text := <-chat
		if strings.ContainsAny(strings.ReplaceAll(text, "<http://127.0.0.1:9/ui/approvals/"+task.ID+".a1>", ""), "<>") || !strings.Contains(text, "&lt;!channel&gt;") || strings.Count(text, "```") != 2 {
			t.Errorf("Slack shows %s", text)
		}
	}
	until(t, "three mails", func() bool { return len(server.All()) == 3 })
	for _, m := range server.All() {
		header, body := mailtest.Read(t, m.Content)
		if !slices.Equal(m.To, []string{"ops@example.com"}) || header.Get("Bcc") != "" || !strings.Contains(body, "Arguments:") || strings.Contains(body, "\nBcc") {
			t.Errorf("mail to %q with the header %v:\n%s", m.To, header, body)
		}
		links := anyLink.FindAllString(body, -1)
		for i := range links {
			links[i] = strings.Replace(links[i], "http://127.0.0.1:9", in.url, 1)
		}
		if pages := in.crawl(t, links); len(pages) == 0 {
			t.Errorf("no page opens of %q", links)
		}
	}
	list := "/api/v1/notifications?state=retrying"
	until(t, "the address that is not allowed is refused", func() bool {
		_, got := in.do(t, http.MethodGet, list, "", "X-API-Key", admin)
		return strings.Count(got, `"route":"inside"`) == 3 && strings.Contains(got, "is loopback")
	})

	logged := in.log
	in.halt(t)
	in = start(t, c)
	var shown strings.Builder
	for _, id := range ids {
		path := "/api/v1/approvals/" + id + ".a1"
		_, pending := in.do(t, http.MethodGet, path, "", "X-API-Key", admin)
		digest := regexp.MustCompile(`"digest":"([0-9a-f]+)"`).FindStringSubmatch(pending)
		if digest == nil {
			t.Fatalf("the approval does not wait any more: %s", pending)
		}
		decision, _ := json.Marshal(map[string]string{"decision": "reject", "reason": evil, "digest": digest[1]})
		if status, got := in.do(t, http.MethodPost, path+"/decision", string(decision), "X-API-Key", admin); status != http.StatusOK {
			t.Fatalf("decide: %d %s", status, got)
		}
		for _, path := range []string{path, "/api/v1/tasks/" + id, "/api/v1/audit", list} {
			_, got := in.do(t, http.MethodGet, path, "", "X-API-Key", admin)
			shown.WriteString(got)
		}
	}
	_, own := in.do(t, http.MethodGet, "/tasks/"+ids[2], "", verified...)
	until(t, "a mail to the requester", func() bool { return len(server.All()) == 4 })
	m := server.All()[3]
	header, body := mailtest.Read(t, m.Content)
	if !slices.Equal(m.To, []string{address}) || header.Get("To") != "<"+address+">" || len(header) != 10 || !strings.Contains(body, "An approval was rejected.") || !strings.Contains(body, ids[2]) || strings.Contains(body, "\nBcc") {
		t.Errorf("mail to %q with the header %v:\n%s", m.To, header, body)
	}
	if !strings.Contains(own, ids[2]) || strings.Contains(shown.String()+own+fmt.Sprint(logged.all(), in.log.all()), address) {
		t.Errorf("the address is shown or logged, or the task is not shown: %s", own)
	}
}
