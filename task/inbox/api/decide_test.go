package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/testserver"
)

// A decision is checked in the order that docs/approvals-api.md says, and each status has its
// reason.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/pay amount=5 iban=DE1")[0]
	path := decisionOf(one)
	other := client.Decision{Decision: client.Reject, Digest: one.Digest, Reason: "no"}

	w.post(nobody, path, approve(one)).problem(401, client.ReasonUnauthenticated)
	w.post(vera, path, approve(one)).problem(403, client.ReasonRole)
	w.post(mallory, path, approve(one)).problem(404, client.ReasonNotFound)
	w.post(olga, "/approvals/"+one.Task+".a9/decision", approve(one)).problem(404, client.ReasonNotFound)

	// After the person: the digest, by which those who may not decide could guess, and the content.
	large := w.ask(alice, "/pay amount=1001 iban=DE2")[0]
	stale := approve(large)
	stale.Digest = one.Digest
	if e := w.post(alice, decisionOf(large), stale).problem(403, client.ReasonNotAllowed); strings.Contains(e.Detail, large.Digest) {
		t.Errorf("the problem has the digest: %+v", e)
	}
	if e := w.post(olga, decisionOf(large), stale).problem(412, client.ReasonChanged); e.Approval == nil || e.Approval.Digest != large.Digest {
		t.Errorf("the problem has not the approval as it is: %+v", e.Approval)
	}
	wrong := approve(large)
	wrong.Arguments = json.RawMessage(`{}`)
	w.post(alice, decisionOf(large), wrong).problem(403, client.ReasonNotAllowed)
	e := w.post(olga, decisionOf(large), wrong).problem(400, client.ReasonInvalid)
	if len(e.Fields) != 1 || e.Fields[0].Field != "arguments" || strings.Contains(e.Detail, "args") || !strings.Contains(e.Detail, "arguments: ") {
		t.Errorf("the fields are %+v, the detail %q", e.Fields, e.Detail)
	}
	bad := client.Decision{Decision: client.Edit, Digest: large.Digest, Arguments: json.RawMessage(`{"amount":"much"}`)}
	if e := w.post(olga, decisionOf(large), bad).problem(400, client.ReasonInvalid); len(e.Fields) == 0 || e.Fields[0].Field != "arguments/amount" {
		t.Errorf("the fields are %+v", e.Fields)
	}
	w.post(olga, decisionOf(large), client.Decision{Decision: client.Respond, Digest: large.Digest, Response: json.RawMessage(`1`)}).problem(403, client.ReasonNotAllowed)
	w.post(olga, decisionOf(large), map[string]any{"decision": "maybe", "digest": large.Digest}).problem(400, client.ReasonInvalid)
	if e := w.post(olga, decisionOf(large), map[string]any{"decision": "approve"}).problem(400, client.ReasonInvalid); len(e.Fields) != 1 || e.Fields[0].Field != "digest" {
		t.Errorf("the fields are %+v", e.Fields)
	}

	list := into[client.ApprovalPage](w.get(olga, "/approvals?task="+large.Task)).Items[0]
	copied := client.Decision{Decision: client.Edit, Digest: large.Digest, Arguments: list.Arguments}
	if e := w.post(olga, decisionOf(large), copied).problem(400, client.ReasonInvalid); len(e.Fields) != 1 || e.Fields[0].Field != "arguments/iban" {
		t.Errorf("an edit of the arguments of a list: %+v", e)
	}

	done := into[client.Decided](w.post(olga, path, approve(one)).want(200))
	if done.Already || done.Approval.State != client.Approved || done.Approval.Resolution.By.Subject != "olga" || done.Caller.Subject != "olga" {
		t.Errorf("decided: %+v", done)
	}
	for _, by := range []auth.Principal{olga, cfo, alice} {
		if again := into[client.Decided](w.post(by, path, approve(one)).want(200)); !again.Already || again.Approval.Resolution.By.Subject != "olga" {
			t.Errorf("the same decision of %s: %+v", by.Subject, again)
		}
	}
	w.As(alice).Wait(taskID(one), completed)
	for _, d := range []client.Decision{other, {Decision: client.Approve, Digest: large.Digest}} {
		e := w.post(cfo, path, d).problem(409, client.ReasonConflict)
		if e.Approval == nil || e.Approval.Resolution == nil || e.Approval.Resolution.At.IsZero() || !strings.Contains(e.Detail, "olga") {
			t.Errorf("the problem says not who and when: %s, %+v", e.Detail, e.Approval)
		}
	}

	w.Advance(2 * time.Hour)
	w.poll("the deadline", func() bool {
		return into[client.ApprovalDetail](w.get(olga, "/approvals/"+large.ID)).Approval.State == client.Expired
	})
	stale.Reason = "late"
	w.post(olga, decisionOf(large), stale).problem(410, client.ReasonExpired)
}

