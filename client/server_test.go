package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/client"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// Every operation, against a server.
func TestServer(t *testing.T) {
	t.Parallel()
	type payment struct {
		Amount int `json:"amount"`
	}
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Description: "Pays", RequireApproval: true}, func(_ tool.Context, p payment) (int, error) { return p.Amount, nil }))
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("test", pay)}})
	c, err := client.New(client.Config{URL: s.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if me, err := c.WhoAmI(ctx); err != nil || me.Caller.Subject != "anonymous" || !me.May["decide"] {
		t.Errorf("WhoAmI() = %+v, %v", me, err)
	}
	events := make(chan client.Event)
	go func() {
		defer close(events)
		for e, err := range c.Watch(ctx, "") {
			if err != nil {
				return
			}
			events <- e
		}
	}()
	if first := <-events; first.ID == "" || first.Entry.N != 0 || first.Reset {
		t.Errorf("the feed begins with %+v", first)
	}
	type part struct {
		Text string `json:"text"`
	}
	message := map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []part{{"/no such tool"}}}
	if answer, err := c.SendMessage(ctx, map[string]any{"message": message}); err != nil || !strings.Contains(string(answer), "unknown tool") {
		t.Errorf("SendMessage() = %s, %v", answer, err)
	}
	message["taskId"] = "none"
	var unsent *client.Error
	if _, err := c.SendMessage(ctx, map[string]any{"message": message}); !errors.As(err, &unsent) || unsent.Reason != "TASK_NOT_FOUND" || unsent.Detail != "task not found" {
		t.Errorf("SendMessage() to no task = %v", err)
	}
	one, two, three := s.Send("/pay amount=1"), s.Send("/pay amount=2"), s.Send("/pay amount=3")
	var asked []string
	var last string
	for len(asked) < 3 {
		if e := <-events; e.Entry.What == "asked" {
			asked, last = append(asked, e.Entry.Approval), e.ID
		}
	}
	page, err := c.Approvals(ctx, client.ApprovalQuery{Tool: "pay", Limit: 2})
	if err != nil || len(page.Items) != 2 || page.Next == "" || page.Items[0].ID != asked[0] {
		t.Fatalf("Approvals() = %+v, %v", page, err)
	}
	d, err := c.Approval(ctx, asked[2])
	if err != nil || d.Approval.Task != string(three.ID) || !d.May.Decide {
		t.Fatalf("Approval() = %+v, %v", d, err)
	}
	until := d.Approval.Deadline.Add(time.Hour)
	if moved, err := c.Extend(ctx, asked[2], client.Extension{Digest: d.Approval.Digest, Until: until}); err != nil || !moved.Approval.Deadline.Equal(until) {
		t.Errorf("Extend() = %+v, %v", moved, err)
	}
	if _, err := c.AskAnew(ctx, asked[2], client.Anew{Digest: d.Approval.Digest}); !errors.As(err, new(*client.Error)) || !strings.Contains(err.Error(), "demand nothing more") {
		t.Errorf("AskAnew() = %v, want that the gates demand nothing more", err)
	}
	edit := client.Decision{Decision: client.Edit, Digest: d.Approval.Digest, Arguments: []byte(`{"amount":4}`)}
	for _, already := range []bool{false, true} {
		if done, err := c.Decide(ctx, asked[2], edit); err != nil || done.Already != already || done.Approval.State != client.Edited {
			t.Errorf("Decide() = %+v, %v", done, err)
		}
	}
	var refused *client.Error
	if _, err := c.Decide(ctx, asked[2], client.Decision{Decision: client.Reject, Digest: d.Approval.Digest}); !errors.As(err, &refused) || refused.Reason != client.ReasonConflict || refused.Approval == nil || refused.Approval.State != client.Edited {
		t.Errorf("another decision: %v", err)
	}
	results, err := c.DecideAll(ctx, []client.BatchDecision{
		{ID: asked[0], Decision: client.Decision{Decision: client.Approve, Digest: page.Items[0].Digest}},
		{ID: asked[1], Decision: client.Decision{Decision: client.Approve, Digest: "another"}},
	})
	if err != nil || len(results) != 2 || results[0].Decided == nil || results[1].Error == nil || results[1].Error.Reason != client.ReasonChanged {
		t.Errorf("DecideAll() = %+v, %v", results, err)
	}
	s.Wait(one.ID, a2a.TaskStateCompleted)
	s.Wait(three.ID, a2a.TaskStateCompleted)
	seen := 0
	for e, err := range c.TaskEvents(ctx, string(one.ID), "") { // it ends with the task
		if err != nil || e.ID == "" || len(e.Data) == 0 {
			t.Errorf("TaskEvents() = %+v, %v", e, err)
		}
		seen++
	}
	if seen < 3 {
		t.Errorf("the task has %d events", seen)
	}
	if err := errors.Join(c.CancelCall(ctx, string(two.ID), "c1.1")); err != nil {
		t.Error(err)
	}
	if err := c.CancelTask(ctx, string(s.Send("/pay amount=5").ID)); err != nil {
		t.Error(err)
	}
	if err := c.DeleteTask(ctx, string(one.ID)); err != nil {
		t.Error(err)
	}
	if _, err := c.Task(ctx, string(one.ID)); !errors.As(err, &refused) || refused.Reason != client.ReasonNotFound {
		t.Errorf("Task() of a deleted one = %v", err)
	}
	if tasks, err := c.Tasks(ctx, client.TaskQuery{State: "completed", Principal: "anonymous"}); err != nil || len(tasks.Items) != 1 || tasks.Items[0].ID != string(three.ID) {
		t.Errorf("Tasks() = %+v, %v", tasks, err)
	}
	if _, err := c.DeleteWebhook(ctx, string(three.ID), "none", 0); err != nil {
		t.Error(err)
	}
	if audit, err := c.Audit(ctx, 0, 10); err != nil || len(audit.Items) == 0 {
		t.Errorf("Audit() = %+v, %v", audit, err)
	}
	for e, err := range c.Watch(ctx, last) { // what has come since
		if err != nil || e.Reset || e.Entry.N == 0 {
			t.Errorf("Watch() after %s = %+v, %v", last, e, err)
		}
		break
	}
	cancel()
	for range events {
	}
}
