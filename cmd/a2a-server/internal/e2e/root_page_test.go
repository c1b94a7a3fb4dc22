package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

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
			got := in.fetch(t, method, "/", "", "Accept", accept)
			if vary := strings.Join(got.Header.Values("Vary"), ", "); !strings.Contains(vary, "Accept") {
				t.Errorf("%s with Accept %q: Vary = %q, want Accept", method, accept, vary)
			}
			if want {
				if at := got.Header.Get("Location"); got.Status != http.StatusSeeOther || at != "/agents/ui/" {
					t.Errorf("%s with Accept %q = %d, %q, want the pages", method, accept, got.Status, at)
				}
				continue
			}
			if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s with Accept %q = %d, %s, want JSON", method, accept, got.Status, got.Header.Get("Content-Type"))
			}
			if method == http.MethodHead {
				continue
			}
			var front map[string]string
			if err := json.Unmarshal([]byte(got.Body), &front); err != nil || front["agentCard"] != "http://127.0.0.1:9/agents/.well-known/agent-card.json" || front["name"] != `<b>bold\u202e</b>` {
				t.Errorf("Accept %q: %v: %s", accept, err, got.Body)
			}
		}
	}
	if status, _ := in.do(t, http.MethodGet, "/", "", "Accept", browser, "Host", "attacker.example"); status != http.StatusForbidden {
		t.Errorf("to a foreign host: %d, want 403", status)
	}
	if status, body := in.do(t, http.MethodPost, "/", "", "Accept", browser); !strings.Contains(body, `"jsonrpc":"2.0"`) {
		t.Errorf("POST / is no JSON-RPC any more: %d: %s", status, body)
	}
}
