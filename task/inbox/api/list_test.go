package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
)

// many makes n tasks of alice, each with a call of pay and one of ship.
func (w *world) many(n int) (ids []string) {
	w.t.Helper()
	as := w.As(alice)
	for i := range n {
		task := as.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"calls": []any{call("pay", float64(i)), call("ship", float64(i))}})))
		for _, a := range as.Pending(task) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// list reads all pages of a query.
func (w *world) list(by auth.Principal, query string) (all []client.Approval) {
	w.t.Helper()
	for cursor := ""; ; {
		page := into[client.ApprovalPage](w.get(by, "/approvals?"+query+"&cursor="+url.QueryEscape(cursor)).want(200))
		all = append(all, page.Items...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// Every filter pages through its approvals, each exactly once and in order.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.many(110)
	for i := 0; i < len(ids); i += 6 { // of each sixth approval the deadline moves
		a := into[client.ApprovalDetail](w.get(olga, "/approvals/"+ids[i]).want(200)).Approval
		w.post(olga, "/approvals/"+a.ID+"/extension", client.Extension{Digest: a.Digest, Until: a.Deadline.Add(time.Duration(i+1) * time.Second)}).want(200)
	}
	only := func(all []string, tool string) (some []string) {
		for i, id := range all {
			if (i%2 == 0) == (tool == "pay") {
				some = append(some, id)
			}
		}
		return some
	}
	for query, want := range map[string][]string{
		"": ids, "state=pending": ids, "limit=7": ids, "limit=200": ids, "order=time&limit=100": ids,
		"tool=pay&limit=7": only(ids, "pay"), "gate=ship&limit=20": only(ids, "ship"), "gate=none": nil, "tool=pay&gate=ship": nil,
		"mine=true&limit=33": ids, "order=deadline&limit=7": ids, "order=deadline&tool=ship&mine=true&limit=200": only(ids, "ship"),
		"state=settled": nil, "state=approved": nil, "task=" + ids[0][:36]: ids[:2], "task=" + ids[0][:36] + "&state=pending&tool=ship": ids[1:2],
	} {
		got := w.list(olga, query)
		var seen []string
		for i, a := range got {
			seen = append(seen, a.ID)
			if !a.May.Decide || !a.May.Extend {
				t.Errorf("%s: olga may %+v", query, a.May)
			}
			if strings.Contains(query, "deadline") && i > 0 && a.Deadline.Before(*got[i-1].Deadline) {
				t.Errorf("%s: %s is due before the one before", query, a.ID)
			}
		}
		if !strings.Contains(query, "task") && !strings.Contains(query, "deadline") && !slices.IsSortedFunc(got, func(a, b client.Approval) int { return a.Requested.Compare(b.Requested) }) {
			t.Errorf("%s is not in order", query)
		}
		slices.Sort(seen)
		expected := slices.Clone(want)
		if slices.Sort(expected); !slices.Equal(seen, expected) {
			t.Errorf("%s has %d approvals, want %d", query, len(seen), len(expected))
		}
	}

	half := slices.Clone(ids[:110])
	for _, id := range half {
		a := into[client.ApprovalDetail](w.get(olga, "/approvals/"+id).want(200)).Approval
		d := client.Decision{Decision: client.Reject, Digest: a.Digest}
		w.post(olga, decisionOf(a), d).want(200)
	}
	for query, want := range map[string]int{
		"": 110, "state=settled&limit=7": 110, "state=rejected&limit=100": 110, "state=rejected&tool=pay&limit=7": 55, "state=settled&tool=ship&gate=ship": 55, "state=expired": 0,
		"state=settled&tool=none": 0,
	} {
		got := w.list(olga, query)
		unique := map[string]bool{}
		for _, a := range got {
			unique[a.ID] = true
		}
		if len(got) != want || len(unique) != want {
			t.Errorf("%q has %d approvals, %d of them different, want %d", query, len(got), len(unique), want)
		}
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=x", "state=none", "order=none", "mine=1", "mine=true&state=settled", "order=deadline&state=settled", "order=deadline&task=x", "cursor=x", "order=deadline&cursor=x", "none=1", "tool=a&tool=b", "state=pending;tool=x"} {
		w.get(olga, "/approvals?"+query).problem(400, client.ReasonInvalid)
	}
	// A foreign cursor is refused, and a colleague's continues the caller's own list.
	next := into[client.ApprovalPage](w.get(olga, "/approvals?limit=1").want(200)).Next
	w.get(mallory, "/approvals?cursor="+url.QueryEscape(next)).problem(400, client.ReasonInvalid)
	own := into[client.ApprovalPage](w.get(cfo, "/approvals?limit=2").want(200)).Items[1]
	if got := into[client.ApprovalPage](w.get(cfo, "/approvals?limit=1&cursor="+url.QueryEscape(next)).want(200)).Items[0]; got.ID != own.ID {
		t.Errorf("with olga's cursor, cfo gets %s, want %s", got.ID, own.ID)
	}
}

// Everybody sees what their roles in docs/security.md say, and decides no more.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bob := member("bob", auth.RoleRequester)
	one, other := w.ask(alice, "/pay amount=5 iban=DE1")[0], w.ask(bob, "/pay amount=6 iban=DE2")[0]
	for _, tc := range []struct {
		by             auth.Principal
		seen           int // approvals; -1: refused
		decides        bool
		masked         bool // the detail of alice's approval
		tasks, reading int  // listed, and the status of alice's task
	}{
		{by: alice, seen: 1, decides: true, tasks: 1, reading: 200},
		{by: bob, seen: 1, tasks: 1, reading: 404},
		{by: olga, seen: 2, decides: true, tasks: -1, reading: 403},
		{by: vera, seen: 2, masked: true, tasks: 2, reading: 200},
		{by: pete, seen: 2, masked: true, tasks: 2, reading: 200},
		{by: root, seen: -1, tasks: -1, reading: 403},
		{by: mallory, seen: 0, tasks: 0, reading: 404},
		{by: member("viewing requester", auth.RoleViewer, auth.RoleRequester), seen: 2, masked: true, tasks: 2, reading: 200},
		{by: member("nothing"), seen: -1, tasks: -1, reading: 403},
		{by: member("other", "cfo"), seen: -1, tasks: -1, reading: 403},
	} {
		list := w.get(tc.by, "/approvals")
		if tc.seen < 0 {
			list.problem(403, client.ReasonRole)
			w.get(tc.by, "/approvals/"+one.ID).problem(403, client.ReasonRole)
		} else {
			page := into[client.ApprovalPage](list.want(200))
			if len(page.Items) != tc.seen {
				t.Errorf("%s sees %d approvals, want %d", tc.by.Subject, len(page.Items), tc.seen)
			}
			for _, a := range page.Items {
				if !a.Masked || !strings.Contains(string(a.Arguments), "•••") || strings.Contains(string(list.raw), "DE1") {
					t.Errorf("%s sees %s in a list", tc.by.Subject, a.Arguments)
				}
			}
			detail := w.get(tc.by, "/approvals/"+one.ID)
			if tc.seen == 0 || tc.by.Subject == "bob" {
				detail.problem(404, client.ReasonNotFound)
			} else {
				d := into[client.ApprovalDetail](detail.want(200))
				if d.Approval.Masked != tc.masked || tc.masked == strings.Contains(string(d.Approval.Arguments), "DE1") || tc.masked == strings.Contains(string(d.Run.Arguments), "DE1") || d.May.Decide != tc.decides {
					t.Errorf("%s sees %s and %s, and may %+v", tc.by.Subject, d.Approval.Arguments, d.Run.Arguments, d.May)
				}
			}
		}
		tasks := w.get(tc.by, "/tasks")
		if tc.tasks < 0 {
			tasks.problem(403, client.ReasonRole)
		} else if n := len(into[client.TaskPage](tasks.want(200)).Items); n != tc.tasks {
			t.Errorf("%s sees %d tasks, want %d", tc.by.Subject, n, tc.tasks)
		}
		w.get(tc.by, "/tasks/"+one.Task).want(tc.reading)
		me := into[client.WhoAmI](w.get(tc.by, "/whoami").want(200))
		if me.Caller.Subject != tc.by.Subject || me.May["review"] != (tc.seen >= 0) || me.Server == "" {
			t.Errorf("%s is %+v", tc.by.Subject, me)
		}
		if !tc.decides {
			if e := into[client.Error](w.post(tc.by, decisionOf(one), approve(one))); e.Status != 403 && e.Status != 404 {
				t.Errorf("%s decides: %+v", tc.by.Subject, e)
			}
		}
	}
	w.post(olga, decisionOf(other), approve(other)).want(200)
	w.As(bob).Wait(taskID(other), completed)
	ended := w.get(vera, "/tasks/"+other.Task).want(200)
	if d := into[client.TaskDetail](ended); len(d.Calls) != 1 || strings.Contains(string(d.Calls[0].Arguments)+string(d.Calls[0].Result), "DE2") || !strings.Contains(string(d.Calls[0].Result), `"done":6`) {
		t.Errorf("the call of the task: %+v", d.Calls)
	}
}

// The detail has what was said before the approval, without the questions of the server, and what
// became of the same before.
func TestDetail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 12 {
		w.Advance(time.Second)
		one := w.ask(alice, "/ship amount=7")[0]
		d := approve(one)
		if i%2 == 0 {
			d.Decision, d.Reason = client.Reject, fmt.Sprint("no ", i)
		}
		w.post(olga, decisionOf(one), d).want(200)
	}
	w.Advance(time.Second)
	other := w.ask(alice, "/ship amount=8")[0]
	w.post(olga, decisionOf(other), approve(other)).want(200)
	one := w.ask(alice, "/ship amount=7")[0]
	mine := into[client.ApprovalDetail](w.get(olga, "/approvals/"+one.ID).want(200))
	if len(mine.Before) != 10 || len(mine.Tool) != 10 || mine.Tool[0].ID != other.ID || mine.Before[0].State != client.Approved || mine.Before[1].Resolution.Reason != "no 10" {
		t.Errorf("before: %d %+v; tool: %d", len(mine.Before), mine.Before, len(mine.Tool))
	}
	for _, a := range append(mine.Before, mine.Tool...) {
		if a.Tool != "ship" || a.ID == one.ID || a.State == client.Pending {
			t.Errorf("history has %s of %s, %s", a.ID, a.Tool, a.State)
		}
	}
	if !strings.Contains(string(mine.Parameters), `"amount"`) || mine.Caller.Subject != "olga" || mine.Run == nil || mine.Run.State != "asked" {
		t.Errorf("the detail has the schema %s, the caller %+v, the call %+v", mine.Parameters, mine.Caller, mine.Run)
	}
	if len(mine.Conversation) != 1 || mine.Conversation[0] != (client.Message{Role: "user", ID: mine.Conversation[0].ID, Text: "/ship amount=7"}) {
		t.Errorf("conversation: %+v", mine.Conversation)
	}
	// What the client says afterwards is a part of it, the question itself is none.
	again := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("please hurry"))
	again.TaskID = taskID(one)
	w.As(alice).SendMessage(again)
	if d := into[client.ApprovalDetail](w.get(olga, "/approvals/"+one.ID).want(200)); len(d.Conversation) != 2 || d.Conversation[1].Text != "please hurry" {
		t.Errorf("conversation: %+v", d.Conversation)
	}
	if d := into[client.ApprovalDetail](w.get(mallory, "/approvals/"+one.ID)); len(d.Before) != 0 {
		t.Error("history of another tenant")
	}
	long := w.As(alice).Send("/ship amount=7 iban=" + strings.Repeat("ä", 5000))
	d := into[client.ApprovalDetail](w.get(olga, "/approvals/"+w.As(alice).Pending(long)[0].ID).want(200))
	if len(d.Conversation) != 1 || d.Conversation[0].Cut == 0 || len(d.Conversation[0].Text) > 8<<10 || !strings.HasSuffix(d.Conversation[0].Text, "ä") {
		t.Errorf("a long message: %+v", d.Conversation[0].Cut)
	}
}

