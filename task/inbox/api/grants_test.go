package api_test

import (
	"fmt"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/internal/testserver"
)

// withGrants lets approvers of ship grant later calls with any iban.
func withGrants(t *testing.T) func(*testserver.Config) {
	t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Tool: "ship", Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: approval.GrantScopes(), Uses: 5, Vary: []string{"/iban"}}}},
		{Tool: "pay"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *testserver.Config) { c.Policy = p }
}

// A person approves with a grant, sees it in words, and revokes it.
func TestGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withGrants(t))
	one := w.ask(alice, "/ship amount=5 iban=x")[0]
	if g := one.Grants; g == nil || len(g.Scopes) != 3 || g.Seconds != 86400 || g.Uses != 5 || len(g.Vary) != 1 {
		t.Errorf("an approve may grant %+v", g)
	}
	if other := w.ask(alice, "/pay amount=5")[0]; other.Grants != nil {
		t.Errorf("an approve of pay may grant %+v", other.Grants)
	}
	path := "/approvals/" + one.ID + "/decision"
	ask := func(g any) map[string]any {
		return map[string]any{"decision": "approve", "digest": one.Digest, "grant": g}
	}
	for name, g := range map[string]any{
		"no scope": map[string]any{}, "another scope": map[string]any{"scope": "once"}, "too long": map[string]any{"scope": "time", "seconds": 86401},
		"far too long": map[string]any{"scope": "time", "seconds": int64(1) << 62}, "negative": map[string]any{"scope": "time", "seconds": -1},
		"too often": map[string]any{"scope": "time", "uses": 6}, "another member": map[string]any{"scope": "time", "tools": "*"}, "another case": map[string]any{"Scope": "time"}, "a word": "time",
	} {
		t.Log(name)
		w.post(alice, path, ask(g)).problem(400, client.ReasonInvalid)
	}
	if e := w.post(alice, path, ask(map[string]any{"scope": "time", "seconds": 86401})).problem(400, client.ReasonInvalid); !strings.Contains(fmt.Sprint(e), "grant.seconds") {
		t.Errorf("too long: %+v, want its field, grant.seconds", e)
	}
	got := into[client.Decided](w.post(alice, path, ask(client.GrantRequest{Scope: "time", Seconds: 3600, Uses: 2})).want(200))
	id := got.Approval.Resolution.Grant
	if id == "" || got.Approval.State != client.Approved {
		t.Fatalf("decided: %+v", got.Approval)
	}
	w.post(alice, path, ask(client.GrantRequest{Scope: "time", Seconds: 3600, Uses: 2})).want(200) // the same again
	w.post(alice, path, ask(client.GrantRequest{Scope: "task"})).problem(409, client.ReasonConflict)
	if task := w.As(alice).Send("/ship amount=5 iban=y"); task.Status.State != completed {
		t.Errorf("the next call: %s", task.Status.State)
	}

	list := into[client.GrantPage](w.get(olga, "/grants").want(200)).Items
	if len(list) != 1 || list[0].ID != id || list[0].Used != 1 || !strings.HasPrefix(list[0].Words, "ship with amount 5, any iban, until ") || !strings.HasSuffix(list[0].Words, "1 of 2 used") {
		t.Errorf("olga sees %+v", list)
	}
	if got := into[client.GrantPage](w.get(mallory, "/grants").want(200)).Items; len(got) > 0 {
		t.Errorf("mallory sees %+v", got)
	}
	w.do(w.request(mallory, "DELETE", "/grants/"+id, nil)).problem(404, client.ReasonNotFound)
	w.do(w.request(vera, "DELETE", "/grants/"+id, nil)).problem(403, client.ReasonRole)
	w.do(w.request(olga, "DELETE", "/grants/"+id+"?reason="+strings.Repeat("x", approval.MaxReason+1), nil)).problem(400, client.ReasonInvalid)
	w.do(w.request(olga, "DELETE", "/grants/"+id+"?reason=enough", nil)).want(200)
	w.do(w.request(olga, "DELETE", "/grants/"+id, nil)).problem(404, client.ReasonNotFound)
	if again := w.ask(alice, "/ship amount=5 iban=z")[0]; again.State != client.Pending {
		t.Errorf("after the revocation the call is %s", again.State)
	}
	once := client.AskOnce()
	asks := w.ask(alice, "/ship amount=6 iban=x")[0]
	got = into[client.Decided](w.post(alice, "/approvals/"+asks.ID+"/decision", map[string]any{"decision": "approve", "digest": asks.Digest, "grant": once}).want(200))
	list = into[client.GrantPage](w.get(olga, "/grants").want(200)).Items
	if len(list) != 1 || list[0].ID != got.Approval.Resolution.Grant || list[0].Scope != "context" || !strings.HasPrefix(list[0].Words, `ship with amount 6, iban "x", in the same context, until `) {
		t.Errorf("asked once: olga sees %+v", list)
	}
	var whats []string
	for _, e := range into[client.AuditPage](w.get(olga, "/audit?limit=1000").want(200)).Items {
		if e.Grant == id {
			whats = append(whats, e.What)
		}
	}
	if strings.Join(whats, " ") != "resolved started finished grant_revoked" {
		t.Errorf("the audit says %v of the grant", whats)
	}
}
