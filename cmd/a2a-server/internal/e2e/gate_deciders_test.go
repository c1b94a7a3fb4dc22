package e2e_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/task/engine"
)

// A plain gate of one tool takes nothing from what a gate of all tools demands: the requester
// does not approve alone, in no way, and it takes approvers of both.
func TestGatesOfAFileTogether(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	key := newKey(t, file, apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{auth.RoleRequester, auth.RoleApprover, "finance", "sre"}})
	c, _ := configured(t, fmt.Sprintf(`
auth:
  keys: {file: %q}
  socket: [{uid: 54321, subject: ops, tenant: acme, roles: [approver]}]
gates:
  - {tool: "*", four_eyes: true, approvers: {roles: [sre]}, allowed: [approve, reject]}
  - {tool: transfer_money, approvers: {roles: [finance]}, allowed: [approve, edit]}
`, file)+doorFor("uid: 54321"))
	in := start(t, c)
	asked, said := in.sendAs(t, message("m1", "/transfer_money amount=1 to=x"), "X-API-Key", key)
	id := asked.ID + ".a1"
	if _, said := in.sendAs(t, approve("m2", asked.ID, id), "X-API-Key", key); !strings.Contains(said, "APPROVAL_NOT_ALLOWED") {
		t.Errorf("the requester approves over A2A: %s; asked %s", said, asked.ID)
	}
	member := func(name string, roles ...string) auth.Principal {
		return auth.Principal{Tenant: "acme", Subject: "key:" + name, Roles: append(roles, auth.RoleApprover), Method: "key"}
	}
	all := in.server.Approvals()
	for _, tc := range []struct {
		by   auth.Principal
		want string // barred by
	}{
		{member("alice", "finance", "sre"), approval.BarredFourEyes},
		{member("bob", "legal"), approval.BarredApprovers},
		{member("bob", "finance"), ""}, // a vote
		{member("carl", "finance"), approval.BarredApprovers},
	} {
		err := all.Decide(t.Context(), tc.by, approval.Decision{ID: id, Type: approval.Approve})
		if tc.want == "" && err == nil {
			continue
		}
		if refused := (*approval.Error)(nil); !errors.As(err, &refused) || refused.Barred != tc.want {
			t.Errorf("%s with %v decides: %v, want barred by %s; asked: %s", tc.by.Subject, tc.by.Roles, err, tc.want, said)
		}
	}
	both := member("bob", "finance", "sre")
	err := all.Decide(t.Context(), both, approval.Decision{ID: id, Type: approval.Edit, Args: []byte(`{"amount":2,"to":"x"}`)})
	if refused := (*approval.Error)(nil); !errors.As(err, &refused) || refused.Barred != "" {
		t.Errorf("a decision that one of the gates does not allow: %v", err)
	}
	if a, err := all.Get(t.Context(), both, id); err != nil || a.State != approval.Pending || len(a.Votes) != 1 {
		t.Errorf("before the vote of the other gate: %+v, %v", a, err)
	}
	both.Subject = "key:dora"
	if err := all.Decide(t.Context(), both, approval.Decision{ID: id, Type: approval.Approve}); err != nil {
		t.Errorf("an approver of both: %v", err)
	}
	if a, err := all.Get(t.Context(), both, id); err != nil || a.State != approval.Approved {
		t.Errorf("after both: %+v, %v", a, err)
	}
}

