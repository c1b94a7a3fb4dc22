package api_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/testserver"
	"a2a-server/tool"
)

// gatesFile returns a world whose gates are in a file, and a function that replaces and reloads them.
func gatesFile(t *testing.T, gates string, tools ...tool.Tool) (*world, func(gates string)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	write := func(gates string) {
		if err := os.WriteFile(file, []byte("gates:\n"+gates), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(gates)
	w := newWorld(t, func(c *testserver.Config) {
		c.Policy, c.File = nil, file
		if len(tools) > 0 {
			c.Tools = []tool.Toolset{tool.NewToolset("shop", tools...)}
		}
	})
	return w, func(gates string) {
		t.Helper()
		write(gates)
		if err := w.Reload(); err != nil {
			t.Fatal(err)
		}
	}
}

// An approver asks a pending approval anew where the gates of now demand more: on these terms and its own,
// without its votes. Nobody else does, and not where they demand nothing more.
func TestAskAnew(t *testing.T) {
	t.Parallel()
	const two, finance = "  - {tool: pay, name: two, people: 2, four_eyes: true, mask: [/iban]}\n", "  - {tool: pay, name: finance, approvers: {roles: [cfo]}, hint: 'Pay {iban}?'}\n"
	w, reload := gatesFile(t, two)
	one := w.ask(alice, "/pay amount=5 iban=DE1")[0]
	path, x := "/approvals/"+one.ID, client.Anew{Digest: one.Digest}
	w.post(olga, decisionOf(one), approve(one)).want(202) // her vote
	stricter := func(by auth.Principal) []string {
		t.Helper()
		return into[client.ApprovalDetail](w.get(by, path).want(200)).Stricter
	}
	for gates, says := range map[string]string{
		"  - {tool: pay, name: other}\n":                           "demand nothing more now",
		"  - {tool: pay, action: deny, when: args.nothing == 1}\n": "a gate denies the call now: reject it", // it counts as true, and ends nothing
	} {
		reload(gates)
		if e := w.post(olga, path+"/anew", x).problem(403, client.ReasonNotAllowed); len(stricter(olga)) > 0 || !strings.Contains(e.Detail, says) || w.state(one.ID) != client.Pending {
			t.Errorf("with %s it is refused as %q, and the gates demand %q", gates, e.Detail, stricter(olga))
		}
	}
	reload(finance)
	if more := stricter(olga); !slices.Equal(more, []string{"votes: 2 different people, 1 of role cfo"}) {
		t.Errorf("the gates demand %q", more)
	}
	for _, by := range []auth.Principal{vera, alice, pete} {
		if more := stricter(by); len(more) > 0 {
			t.Errorf("%s, who may not decide, reads %q", by.Subject, more)
		}
	}
	service := olga
	service.Kind = auth.KindService
	w.post(mallory, path+"/anew", x).problem(404, client.ReasonNotFound)
	w.post(vera, path+"/anew", x).problem(403, client.ReasonRole)
	w.post(pete, path+"/anew", x).problem(403, client.ReasonRole)
	w.post(alice, path+"/anew", x).problem(403, client.ReasonNotAllowed)
	w.post(service, path+"/anew", x).problem(403, client.ReasonNotAllowed)
	w.post(olga, path+"/anew", client.Anew{Digest: "other"}).problem(412, client.ReasonChanged)
	w.post(olga, path+"/anew", map[string]any{}).problem(400, client.ReasonInvalid)

	next := into[client.Decided](w.post(olga, path+"/anew", x).want(200)).Approval
	if next.State != client.Pending || next.Supersedes != one.ID || next.Gate != "finance" || next.Votes.Have != 0 || next.Votes.Missing != "2 more, 1 of role cfo" {
		t.Errorf("asked anew: %+v, %+v", next, next.Votes)
	}
	if seen := into[client.ApprovalDetail](w.get(vera, "/approvals/"+next.ID).want(200)); strings.Contains(seen.Approval.Hint, "DE1") || strings.Contains(string(seen.Approval.Arguments), "DE1") || len(seen.Gates) != 2 {
		t.Errorf("a viewer reads %q, %s of the gates %+v", seen.Approval.Hint, seen.Approval.Arguments, seen.Gates)
	}
	old := into[client.ApprovalDetail](w.get(olga, path).want(200)).Approval
	if old.State != client.Superseded || old.Resolution.By.Subject != "olga" || old.Resolution.Via != "api" || !strings.Contains(old.Resolution.Reason, "asked anew") {
		t.Errorf("the approval before is %s, %+v", old.State, old.Resolution)
	}
	var audited []string
	for _, e := range into[client.AuditPage](w.get(vera, "/audit?limit=1000").want(200)).Items {
		if e.Approval == one.ID || e.Approval == next.ID {
			by := ""
			if e.By != nil {
				by = e.By.Subject
			}
			audited = append(audited, strings.Join([]string{e.What, string(e.State), by, e.Via, e.Reason}, " "))
		}
	}
	if want := []string{"asked  alice  ", "voted  olga api ", "resolved superseded olga api " + old.Resolution.Reason, "asked  alice  "}; !slices.Equal(audited, want) {
		t.Errorf("the audit has %q, want %q", audited, want)
	}
	for range 2 { // pressed twice
		if e := w.post(olga, path+"/anew", x).problem(409, client.ReasonConflict); e.Approval == nil || e.Approval.State != client.Superseded {
			t.Errorf("the second time: %+v", e)
		}
	}
	w.post(cfo, decisionOf(one), approve(one)).problem(412, client.ReasonChanged)
	w.post(cfo, decisionOf(*next), approve(*next)).want(202)
	w.post(olga, decisionOf(*next), approve(*next)).want(200)
	w.post(olga, "/approvals/"+next.ID+"/anew", x).problem(409, client.ReasonConflict)
}
