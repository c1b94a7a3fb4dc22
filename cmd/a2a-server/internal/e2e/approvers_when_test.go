package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
)

// The arguments of a call say who may decide it, wherever that is asked, for an edited call, too,
// and after a reload and a restart. If nobody can tell, nobody may.
func TestApproversByArguments(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{}`, `[{tool: transfer_money, name: region, mask: [/to], approvers: {roles: [approver], when: "args.to.endsWith('!') ? args.memo == '' : args.to in decider.roles"}}]`)
	const refusal = `it (gate \"region\") is for its approvers (role approver for whom args.to.endsWith('!') ? args.memo == '' : args.to in decider.roles)`
	task := v.asks("m1", "finance")
	id := task + ".a1"
	for who, may := range map[string]bool{"bob": true, "carl": false, "alice": false} {
		_, mine := v.do(t, http.MethodGet, "/api/v1/approvals?mine=true", "", v.header(who)...)
		if d := v.detail(who, id); d.May.Decide != may || strings.Contains(mine, id) != may || strings.Contains(string(d.Approval.Arguments), "finance") != (may || who == "alice") {
			t.Errorf("%s sees %+v of %s; theirs are %s", who, d.May, d.Approval.Arguments, mine)
		}
	}
	if _, text := v.do(t, http.MethodGet, "/tasks/"+task, "", v.header("alice")...); !strings.Contains(text, "somebody with the role approver for whom args.to") || strings.Contains(text, "adk_request_confirmation") {
		t.Errorf("the client reads %s", text)
	}
	v.want("carl", id, client.Approve, http.StatusForbidden, refusal)
	for _, to := range []string{"legal", "x!", "finance"} {
		got, said := v.decide("bob", id, client.Decision{Decision: client.Edit, Arguments: json.RawMessage(`{"amount":2,"to":"` + to + `"}`)})
		if may := to == "finance"; may != (got == http.StatusOK) || may == strings.Contains(said, "the edited call") {
			t.Fatalf("an edit to %s: %d %s", to, got, said)
		}
	}
	until(t, "the end of the task", func() bool { return v.state(task) == "TASK_STATE_COMPLETED" })

	fails, late := v.asks("m2", "x!")+".a1", v.asks("m3", "legal")+".a1"
	config, err := os.ReadFile(v.config.File)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(config), "gates:")
	rewrite(t, v.config.File, before+"gates: []\n")
	for _, change := range []func(){func() { v.reload(t) }, func() { v.halt(t); v.instance = start(t, v.config) }} {
		change()
		v.want("bob", fails, client.Approve, http.StatusForbidden, refusal)
		v.want("bob", late, client.Approve, http.StatusForbidden, refusal)
	}
	// Carl is of legal no longer when his decision is committed.
	carl := auth.Principal{Tenant: "acme", Subject: "key:carl", Roles: []string{auth.RoleApprover}, Method: "api_key"}
	all, was := v.server.Approvals().Renewing(func(context.Context) (auth.Principal, error) { return carl, nil }), carl
	was.Roles = []string{auth.RoleApprover, "legal"}
	if err := all.Decide(t.Context(), was, approval.Decision{ID: late, Type: approval.Approve}); err == nil || !strings.Contains(err.Error(), "for whom") {
		t.Errorf("a decision whose role goes before its commit: %v", err)
	}
	v.want("carl", late, client.Approve, http.StatusOK)
}
