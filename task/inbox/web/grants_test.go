package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/testserver"
)

// A grant is picked with an approve, listed in words and revoked.
func TestGrants(t *testing.T) {
	t.Parallel()
	gates, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Tool: "mail", Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: []approval.GrantScope{approval.GrantTask, approval.GrantTime}, Vary: []string{"/subject"}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *testserver.Config) { c.Policy = gates })
	w.has(w.get(alice, "/ui/grants"), http.StatusOK, []string{"No grants"})
	id, digest := w.asks("mail", letter)
	p := w.get(alice, "/ui/approvals/"+id)
	w.has(p, http.StatusOK, []string{"This call only", "calls that differ only in /subject in this task", "in the next hour", "for 24h"}, "in this context")
	w.safe("approval", p)
	if p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}, "grant": {"context"}}); p.status != http.StatusBadRequest {
		t.Errorf("a grant that is not offered = %d", p.status)
	}
	if p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}, "grant": {"3600"}}); p.status != http.StatusSeeOther {
		t.Fatalf("approve = %d: %s", p.status, p.body)
	}
	w.settled(id, a2a.TaskStateCompleted)
	p = w.get(alice, "/ui/grants")
	w.has(p, http.StatusOK, []string{"mail with body", "any subject", "carol", "Revoke"})
	w.safe("grants", p)
	link := regexp.MustCompile(`/ui/grants/[^"]+/revoke`).FindString(p.body)
	if p := w.do(carol, http.MethodPost, link, url.Values{}); p.status != http.StatusSeeOther { // it is about her tasks
		t.Fatalf("revoke = %d: %s", p.status, p.body)
	}
	w.has(w.get(alice, "/ui/grants"), http.StatusOK, []string{"No grants"})
	if p := w.do(alice, http.MethodPost, link, url.Values{}); p.status != http.StatusNotFound {
		t.Errorf("revoke again = %d", p.status)
	}
	id, digest = w.asks("mail", letter) // again
	w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, nil, "again for exactly this")
	if p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}, "grant": {"task", "ask_once"}}); p.status != http.StatusBadRequest {
		t.Errorf("asked once where the rule does not allow it = %d", p.status)
	}
}

// A grant is offered with its time and its uses.
func TestGrantBounds(t *testing.T) {
	t.Parallel()
	scopes := []approval.GrantScope{approval.GrantContext, approval.GrantTime}
	for _, test := range []struct {
		name string
		max  time.Duration
		uses int
		want []string
	}{
		{"half an hour", 30 * time.Minute, 50, []string{"Also the same calls in this context, for 30m, up to 50 times<", "Also the same calls for 30m, up to 50 times<", "in this context, for 30m, up to 50 times."}},
		{"more than an hour", 90 * time.Minute, 1, []string{"Also the same calls in this context, for 1h30m, up to 1 time<", "Also the same calls in the next hour, up to 1 time<", "Also the same calls for 1h30m, up to 1 time<"}},
		{"any number", 0, 0, []string{"Also the same calls in this context, for 24h<", "Also the same calls for 24h<", "in this context, for 24h."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gates, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
				{Tool: "mail", Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: scopes, Max: test.max, Uses: test.uses}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			w := start(t, func(c *testserver.Config) { c.Policy = gates })
			id, _ := w.asks("mail", letter)
			w.has(w.get(alice, "/ui/approvals/"+id), http.StatusOK, test.want)
		})
	}
}

// A person asks not to be asked again for exactly a call.
func TestAskOnce(t *testing.T) {
	t.Parallel()
	gates, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Tool: "mail", Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: []approval.GrantScope{approval.GrantContext}, Max: time.Hour}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := start(t, func(c *testserver.Config) { c.Policy = gates })
	id, digest := w.asks("mail", letter)
	p := w.get(alice, "/ui/approvals/"+id)
	w.has(p, http.StatusOK, []string{`value="ask_once">Approve, and don't ask again for exactly this`, "in this context, for 1h."})
	w.safe("approval", p)
	if p := w.decide(alice, id, url.Values{"decision": {"approve"}, "digest": {digest}, "grant": {"", "ask_once"}}); p.status != http.StatusSeeOther {
		t.Fatalf("ask once = %d: %s", p.status, p.body)
	}
	w.settled(id, a2a.TaskStateCompleted)
	w.has(w.get(alice, "/ui/grants"), http.StatusOK, []string{"mail with body", "in the same context"}, "any subject")
}