// Tasks and calls are canceled, and tasks and webhooks deleted, by those who may.
func TestTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.askCalls(alice, call("pay", 1), call("ship", 2))
	task := "/tasks/" + all[0].Task
	detail := into[client.TaskDetail](w.get(alice, task).want(200))
	if len(detail.Calls) != 2 || len(detail.Approvals) != 2 || !detail.May.Cancel || detail.May.Delete || !detail.May.Send || detail.Calls[0].Approvals[0] != all[0].ID {
		t.Errorf("the task: %+v", detail)
	}
	if of := into[client.TaskDetail](w.get(pete, task).want(200)); !of.May.Cancel || of.May.Send {
		t.Errorf("pete may %+v", of.May)
	}
	w.post(vera, task+"/calls/"+all[1].Call+"/cancel", nil).problem(403, client.ReasonRole)
	w.post(mallory, task+"/calls/"+all[1].Call+"/cancel", nil).problem(404, client.ReasonNotFound)
	w.post(pete, task+"/calls/"+all[1].Call+"/cancel", nil).want(200)
	if s := w.state(all[1].ID); s != client.Canceled {
		t.Errorf("the approval of a canceled call is %s", s)
	}
	w.do(w.request(pete, "DELETE", task, nil)).problem(409, client.ReasonState)
	w.post(vera, task+"/cancel", nil).problem(403, client.ReasonRole)
	w.post(mallory, task+"/cancel", nil).problem(404, client.ReasonNotFound)
	w.post(pete, task+"/cancel", nil).want(200)
	w.post(pete, task+"/cancel", nil).want(200)
	done := w.ask(alice, "/ship amount=1")[0]
	w.post(olga, decisionOf(done), approve(done)).want(200)
	w.As(alice).Wait(taskID(done), completed)
	w.post(pete, "/tasks/"+done.Task+"/cancel", nil).problem(409, client.ReasonState)
	for query, want := range map[string]int{"": 2, "state=canceled": 1, "state=TASK_STATE_COMPLETED": 1, "state=input-required": 0, "principal=alice": 2, "principal=bob": 0, "context=" + done.Context: 1, "limit=1": 1} {
		if got := into[client.TaskPage](w.get(pete, "/tasks?"+query).want(200)); len(got.Items) != want {
			t.Errorf("%s: %d tasks, want %d", query, len(got.Items), want)
		}
	}
	w.get(pete, "/tasks?state=none").problem(400, client.ReasonInvalid)
	w.poll("deletable", func() bool { return w.do(w.request(pete, "DELETE", "/tasks/"+done.Task, nil)).status == 200 })
	w.get(pete, "/tasks/"+done.Task).problem(404, client.ReasonNotFound)
	w.get(olga, "/approvals/"+done.ID).problem(404, client.ReasonNotFound)
	hooks := into[client.WebhookPage](w.get(pete, "/webhooks").want(200))
	if !hooks.Off || hooks.Items == nil {
		t.Errorf("webhooks: %+v", hooks)
	}
	w.get(pete, "/webhooks?state=none").problem(400, client.ReasonInvalid)
	w.get(pete, "/webhooks?task=none").problem(404, client.ReasonNotFound)
	w.get(alice, "/webhooks").problem(403, client.ReasonRole)
	if got := into[struct{ Deleted bool }](w.do(w.request(pete, "DELETE", task+"/webhooks/none?number=1", nil)).want(200)); got.Deleted {
		t.Error("a webhook that is not there was deleted")
	}
}

