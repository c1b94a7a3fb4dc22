package web_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"a2a-server/a2aservertest"
	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/approvaltool"
	"a2a-server/tool/builtin"
	"a2a-server/tool/functiontool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server whose pages people open.
type world struct {
	*a2aservertest.Server
	t *testing.T
}

type mail struct {
	To      []string `json:"to"`
	Subject string   `json:"subject"`
	Body    string   `json:"body"`
	Urgent  bool     `json:"urgent"`
	Count   float64  `json:"count"`
}

func start(t *testing.T, changes ...func(*testserver.Config)) *world {
	t.Helper()
	demo, err := builtin.New(builtin.Config{Ledger: t.TempDir() + "/ledger.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	ask, err := approvaltool.NewAskUser()
	if err != nil {
		t.Fatal(err)
	}
	mails := functiontool.Must(functiontool.New(functiontool.Config{Name: "mail", Description: "Sends \u202e<b>mails</b>.", RequireApproval: true},
		func(_ tool.Context, m mail) (string, error) { return "sent " + m.Subject, nil }))
	c := testserver.Config{Authenticator: a2aservertest.Callers{}, Tools: []tool.Toolset{demo, tool.NewToolset("more", ask, mails)}}
	for _, change := range changes {
		change(&c)
	}
	return &world{a2aservertest.New(t, c.Must(t)), t}
}

func person(name string, roles ...string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: name, Roles: roles}
}

var (
	carol = person("carol", auth.RoleRequester)
	alice = person("alice", auth.RoleApprover, auth.RoleRequester, auth.RoleViewer)
	bob   = person("bob", auth.RoleApprover)
)

// asks sends a call that needs approval, in the name of carol, and returns the approval.
func (w *world) asks(tool string, args map[string]any) (id, digest string) {
	w.t.Helper()
	as := w.As(carol)
	asked := as.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": tool, "args": args})))
	pending := as.Pending(asked)
	if len(pending) != 1 {
		w.t.Fatalf("%d approvals are pending, want 1", len(pending))
	}
	return pending[0].ID, pending[0].Digest
}

// page is an answer.
type page struct {
	status   int
	header   http.Header
	body     string
	location string
}

func (w *world) do(by auth.Principal, method, path string, form url.Values, headers ...string) page {
	w.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.URL+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	who, err := json.Marshal(by)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("A2a-Test-Caller", string(who))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", w.URL)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header, string(all), resp.Header.Get("Location")}
}

func (w *world) get(by auth.Principal, path string) page {
	w.t.Helper()
	return w.do(by, http.MethodGet, path, nil, "Sec-Fetch-Site", "same-origin") // as a link of the pages does
}

// has reports what of want a page lacks, and what of no it has.
func (w *world) has(p page, status int, want []string, no ...string) {
	w.t.Helper()
	if p.status != status {
		w.t.Errorf("status %d, want %d: %s", p.status, status, p.body)
	}
	for _, one := range want {
		if !strings.Contains(p.body, one) && !strings.Contains(html.UnescapeString(p.body), one) {
			w.t.Errorf("the page has no %q:\n%s", one, p.body)
		}
	}
	for _, one := range no {
		if strings.Contains(p.body, one) {
			w.t.Errorf("the page has %q:\n%s", one, p.body)
		}
	}
}

var (
	scripts = regexp.MustCompile(`<script[^>]*>`)
	inline  = regexp.MustCompile(`(?i)<[^>]*\s(on[a-z]+|style|srcdoc)=`)
	nonces  = regexp.MustCompile(`script-src 'nonce-([A-Z2-7]{20,})'`)
)

// safe checks what every page has to keep: its policy, and its two scripts.
func (w *world) safe(path string, p page) {
	w.t.Helper()
	policy := p.header.Get("Content-Security-Policy")
	for _, one := range []string{"default-src 'none'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, one) || strings.Contains(policy, "unsafe") {
			w.t.Errorf("%s: policy %q, want %q in it", path, policy, one)
		}
	}
	found := nonces.FindStringSubmatch(policy)
	if len(found) != 2 {
		w.t.Fatalf("%s: policy %q has no nonce", path, policy)
	}
	if all := scripts.FindAllString(p.body, -1); len(all) != 2 || strings.Count(strings.Join(all, ""), `nonce="`+found[1]+`"`) != 2 {
		w.t.Errorf("%s: scripts %q, want two, with the nonce", path, all)
	}
	if all := inline.FindAllString(p.body, -1); len(all) > 0 {
		w.t.Errorf("%s: %q", path, all)
	}
	if strings.ContainsAny(p.body, "\u202e\u200b\u2066\x00\x1b") {
		w.t.Errorf("%s has hidden characters", path)
	}
}

func taskOf(id string) string { task, _, _ := strings.Cut(id, "."); return task }