// An edit that another gate asks about is decided, and its call waits for the approval that
// replaces it.
func TestEditThatNeedsAnotherApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/pay amount=5")[0]
	edit := client.Decision{Decision: client.Edit, Digest: one.Digest, Arguments: json.RawMessage(`{"amount": 6000}`)}
	got := into[client.Decided](w.post(olga, decisionOf(one), edit).want(http.StatusAccepted))
	if got.Approval.State != client.Superseded {
		t.Errorf("the edited approval is %s", got.Approval.State)
	}
	next := into[client.ApprovalPage](w.get(cfo, "/approvals?mine=true").want(200)).Items
	if len(next) != 1 || next[0].Supersedes != one.ID || string(next[0].Arguments) != `{"amount":6000}` || next[0].Gate != "cfo" || !next[0].FourEyes {
		t.Fatalf("the next approval: %+v", next)
	}
	if mine := into[client.ApprovalPage](w.get(olga, "/approvals?mine=true").want(200)).Items; len(mine) != 0 {
		t.Errorf("olga may decide %+v", mine)
	}
	into[client.Decided](w.post(cfo, decisionOf(next[0]), approve(next[0])).want(200))
	w.As(alice).Wait(taskID(one), completed)
}

// The decisions of one task count together or not at all; results are in the order of the
// decisions.
func TestBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.askCalls(alice, call("pay", 1), call("ship", 2), call("pay", 9000))
	second := w.ask(alice, "/ship amount=3")
	third := w.ask(alice, "/ship amount=4")
	batch := func(all ...client.Approval) []client.BatchDecision {
		var list []client.BatchDecision
		for _, a := range all {
			list = append(list, client.BatchDecision{ID: a.ID, Decision: approve(a)})
		}
		return list
	}
	send := func(by auth.Principal, list []client.BatchDecision) []client.BatchResult {
		t.Helper()
		got := into[struct{ Items []client.BatchResult }](w.post(by, "/decisions", map[string]any{"items": list}).want(200)).Items
		for i := range got {
			if len(got) != len(list) || got[i].ID != list[i].ID || (got[i].Error == nil) == (got[i].Decided == nil) {
				t.Fatalf("results %+v of %+v", got, list)
			}
		}
		return got
	}
	statuses := func(got []client.BatchResult) (all []int) {
		for _, r := range got {
			all = append(all, r.Status)
		}
		return all
	}
	state := func(a client.Approval) client.State {
		return into[client.ApprovalDetail](w.get(olga, "/approvals/"+a.ID).want(200)).Approval.State
	}

	got := send(olga, batch(first[0], second[0], first[2], first[1]))
	if s := statuses(got); !slices.Equal(s, []int{424, 200, 403, 424}) || got[0].Error.Reason != client.ReasonBatch || got[2].Error.Reason != client.ReasonNotAllowed {
		t.Fatalf("statuses %v: %+v", s, got)
	}
	if state(first[0]) != client.Pending || state(first[1]) != client.Pending || state(second[0]) != client.Approved {
		t.Error("a part of the decisions of a task counts, or a decision of another task does not")
	}

	none := batch(third[0], first[0], first[1])
	none[1].Digest = ""
	got = send(olga, none)
	if s := statuses(got); !slices.Equal(s, []int{200, 400, 424}) {
		t.Fatalf("statuses %v: %+v", s, got)
	}
	got = send(cfo, append(batch(first...), client.BatchDecision{ID: "nothing", Decision: approve(first[0])}, batch(second[0])[0]))
	if s := statuses(got); !slices.Equal(s, []int{200, 200, 200, 404, 200}) || !got[4].Decided.Already || got[0].Decided.Already {
		t.Fatalf("statuses %v: %+v", s, got)
	}
	twice := batch(second[0], second[0])
	twice[1].Decision.Decision = client.Reject
	if s := statuses(send(olga, twice)); slices.Contains(s, 200) {
		t.Errorf("contradictory decisions: %v", s)
	}

	if e := w.post(olga, "/decisions", map[string]any{"items": []any{}}).problem(400, client.ReasonInvalid); len(e.Fields) != 1 {
		t.Errorf("an empty batch: %+v", e)
	}
	w.post(olga, "/decisions", map[string]any{}).problem(400, client.ReasonInvalid)
	w.post(olga, "/decisions", map[string]any{"items": slices.Repeat(batch(second[0]), 101)}).problem(400, client.ReasonInvalid)
	send(olga, slices.Repeat(batch(second[0]), 100))
	w.post(olga, "/decisions", map[string]any{"items": []any{map[string]any{"id": second[0].ID, "decision": "approve", "digest": "d", "Reason": "x"}}}).problem(400, client.ReasonInvalid)
	w.post(olga, "/decisions", map[string]any{"items": []any{nil}}).problem(400, client.ReasonInvalid)
	w.post(vera, "/decisions", map[string]any{"items": batch(second[0])}).problem(403, client.ReasonRole)
	if s := statuses(send(mallory, batch(second[0], third[0]))); !slices.Equal(s, []int{404, 404}) {
		t.Errorf("approvals of another tenant: %v", s)
	}
}

