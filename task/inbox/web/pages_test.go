package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// Every page renders, with its policy and for people who have nothing to see, and changes nothing.
func TestPages(t *testing.T) {
	t.Parallel()
	w := start(t)
	empty := []string{"/ui/", "/ui/?mine=1&tool=x&gate=y&order=time", "/ui/tasks", "/ui/tasks?state=working&owner=nobody", "/ui/history", "/ui/history?what=all&tool=mail", "/ui/try", "/ui/about"}
	for _, path := range empty {
		p := w.get(alice, path)
		w.has(p, http.StatusOK, []string{"<h1", "<main", `lang="en"`, `aria-current="page"`})
		w.safe(path, p)
	}
	id, digest := w.asks("transfer_money", map[string]any{"amount": 5, "to": "dave"})
	w.asks("ask_user", map[string]any{"question": "Which?", "choices": []any{"one", "two"}})
	at := "/ui/approvals/" + id
	for path, want := range map[string]string{
		"/ui/": `href="` + at + `"`, at: "What will run", at + "?do=approve": `id="p-approve" open`, at + "/edit": `name="f:amount"`, at + "/edit?view=json": "amount&#34;: 5",
		"/ui/batch?id=" + id: "destructive or of high risk", "/ui/tasks": taskOf(id), "/ui/tasks/" + taskOf(id): "Waits for a decision", "/ui/try": "transfer_money",
		"/ui/history?what=all": "Asked", "/ui/about": "openapi.json", at + "/row": `data-id="` + id,
	} {
		p := w.get(alice, path)
		w.has(p, http.StatusOK, []string{want})
		w.safe(path, p)
	}
	for path, want := range map[string]int{
		"/ui/nothing": http.StatusNotFound, "/ui/approvals/" + taskOf(id) + ".a9": http.StatusNotFound, "/ui/batch": http.StatusBadRequest,
		"/ui/tasks/x": http.StatusNotFound, at + "/decision": http.StatusNotFound, "/ui/tasks?state=odd": http.StatusBadRequest,
	} {
		p := w.get(alice, path)
		w.has(p, want, []string{"<h1"})
		w.safe(path, p)
	}
	if p := w.get(alice, "/ui/tasks/"+taskOf(id)+"/raw"); p.header.Get("Content-Type") != "application/json" || !strings.Contains(p.body, `"history"`) {
		t.Errorf("raw task = %s: %s", p.header.Get("Content-Type"), p.body)
	}
	w.has(w.get(alice, at), http.StatusOK, []string{`data-state="Pending"`, digest}) // after all of that
	w.has(w.get(person("eve", auth.RoleRequester), at), http.StatusNotFound, nil, "dave")
	w.has(w.get(person("olga", auth.RoleAdmin), at), http.StatusForbidden, nil, "dave")
	w.has(w.get(auth.Principal{Tenant: "other", Subject: "eve", Roles: []string{auth.RoleApprover}}, at), http.StatusNotFound, nil, "dave")
	if p := w.get(alice, "/ui"); p.status != http.StatusSeeOther || p.location != "/ui/" {
		t.Errorf("/ui = %d, %q", p.status, p.location)
	}
}

// Files are kept by browsers, and their address changes with them.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := start(t)
	links := regexp.MustCompile(`/ui/static/[0-9a-f]{16}/[a-z.]+`).FindAllString(w.get(alice, "/ui/").body, -1)
	if len(links) != 3 {
		t.Fatalf("files %q, want 3", links)
	}
	for _, link := range links {
		p := w.get(alice, link)
		if p.status != http.StatusOK || !strings.Contains(p.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s = %d, %s", link, p.status, p.header.Get("Cache-Control"))
		}
	}
	if p := w.get(alice, "/ui/static/0123456789abcdef/app.js"); p.status != http.StatusNotFound {
		t.Errorf("a file of another version = %d, want 404", p.status)
	}
}

// About leads to the documents of this version, as they are written.
func TestDocuments(t *testing.T) {
	t.Parallel()
	w := start(t)
	links := regexp.MustCompile(`href="(/ui/docs/[a-z-]+\.md)">([^<]+)</a>`).FindAllStringSubmatch(w.get(alice, "/ui/about").body, -1)
	if len(links) < 10 {
		t.Fatalf("About has %d documents: %q", len(links), links)
	}
	for _, link := range links {
		p := w.get(bob, link[1])
		if w.has(p, http.StatusOK, []string{"# " + html.UnescapeString(link[2]) + "\n"}); p.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s is %s", link[1], p.header.Get("Content-Type"))
		}
	}
	for _, none := range []string{"none.md", "..%2fREADME.md", "%2e%2e", "."} {
		if p := w.get(bob, "/ui/docs/"+none); p.status == http.StatusOK {
			t.Errorf("%s is answered with %s", none, p.body)
		}
	}
}

