package interop

import (
	"net/http"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// testRestart parks a task, restarts the server and approves. A client that follows
// at that moment sees its stream end, without an error, and comes back.
func testRestart(t *testing.T, p programs) {
	ctx, cancel := deadline(t)
	defer cancel()
	folder := t.TempDir()
	connect := func(s *server) client {
		return &sdkClient{url: s.url, binding: a2a.TransportProtocolJSONRPC, resolver: agentcard.NewResolver(&http.Client{})}
	}

	s := start(t, p.server, folder)
	c := connect(s)
	task, q := park(ctx, t, c, 6, "restart")
	f := follow(t, c.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}))
	if !f.step(t) {
		t.Fatal("the subscription ended at once")
	}
	// curl has seen all there is, and keeps the id of the last event.
	by := curlClient{curl: p.curl, url: s.url, rpc: true}
	resumed := by.stream(ctx, t, call("transfer_money", map[string]any{"amount": 7, "to": "resume"})).rest(t)
	s.stop(t)
	if f.step(t) {
		t.Errorf("an event after the server was told to end: %+v", f.story)
	}

	s = start(t, p.server, folder)
	w := world{client: connect(s), server: s}
	again := follow(t, w.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}))
	if !again.step(t) || again.state() != a2a.TaskStateInputRequired {
		t.Fatalf("after the restart the task is %q", again.state())
	}
	done := send(ctx, t, w.client, answer(task, decision(q.ID, "approve", nil)))
	wantState(t, done, a2a.TaskStateCompleted)
	for again.step(t) {
	}
	if again.state() != a2a.TaskStateCompleted {
		t.Errorf("the subscriber saw %v", again.states)
	}
	w.checkRuns(t, task, transfer{6, "restart"})

	// An id that another process has given is as good.
	by.url = s.url
	at := len(resumed) - 2
	rest := by.subscribe(ctx, t, taskOf(t, resumed[0]).ID, resumed[at-1].ID)
	for _, want := range resumed[at:] {
		if got, ok := rest.next(t); !ok || got != want {
			t.Errorf("resumed after the restart with %+v, want %+v", got, want)
		}
	}
}
