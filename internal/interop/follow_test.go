package interop

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// Somebody follows a task that waits, and sees what comes of a decision that was sent
// on another connection.
func playSubscribe(ctx context.Context, t *testing.T, w world) {
	task, q := park(ctx, t, w.client, 4, "subscribe")
	f := follow(t, w.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}))
	if !f.step(t) {
		t.Fatal("the subscription ended at once")
	}
	if diff := cmp.Diff(task.Status.Message, f.last); diff != "" {
		t.Errorf("the question in the task and in the snapshot (-task +snapshot):\n%s", diff)
	}
	done := send(ctx, t, w.client, answer(task, decision(q.ID, "approve", nil)))
	wantState(t, done, a2a.TaskStateCompleted)
	for f.step(t) {
	}
	want := []a2a.TaskState{a2a.TaskStateInputRequired, a2a.TaskStateWorking, a2a.TaskStateCompleted}
	if diff := cmp.Diff(want, f.states); diff != "" {
		t.Errorf("states that the subscriber saw (-want +got):\n%s", diff)
	}
	if f.chunks != 1 || f.text() != artifactText(t, done) {
		t.Errorf("the subscriber saw %d artifact events that say %q, want one that says %q", f.chunks, f.text(), artifactText(t, done))
	}
	w.checkRuns(t, task, transfer{4, "subscribe"})
}

// A client leaves a stream in its middle and comes back: the snapshot holds what it
// has missed, and the events continue after it. The stream is without end, so that it
// cannot be over before the client is back, and is ended by a cancel.
func playDisconnect(ctx context.Context, t *testing.T, w world) {
	m := call("stream", map[string]any{"chunks": 100000, "size": 16, "interval": "5ms"})
	before := follow(t, w.stream(ctx, &a2a.SendMessageRequest{Message: m}))
	before.until(t, "the tenth chunk", func() bool { return before.chunks == 10 })
	before.stop()

	after := follow(t, w.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: before.task}))
	if !after.step(t) || after.task != before.task || after.state() != a2a.TaskStateWorking {
		t.Fatalf("the subscription begins with task %s, %s; want %s, at work", after.task, after.state(), before.task)
	}
	if !strings.HasPrefix(after.text(), before.text()) {
		t.Errorf("the snapshot says %q, want it to begin with what was seen, %q", after.text(), before.text())
	}
	after.until(t, "ten more chunks", func() bool { return after.chunks == 10 })

	canceled, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: before.task})
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, canceled, a2a.TaskStateCanceled)
	for after.step(t) {
	}
	if after.state() != a2a.TaskStateCanceled {
		t.Errorf("the subscription ends with the task %s", after.state())
	}
	if got := artifactText(t, get(ctx, t, w.client, before.task)); got != after.text() {
		t.Errorf("the task says %d bytes, snapshot and events together %d, or others", len(got), len(after.text()))
	}
}