// What was made without authentication is for admins, who say so.
func TestAnonymousParameter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask(alice, "/ship amount=1")
	for _, path := range []string{"/approvals", "/tasks", "/webhooks"} {
		w.get(olga, path+"?anonymous=true").problem(403, client.ReasonRole)
		if got := into[struct{ Items []json.RawMessage }](w.get(root, path+"?anonymous=true").want(200)); len(got.Items) != 0 {
			t.Errorf("%s has %s", path, got.Items)
		}
		w.get(root, path+"?anonymous=yes").problem(400, client.ReasonInvalid)
	}
}

// Of many people who decide one approval at once exactly one decides, and the others are told who.
func TestManyDecideAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.ask(alice, "/ship amount=5")[0]
	var mu sync.Mutex
	won, statuses := 0, map[int]int{}
	var all sync.WaitGroup
	for i := range 20 {
		by := member(fmt.Sprint("olga", i), auth.RoleApprover)
		all.Go(func() {
			d := approve(one)
			if i%2 == 0 {
				d.Decision = client.Reject
			}
			got := w.post(by, decisionOf(one), d)
			mu.Lock()
			defer mu.Unlock()
			if statuses[got.status]++; got.status == 200 && !into[client.Decided](got).Already {
				won++
			}
		})
	}
	all.Wait()
	if won != 1 || statuses[200]+statuses[409] != 20 || statuses[200] != 10 {
		t.Errorf("%d have decided; statuses %v", won, statuses)
	}
	if s := approval.State(w.state(one.ID)); s != approval.Approved && s != approval.Rejected {
		t.Errorf("the approval is %s", s)
	}
}
