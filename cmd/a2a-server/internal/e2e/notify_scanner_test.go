package e2e_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/cmd/a2a-server/internal/notify"
	"a2a-server/internal/egress"
	tasks "a2a-server/task/notify"
)

var (
	anyLink = regexp.MustCompile(`https?://[^\s<>"]+`)
	linkIn  = regexp.MustCompile(`(?:href|src|action|formaction)="([^"]*)"`)
)

// A program that opens every link of a message, and every link and the target of every form on
// the pages after it, decides nothing: neither without a session, nor in that of an approver.
func TestScannerDecidesNothing(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	bot := newKey(t, keys, apikey.Key{ID: "bot", Tenant: "acme", Roles: []string{auth.RoleRequester}})
	alice := newKey(t, keys, apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleApprover}})
	c, _ := configured(t, fmt.Sprintf("auth:\n  keys: {file: %q}\ngates:\n  - {tool: transfer_money}\n", keys))
	in := start(t, c)
	task, said := in.sendAs(t, message("m1", "/transfer_money amount=1 to=x"), "X-API-Key", bot)
	id := task.ID + ".a1"
	if task.ID == "" {
		t.Fatal(said)
	}
	page := "/ui/approvals/" + id
	text := make(chan string, 1)
	slack := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		text <- body.Text
	}))
	defer slack.Close()
	sender, err := notify.NewSlack(slack.URL, egress.Config{AllowLoopback: true})
	if err == nil {
		err = sender.Send(t.Context(), &tasks.Message{ID: "1", Event: "approval.asked", Approval: id, Link: in.url + page})
	}
	if err != nil {
		t.Fatal(err)
	}
	links := anyLink.FindAllString(<-text, -1)
	if !slices.Equal(links, []string{in.url + page}) {
		t.Fatalf("links %q, want that of the page", links)
	}
	links = append(links, in.url+page+"/decision?decision=approve", in.url+page+"/decision")
	if got := in.crawl(t, links); !slices.Contains(got, page) { // the way to sign in
		t.Fatalf("without a session: %q", got)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	in.client.Jar = jar
	resp, err := in.client.PostForm(in.url+"/ui/signin", url.Values{"key": {alice}})
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if !in.signedIn(t) {
		t.Fatal("not signed in")
	}
	if got := in.crawl(t, links); !slices.Contains(got, page) || !slices.Contains(got, page+"/edit") {
		t.Fatalf("in the session of an approver: %q", got)
	}
	if _, body := in.get(t, page); !strings.Contains(body, page+"/decision") {
		t.Error("the page of the approval offers no decision any more")
	}
	by := auth.Principal{Tenant: "acme", Subject: "key:alice", Roles: []string{auth.RoleApprover}, Method: "key"}
	if err := in.server.Approvals().Decide(t.Context(), by, approval.Decision{ID: id, Type: approval.Approve}); err != nil {
		t.Errorf("the approval is decided, or gone: %v", err)
	}
}

// crawl opens links and what is linked from there on this server, three steps far, but for
// streams. It returns the paths of the pages.
func (in *instance) crawl(t *testing.T, links []string) (pages []string) {
	t.Helper()
	seen := map[string]bool{}
	for range 3 {
		var next []string
		for _, link := range links {
			base, err := url.Parse(link)
			if err != nil || base.Scheme+"://"+base.Host != in.url || seen[link] || strings.Contains(base.Path, "/events") || len(seen) > 300 {
				continue
			}
			seen[link] = true
			for _, method := range []string{http.MethodHead, http.MethodGet} {
				a := in.fetch(t, method, strings.TrimPrefix(link, in.url), "")
				if method == http.MethodHead || a.Status >= 300 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
					continue
				}
				pages = append(pages, base.Path)
				for _, m := range linkIn.FindAllStringSubmatch(a.Body, -1) {
					if to, err := base.Parse(html.UnescapeString(m[1])); err == nil {
						to.Fragment = ""
						next = append(next, to.String())
					}
				}
			}
		}
		links = next
	}
	return pages
}
