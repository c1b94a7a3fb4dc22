package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
)

const hookSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"

// announced is a receiver of webhooks.
type announced struct {
	*httptest.Server
	got chan map[string]any // whose signature is right
}

func newAnnounced(t *testing.T, status int) *announced {
	t.Helper()
	verifier, err := webhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	h := &announced{got: make(chan map[string]any, 100)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var body map[string]any
		if err := verifier.Verify(text, r.Header); err != nil || json.Unmarshal(text, &body) != nil {
			t.Errorf("a message that cannot be verified: %v: %s", err, text)
		}
		body["id"] = r.Header.Get("webhook-id")
		body["text"] = string(text)
		w.WriteHeader(status)
		h.got <- body
	}))
	t.Cleanup(h.Close)
	return h
}

// next returns the next message.
func (h *announced) next(t *testing.T) map[string]any {
	t.Helper()
	select {
	case m := <-h.got:
		return m
	case <-time.After(time.Minute):
		t.Fatal("no message")
		return nil
	}
}

// Routes of the configuration announce approvals: by gates, or all of them, with the link to the
// page. A restart and a reload lose nothing. What fails is listed.
func TestNotify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys, secret := filepath.Join(dir, "keys.yaml"), filepath.Join(dir, "secret")
	rewrite(t, secret, hookSecret+"\n")
	bot := newKey(t, keys, apikey.Key{ID: "bot", Tenant: "acme", Roles: []string{auth.RoleRequester}})
	alice := newKey(t, keys, apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleApprover, auth.RoleViewer}})
	admin := newKey(t, keys, apikey.Key{ID: "admin", Tenant: "acme", Roles: []string{auth.RoleAdmin, auth.RoleViewer}})
	eve := newKey(t, keys, apikey.Key{ID: "eve", Tenant: "other", Roles: []string{auth.RoleViewer}})
	pay, all, gone := newAnnounced(t, http.StatusOK), newAnnounced(t, http.StatusNoContent), newAnnounced(t, http.StatusGone)
	route := func(name string, h *announced, more string) string {
		return fmt.Sprintf("  - {name: %s, kind: webhook, url: %q, secret: {file: %q}, networks: [127.0.0.0/8]%s}\n", name, h.URL+"/secret-path", secret, more)
	}
	text := fmt.Sprintf("public_url: https://agent.example.com/a\nallowed_hosts: [127.0.0.1]\nauth:\n  keys: {file: %q}\ngates:\n  - {tool: transfer_money, mask: [/to], notify: [pay]}\n  - {tool: echo}\nnotify:\n", keys)
	routes := route("pay", pay, ", events: [asked, resolved], arguments: true")
	c, file := configured(t, text+routes+route("all", all, ", all: true")+route("gone", gone, ", all: true"))
	in := start(t, c)
	task, said := in.sendAs(t, message("m1", "/transfer_money amount=1 to=secret-account"), "X-API-Key", bot)
	if task.ID == "" {
		t.Fatal(said)
	}
	id := task.ID + ".a1"
	for _, h := range []*announced{pay, all, gone} {
		m := h.next(t)
		body, _ := m["text"].(string)
		if m["type"] != "approval.asked" || !strings.Contains(body, "https://agent.example.com/a/ui/approvals/"+id) || strings.Contains(body, "secret-account") {
			t.Errorf("message %s", body)
		}
		if has := strings.Contains(body, "•••"); has != (h == pay) || strings.Contains(body, `"arguments":{`) != has {
			t.Errorf("arguments: %v in %s", has, body)
		}
		if data, _ := m["data"].(map[string]any); data["digest"] != nil {
			t.Errorf("a masked argument can be guessed from the digest in %s", body)
		}
	}
	list := func(key string) string {
		_, got := in.do(t, http.MethodGet, "/api/v1/notifications?state=failed", "", "X-API-Key", key)
		return got
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(list(alice), `"route":"gone"`); {
		if time.Now().After(deadline) {
			t.Fatalf("the refused message is not listed: %s", list(alice))
		}
	}
	if got := list(admin); !strings.Contains(got, id) || !strings.Contains(got, "HTTP 410") || strings.Contains(got, "secret-path") {
		t.Errorf("failed: %s", got)
	}
	if got := list(alice); !strings.Contains(got, id) || strings.Contains(got, "HTTP 410") {
		t.Errorf("failed, for no admin: %s", got)
	}
	if got := list(eve); strings.Contains(got, id) {
		t.Errorf("another tenant sees %s", got)
	}
	if got := list(bot); !strings.Contains(got, "PERMISSION_DENIED") {
		t.Errorf("a requester sees %s", got)
	}
	if _, got := in.get(t, "/readyz?verbose"); got != "ok\n" {
		t.Errorf("/readyz?verbose = %q, though a proxy may ask for a stranger", got)
	}
	if _, got := in.get(t, "/readyz"); got != "ok\n" {
		t.Errorf("/readyz = %q", got)
	}

	in.halt(t)
	in = start(t, c)
	_, shown := in.do(t, http.MethodGet, "/api/v1/approvals/"+id, "", "X-API-Key", alice)
	digest := regexp.MustCompile(`"digest":"([0-9a-f]+)"`).FindStringSubmatch(shown)
	if digest == nil {
		t.Fatal(shown)
	}
	if status, got := in.do(t, http.MethodPost, "/api/v1/approvals/"+id+"/decision", fmt.Sprintf(`{"decision":"reject","reason":"too much","digest":%q}`, digest[1]), "X-API-Key", alice); status != http.StatusOK {
		t.Fatalf("decide: %d %s", status, got)
	}
	if m := pay.next(t); m["type"] != "approval.resolved" || !strings.Contains(fmt.Sprint(m["text"]), "rejected") {
		t.Errorf("the end is announced as %v", m["text"])
	}
	select {
	case m := <-all.got:
		t.Errorf("the route without resolved has %v", m["text"])
	default:
	}

	late := newAnnounced(t, http.StatusOK)
	if err := os.WriteFile(file, []byte(text+routes+route("late", late, ", all: true")), 0o600); err != nil {
		t.Fatal(err)
	}
	in.reload(t)
	task, _ = in.sendAs(t, message("m2", "/transfer_money amount=2 to=x"), "X-API-Key", bot)
	if m := late.next(t); !strings.Contains(fmt.Sprint(m["text"]), task.ID) {
		t.Errorf("after the reload: %v", m["text"])
	}
	rewrite(t, file, text+strings.Replace(routes, "name: pay", "name: other", 1))
	if err := in.server.Reload(); err == nil || !strings.Contains(err.Error(), `there is no route "pay"`) {
		t.Errorf("a reload without the route of a gate: %v", err)
	}
	rewrite(t, secret, "whsec_short")
	rewrite(t, file, text+routes)
	in.reload(t) // a file that is wrong keeps no gate from being changed
	if got := fmt.Sprint(in.log.saying("route pay")); !strings.Contains(got, "its messages wait") {
		t.Errorf("a reload with a wrong secret warns of %s", got)
	}
	if got := in.log.all(); strings.Contains(fmt.Sprint(got), "whsec_short") || strings.Contains(fmt.Sprint(got), "secret-path") || strings.Contains(fmt.Sprint(got), "secret-account") {
		t.Error("the log has a secret")
	}
}