// Services, and whoever acts for somebody, decide nothing unless the operator lets them.
func TestDelegatedDecisions(t *testing.T) {
	t.Parallel()
	robot := member("robot", auth.RoleApprover)
	robot.Kind = auth.KindService
	agent := member("olga", auth.RoleApprover)
	agent.Chain = []string{"agent"}
	for _, delegated := range []bool{false, true} {
		w := newWorld(t, func(c *testserver.Config) {
			if delegated {
				c.Set = map[string]string{"auth.delegated_decisions": "true"}
			}
		})
		for _, by := range []auth.Principal{robot, agent} {
			one := w.ask(alice, "/ship amount=5")[0]
			detail := into[client.ApprovalDetail](w.get(by, "/approvals/"+one.ID).want(200))
			if detail.May.Decide != delegated || delegated == (detail.May.WhyNot != "") {
				t.Errorf("delegated %t: %s may %+v", delegated, by.Subject, detail.May)
			}
			until := client.Extension{Digest: one.Digest, Until: one.Deadline.Add(time.Hour)}
			if !delegated {
				w.post(by, decisionOf(one), approve(one)).problem(403, client.ReasonNotAllowed)
				w.post(by, "/approvals/"+one.ID+"/extension", until).problem(403, client.ReasonNotAllowed)
				continue
			}
			w.post(by, "/approvals/"+one.ID+"/extension", until).want(200)
			w.post(by, decisionOf(one), approve(one)).want(200)
		}
	}
}

// Nobody who may not decide learns by an answer, or by equal approvals of their own, what a gate masks.
func TestGuesses(t *testing.T) {
	t.Parallel()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "pay", Terms: approval.Terms{Mask: []string{"/iban"}, Approvers: &approval.Approvers{Roles: []string{"cfo"}}, Elsewhere: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *testserver.Config) { c.Policy = p })
	eve := member("eve", auth.RoleRequester, auth.RoleViewer)
	asked := w.ask(alice, "/pay amount=5 iban=DE7")[0]
	own := w.ask(eve, "/pay amount=5 iban=DE7")[0]
	w.post(eve, "/tasks/"+own.Task+"/cancel", nil).want(200)
	if d := into[client.ApprovalDetail](w.get(eve, "/approvals/"+asked.ID).want(200)); len(d.Before) > 0 {
		t.Errorf("somebody who may not decide is told of an equal approval: %+v", d.Before)
	}
	for _, end := range []client.Decision{{Decision: client.Approve}, {Decision: client.Edit, Arguments: json.RawMessage(`{"amount":5,"iban":"DE8"}`)}, {Decision: client.Reject}} {
		one := w.ask(alice, "/pay amount=6 iban=DE7")[0]
		right := end
		right.Digest = one.Digest
		w.post(cfo, decisionOf(one), right).want(200)
		wrong := right
		wrong.Digest = "0"
		for _, guess := range []client.Decision{right, wrong} {
			w.post(olga, decisionOf(one), guess).problem(403, client.ReasonNotAllowed)
		}
	}
}
