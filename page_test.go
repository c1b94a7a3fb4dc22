package a2aserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// fetch asks for what is at the base URL. headers are NAME and value in turn.
func (in *instance) fetch(t *testing.T, method string, headers ...string) answered {
	t.Helper()
	resp := in.open(t, method, "/", "", headers...)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{resp.StatusCode, resp.Header, string(body)}
}

type answered struct {
	status int
	header http.Header
	body   string
}

// A browser at the base URL gets one page, without script and with nothing from
// elsewhere; all else gets JSON that says where the card is.
func TestPage(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory", "agent.name": "<b>bold\u202e</b>", "agent.description": "a \u202e b <script>alert(1)</script>"})
	in := start(t, c)
	in.send(t, "m1", "/transfer_money amount=5 to=bob")

	got := in.fetch(t, http.MethodGet, "Accept", browser)
	body := got.body
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
	} {
		if got := got.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'", "style-src 'sha256-"} {
		if got := got.header.Get("Content-Security-Policy"); !strings.Contains(got, want) || strings.Contains(got, "unsafe") {
			t.Errorf("Content-Security-Policy = %q, want %q in it", got, want)
		}
	}
	for _, want := range []string{
		`<h1>&lt;b&gt;bold\u202e&lt;/b&gt;</h1>`, `a \u202e b &lt;script&gt;`, in.url + "/.well-known/agent-card.json", in.url + "/readyz", a2aserver.Version(),
		"1 waiting for a decision", "transfer_money", "needs approval",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q:\n%s", want, body)
		}
	}
	for _, no := range []string{"<script", "\u202e", "<b>", " src="} {
		if strings.Contains(body, no) {
			t.Errorf("the page has %q:\n%s", no, body)
		}
	}
	if got := in.fetch(t, http.MethodHead, "Accept", browser); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD = %d with %q", got.status, got.body)
	}
	if got := in.fetch(t, http.MethodGet, "Accept", browser, "Host", "attacker.example"); got.status != http.StatusForbidden {
		t.Errorf("to a foreign host: %d, want 403", got.status)
	}
	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0, */*"} {
		got := in.fetch(t, http.MethodGet, "Accept", accept)
		var front map[string]string
		if err := json.Unmarshal([]byte(got.body), &front); err != nil || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("Accept %q: %s, %v: %s", accept, got.header.Get("Content-Type"), err, got.body)
		}
		if card := front["agentCard"]; card != in.url+"/.well-known/agent-card.json" || strings.Contains(got.body, "transfer_money") {
			t.Errorf("Accept %q: %s", accept, got.body)
		}
	}
	if got := in.fetch(t, http.MethodPost, "Accept", browser); !strings.Contains(got.body, `"jsonrpc":"2.0"`) {
		t.Errorf("POST / is no JSON-RPC any more: %d: %s", got.status, got.body)
	}
}

// What a tool says of itself is shown, and nothing in it is obeyed or hidden. The answer is
// another for another Accept and Host. Many approvals are not counted one by one.
func TestPageOfHostileTools(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	c.Tools = []tool.Toolset{tool.NewToolset("odd", functiontool.Must(functiontool.New(
		functiontool.Config{Name: "odd", Description: "pays\u202e <img src=x onerror=alert(1)>\x1b[31m", RequireApproval: true},
		func(tool.Context, struct{}) (string, error) { return "", nil })))}
	in := start(t, c)
	for i := range 101 {
		in.send(t, fmt.Sprint("m", i), "/odd")
	}
	for accept, want := range map[string]string{
		"text/html": "text/html; charset=utf-8", "text/html;q=0.5, application/json;q=0": "text/html; charset=utf-8", "text/*": "text/html; charset=utf-8",
		"text/html;q=0.5, */*;q=0.9": "application/json", "application/json, text/html": "application/json", "no type at all": "application/json",
	} {
		got := in.fetch(t, http.MethodGet, "Accept", accept)
		if got.header.Get("Content-Type") != want {
			t.Errorf("Accept %q: %s, want %s", accept, got.header.Get("Content-Type"), want)
		}
		if vary := strings.Join(got.header.Values("Vary"), ", "); !strings.Contains(vary, "Accept") || !strings.Contains(vary, "Host") {
			t.Errorf("Accept %q: Vary = %q, want Accept and Host", accept, vary)
		}
	}
	body := in.fetch(t, http.MethodGet, "Accept", browser).body
	for _, want := range []string{`pays\u202e &lt;img src=x onerror=alert(1)&gt;\u001b[31m`, "100 or more"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %q:\n%s", want, body)
		}
	}
}

// Only whom the Authenticator knows sees tools and pending approvals, and of these
// only their own.
func TestPageForStrangers(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory"})
	c.Tools = []tool.Toolset{tool.NewToolset("bank", functiontool.Must(functiontool.New(functiontool.Config{Name: "vault", RequireApproval: true},
		func(tool.Context, struct{}) (string, error) { return "", nil })))}
	c.Authenticator = auth.Func(func(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
		switch given := strings.Join(c.Header("Authorization"), ""); given {
		case "":
			return auth.Principal{}, auth.ErrNone
		case "Bearer alice", "Bearer bob":
			return auth.Principal{Subject: strings.TrimPrefix(given, "Bearer "), Roles: []string{auth.RoleRequester}}, nil
		}
		return auth.Principal{}, &auth.Error{Code: "invalid_token"}
	})
	in := start(t, c)
	in.do(t, http.MethodPost, "/message:send", `{"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "/vault"}]}}`, "Authorization", "Bearer alice")
	for given, want := range map[string]string{"": "", "Bearer mallory": "", "Bearer alice": "1 waiting for a decision", "Bearer bob": "None are waiting for a decision"} {
		headers := []string{"Accept", browser}
		if given != "" {
			headers = append(headers, "Authorization", given)
		}
		got := in.fetch(t, http.MethodGet, headers...)
		body := got.body
		if got.status != http.StatusOK || !strings.Contains(body, "agent-card.json") {
			t.Errorf("%q gets %d: %s", given, got.status, body)
		}
		if strings.Contains(body, "vault") != (want != "") || strings.Contains(body, "decision") != (want != "") || !strings.Contains(body, want) {
			t.Errorf("%q sees\n%s\nwant %q", given, body, want)
		}
	}
}
