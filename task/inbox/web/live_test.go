package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"a2a-server/a2aservertest"
	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// listen opens the events of a page, and returns a function that returns the next line with data.
func (w *world) listen(by auth.Principal, query string) (next func() string) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+"/ui/events?"+query, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	who, err := json.Marshal(by)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("A2a-Test-Caller", string(who))
	transport := &http.Transport{}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cancel()
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
	})
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("events = %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		w.t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		w.t.Fatalf("the stream has ended: %v", lines.Err())
		return ""
	}
}

// A page is told which approval has changed, and nothing else about it.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := start(t)
	next, other := w.listen(alice, "of=approvals"), w.listen(auth.Principal{Tenant: "other", Subject: "eve", Roles: []string{auth.RoleApprover}}, "of=approvals")
	next()
	other()
	id, digest := w.asks("mail", letter)
	if got, want := next(), fmt.Sprintf(`{"approval":%q,"what":"asked"}`, id); got != want {
		t.Errorf("event = %s, want %s", got, want)
	}
	w.decide(bob, id, map[string][]string{"decision": {"reject"}, "digest": {digest}})
	if got := next(); !strings.Contains(got, id) || strings.Contains(got, "bob") {
		t.Errorf("event = %s, want %s in it", got, id)
	}
	task := w.listen(alice, "task="+taskOf(id))
	if got := task(); !strings.Contains(got, "seq") {
		t.Errorf("event of the task = %s", got)
	}
	for path, want := range map[string]int{"/ui/events?task=x": http.StatusNotFound, "/ui/events?task=" + taskOf(id): http.StatusForbidden} {
		if p := w.get(bob, path); p.status != want && p.status != http.StatusForbidden {
			t.Errorf("%s = %d, want %d", path, p.status, want)
		}
	}
}

// The history goes back page by page, and leaves nothing out.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := start(t)
	const all = 57
	for i := range all {
		id, digest := w.asks("transfer_money", map[string]any{"amount": i + 1, "to": "dave"})
		w.decide(alice, id, map[string][]string{"decision": {"reject"}, "digest": {digest}})
	}
	seen, at := 0, "/ui/history?tool=transfer_money"
	for pages := 0; at != ""; pages++ {
		p := w.get(alice, at)
		w.has(p, http.StatusOK, nil)
		seen += strings.Count(p.body, "Rejected</span>")
		_, rest, more := strings.Cut(p.body, `<a class="btn" href="?`)
		if at = ""; more {
			query, _, _ := strings.Cut(rest, `"`)
			at = "/ui/history?" + strings.ReplaceAll(query, "&amp;", "&")
		}
		if pages > 5 {
			t.Fatal("the pages have no end")
		}
	}
	if seen != all {
		t.Errorf("the history has %d decisions, want %d", seen, all)
	}
}

// Links begin with the path of the public URL, whatever host a request names.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	demo, err := builtin.New(builtin.Config{Ledger: t.TempDir() + "/ledger.jsonl"})
	if err != nil {
		t.Fatal(err)
	}
	s := a2aservertest.New(t, testserver.Config{Authenticator: a2aservertest.Callers{}, Tools: []tool.Toolset{demo}, Set: map[string]string{"public_url": "https://agents.example.com/ops"}}.Must(t))
	w := &world{s, t}
	id, digest := w.asks("transfer_money", map[string]any{"amount": 5, "to": "dave"})
	for _, base := range []string{"/ui", "/ops/ui"} { // a proxy strips the path, or leaves it
		p := w.get(alice, base+"/")
		w.has(p, http.StatusOK, []string{`href="/ops/ui/approvals/` + id, `data-ui="/ops/ui"`}, `"/ui/`)
	}
	if p := w.do(alice, http.MethodPost, "/ops/ui/approvals/"+id+"/decision", map[string][]string{"decision": {"reject"}, "digest": {digest}}, "Origin", "https://agents.example.com"); p.status != http.StatusSeeOther || p.location != "/ops/ui/approvals/"+id {
		t.Errorf("reject = %d, %q: %s", p.status, p.location, p.body)
	}
}