// Who decides what, as the file of a server says: over A2A only the owner, and a service only
// with delegated_decisions; through the approvals the approvers of the tenant whom the gate
// names, and no second name of who asked.
func TestDecidersOfAFile(t *testing.T) {
	t.Parallel()
	for _, delegated := range []bool{false, true} {
		t.Run(fmt.Sprintf("delegated %t", delegated), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "keys.yaml")
			keys := map[string]string{}
			for _, k := range []apikey.Key{
				{ID: "alice", Person: "alice@example.com", Tenant: "acme", Roles: []string{auth.RoleRequester}},
				{ID: "bob", Tenant: "acme", Roles: []string{auth.RoleRequester, auth.RoleApprover, "sre"}},
				{ID: "robot", Kind: auth.KindService, Tenant: "acme", Roles: []string{auth.RoleRequester}},
			} {
				keys[k.ID] = newKey(t, file, k)
			}
			c, _ := configured(t, fmt.Sprintf(`
auth:
  keys: {file: %q}
  delegated_decisions: %t
  socket: [{uid: 54321, subject: ops, tenant: acme, roles: [approver]}]
gates:
  - {tool: transfer_money, four_eyes: true, approvers: {roles: [sre], subjects: ["key:second"]}}
  - {tool: echo}
`, file, delegated)+doorFor("uid: 54321"))
			in := start(t, c)
			send := func(who string, params map[string]any) (taskAnswer, string) {
				return in.sendAs(t, params, "X-API-Key", keys[who])
			}
			asks := func(who, id, text string) string {
				got, said := send(who, message(id, text))
				if !settled(said) || got.Status.State == "TASK_STATE_COMPLETED" {
					t.Fatalf("%s: %s", text, said)
				}
				return got.ID
			}
			principal := func(subject, person string, roles ...string) auth.Principal {
				return auth.Principal{Tenant: "acme", Subject: subject, Person: person, Roles: roles, Method: "key"}
			}

			own := asks("robot", "m1", "/transfer_money amount=1 to=x")
			_, said := send("robot", approve("m2", own, own+".a1"))
			if !strings.Contains(said, "APPROVAL_NOT_ALLOWED") {
				t.Errorf("the A2A client decides under four eyes: %s", said)
			}
			plain := asks("robot", "m3", "/echo a")
			_, said = send("robot", approve("m4", plain, plain+".a1"))
			if refused := strings.Contains(said, "delegated_decisions"); refused == delegated {
				t.Errorf("a service decides its own: %s", said)
			}

			asked := asks("alice", "m5", "/transfer_money amount=2 to=y")
			answer := approval.Decision{ID: asked + ".a1", Type: approval.Approve}
			_, foreign := send("bob", approve("m6", asked, answer.ID))
			_, missing := send("bob", approve("m6", "019b7c00-0000-7000-8000-0000ffffffff", "019b7c00-0000-7000-8000-0000ffffffff.a1"))
			if foreign != missing || !strings.Contains(foreign, "TASK_NOT_FOUND") {
				t.Errorf("an approver over A2A is told %s, of a missing task %s", foreign, missing)
			}
			all := in.server.Approvals()
			for name, tc := range map[string]struct {
				by   auth.Principal
				want string
			}{
				"the requester":                  {principal("key:alice", "alice@example.com", auth.RoleRequester), approval.BarredApprovers},
				"the requester's other name":     {principal("key:second", "alice@example.com", auth.RoleApprover), approval.BarredFourEyes},
				"an approver not in the rule":    {principal("key:dora", "", auth.RoleApprover), approval.BarredApprovers},
				"a namesake in another tenant":   {auth.Principal{Tenant: "other", Subject: "key:bob", Roles: append(auth.Roles(), "sre"), Method: "key"}, ""},
				"an approver without a tenant":   {auth.Principal{Subject: "key:bob", Roles: append(auth.Roles(), "sre"), Method: "key"}, ""},
				"nobody":                         {auth.Principal{}, ""},
				"anonymous of an older server":   {auth.Anonymous(), ""},
				"one who claims to be of theirs": {auth.Principal{Tenant: "acme", Subject: "anonymous", Roles: append(auth.Roles(), "sre"), Method: "key"}, ""},
			} {
				err := all.Decide(t.Context(), tc.by, answer)
				var barred string
				if e, ok := err.(*approval.Error); ok { //nolint:errorlint // the contract is this very type
					barred = e.Barred
				}
				if err == nil || barred != tc.want {
					t.Errorf("%s: Decide() = %v, barred by %q, want %q", name, err, barred, tc.want)
				}
			}
			bob := principal("key:bob", "", auth.RoleApprover, "sre")
			page, err := all.List(t.Context(), bob, engine.ApprovalQuery{Task: asked})
			if err != nil || len(page.Approvals) != 1 || page.Approvals[0].Requester.Person != "alice@example.com" || page.Approvals[0].Terms.Approvers == nil {
				t.Fatalf("List() = %+v, %v", page, err)
			}
			if err := all.Decide(t.Context(), bob, answer); err != nil {
				t.Fatal(err)
			}
			if n := len(in.log.find("decision refused")); n < 4 {
				t.Errorf("%d lines say that a decision was refused", n)
			}
			if got, err := all.Get(t.Context(), bob, answer.ID); err != nil || got.Resolution.By.Subject != "key:bob" || got.Requester.Subject != "key:alice" {
				t.Errorf("Get() = %+v, %v", got, err)
			}
		})
	}
}