// What agents, tools and callers write is text: nothing of it is obeyed, hidden, or lost.
func TestHostile(t *testing.T) {
	t.Parallel()
	w := start(t)
	evil := "</title><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202egnp\u200b"
	id, digest := w.asks("mail", map[string]any{"to": []any{evil}, "subject": evil, "body": strings.Repeat("\n", 5000) + "rm -rf" + evil, "urgent": true, "count": 1})
	at := "/ui/approvals/" + id
	raw := []string{"<script>alert", "<img", "\u202e"}
	for _, path := range []string{"/ui/", at, at + "?whole=1", at + "/edit", at + "/edit?view=json", "/ui/batch?id=" + id, "/ui/tasks", "/ui/tasks/" + taskOf(id), "/ui/history?what=all", "/ui/about", "/ui/try"} {
		p := w.get(alice, path)
		w.has(p, http.StatusOK, nil, raw...)
		w.safe(path, p)
	}
	w.has(w.get(alice, at), http.StatusOK, []string{"U+202E", "U+200B", "5,000 × U+000A", "rm -rf", "hidden characters, shown as code", `Sends \u202e<b>mails`})
	reason := "because\u202e<script>alert(2)</script>" + strings.Repeat("x", 1000)
	if p := w.do(alice, http.MethodPost, at+"/decision", url.Values{"decision": {"reject"}, "digest": {digest}, "reason": {reason}}); p.status != http.StatusSeeOther {
		t.Fatalf("reject = %d: %s", p.status, p.body)
	}
	for _, path := range []string{at, "/ui/history", "/ui/tasks/" + taskOf(id)} {
		p := w.get(alice, path)
		w.has(p, http.StatusOK, nil, raw...)
		w.safe(path, p)
	}
	w.has(w.get(alice, at), http.StatusOK, []string{strings.Repeat("x", 1000), "because<span"})
}

// Arguments are shown whole.
func TestLongArguments(t *testing.T) {
	t.Parallel()
	w := start(t)
	var body strings.Builder
	for i := 0; body.Len() < 100_000; i++ {
		fmt.Fprintf(&body, "word%d ", i)
	}
	id, _ := w.asks("mail", map[string]any{"to": []any{}, "subject": "s", "body": body.String(), "urgent": false, "count": 1})
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, []string{body.String(), "It ends with"})
}

// Pages of other sites change nothing, whatever a browser sends for them.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	w := start(t)
	id, digest := w.asks("mail", map[string]any{"to": []any{}, "subject": "s", "body": "b", "urgent": false, "count": 1})
	at, form := "/ui/approvals/"+id, url.Values{"decision": {"approve"}, "digest": {digest}}
	for _, headers := range [][]string{
		{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, {"Origin", "null", "Sec-Fetch-Site", "cross-site"}, {"Origin", w.URL, "Sec-Fetch-Site", "cross-site"},
		{"Origin", w.URL, "Sec-Fetch-Site", "same-site"}, {"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example", "Sec-Fetch-Site", ""},
	} {
		for _, path := range []string{at + "/decision", at + "/extension", at + "/anew", at + "/edit", "/ui/batch", "/ui/try", "/ui/tasks/" + taskOf(id) + "/cancel", "/ui/tasks/" + taskOf(id) + "/calls/c1.1/cancel"} {
			if p := w.do(alice, http.MethodPost, path, form, headers...); p.status != http.StatusForbidden {
				t.Errorf("POST %s with %q = %d, want 403", path, headers, p.status)
			}
		}
	}
	followed := w.do(alice, http.MethodGet, at, nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	w.has(followed, http.StatusOK, []string{`data-state="Pending"`}) // a link in a mail
	for _, dest := range []string{"iframe", "image", "empty"} {
		if p := w.do(alice, http.MethodGet, at, nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", dest); p.status != http.StatusForbidden {
			t.Errorf("embedded as %s = %d, want 403", dest, p.status)
		}
	}
}

// A list of tasks has the first line of what was said, for whoever may read the tasks.
func TestTitles(t *testing.T) {
	t.Parallel()
	w := start(t)
	task := string(w.As(carol).Send("\n/echo first\u202e <b>line</b>\nsecond line").ID)
	long := string(w.As(carol).Send("/echo " + strings.Repeat("ü", 1000)).ID)
	p := w.get(alice, "/ui/tasks")
	w.has(p, http.StatusOK, []string{"/echo first", "U+202E", "&lt;b&gt;line", "/ui/tasks/" + task, "/ui/tasks/" + long, strings.Repeat("ü", 100) + "…"}, "second line", strings.Repeat("ü", 130), "\ufffd")
	w.safe("/ui/tasks", p)
	w.has(w.get(person("olga", auth.RoleOperator), "/ui/tasks"), http.StatusOK, []string{"/ui/tasks/" + task})
	w.has(w.get(person("erin", auth.RoleRequester), "/ui/tasks"), http.StatusOK, nil, "/echo first", task)
}

// The page of a call at a remote agent shows the agents, the tool there, and its arguments.
func TestCallAtAnAgent(t *testing.T) {
	t.Parallel()
	w := start(t, func(c *testserver.Config) {
		c.Tools = append(c.Tools, tool.NewToolset("agents", functiontool.Must(functiontool.New(functiontool.Config{Name: "desk", Description: "Passes on"},
			func(ctx tool.Context, _ struct{}) (string, error) {
				return "", tool.RequestConfirmation(ctx, "Pay?", map[string]any{"agent": "office/ba\u202enk", "tool": "pay<b>", "arguments": map[string]any{"to": "dave"}})
			}))))
	})
	id, _ := w.asks("desk", nil)
	p := w.get(alice, "/ui/approvals/"+id)
	w.has(p, http.StatusOK, []string{"At the agent", "office/ba", "pay&lt;b&gt;", "dave"})
	w.safe("the page", p)
}
