package a2aserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
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

// A browser at the base URL is sent to the pages; all else gets JSON that says where the card is.
func TestPage(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"store": "memory", "agent.name": "<b>bold\u202e</b>", "public_url": "http://127.0.0.1:9/agents"})
	in := start(t, c)
	in.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for accept, want := range map[string]bool{
		browser: true, "text/html": true, "text/html;q=0.5, application/json;q=0": true, "text/*": true,
		"": false, "*/*": false, "application/json": false, "text/html;q=0, */*": false, "text/html;q=0.5, */*;q=0.9": false, "application/json, text/html": false, "no type at all": false,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			got := in.fetch(t, method, "Accept", accept)
			if vary := strings.Join(got.header.Values("Vary"), ", "); !strings.Contains(vary, "Accept") {
				t.Errorf("%s with Accept %q: Vary = %q, want Accept", method, accept, vary)
			}
			if want {
				if at := got.header.Get("Location"); got.status != http.StatusSeeOther || at != "/agents/ui/" {
					t.Errorf("%s with Accept %q = %d, %q, want the pages", method, accept, got.status, at)
				}
				continue
			}
			if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s with Accept %q = %d, %s, want JSON", method, accept, got.status, got.header.Get("Content-Type"))
			}
			if method == http.MethodHead {
				continue
			}
			var front map[string]string
			if err := json.Unmarshal([]byte(got.body), &front); err != nil || front["agentCard"] != "http://127.0.0.1:9/agents/.well-known/agent-card.json" || front["name"] != `<b>bold\u202e</b>` {
				t.Errorf("Accept %q: %v: %s", accept, err, got.body)
			}
		}
	}
	if got := in.fetch(t, http.MethodGet, "Accept", browser, "Host", "attacker.example"); got.status != http.StatusForbidden {
		t.Errorf("to a foreign host: %d, want 403", got.status)
	}
	if got := in.fetch(t, http.MethodPost, "Accept", browser); !strings.Contains(got.body, `"jsonrpc":"2.0"`) {
		t.Errorf("POST / is no JSON-RPC any more: %d: %s", got.status, got.body)
	}
}
