package interop

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

func playCard(ctx context.Context, t *testing.T, w world) {
	card, err := w.card(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var interfaces []string
	for _, i := range card.SupportedInterfaces {
		if i.ProtocolVersion == w.version {
			interfaces = append(interfaces, string(i.ProtocolBinding)+" "+i.URL)
		}
	}
	if diff := cmp.Diff([]string{"JSONRPC " + w.server.url, "HTTP+JSON " + w.server.url, "GRPC " + w.server.grpc}, interfaces); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
	if c := card.Capabilities; !c.Streaming || !c.PushNotifications || !c.ExtendedAgentCard {
		t.Errorf("capabilities = %+v, want streaming, push and an extended card", c)
	}
	if !slices.ContainsFunc(card.Capabilities.Extensions, func(e a2a.AgentExtension) bool { return e.URI == extension && !e.Required }) {
		t.Errorf("extensions = %+v, want %s, not required", card.Capabilities.Extensions, extension)
	}
	if skills := skillsOf(card); slices.Contains(skills, "transfer_money") {
		t.Errorf("skills = %v, want none that only callers with a role have", skills)
	}
}

func playExtended(ctx context.Context, t *testing.T, w world) {
	card, err := w.extended(ctx)
	if err != nil {
		t.Fatal(err)
	}
	skills := skillsOf(card)
	for _, tool := range []string{"echo", "stream", "transfer_money"} {
		if !slices.Contains(skills, tool) {
			t.Errorf("skills = %v, want %s in it", skills, tool)
		}
	}
}

func skillsOf(card *a2a.AgentCard) []string {
	var ids []string
	for _, s := range card.Skills {
		ids = append(ids, s.ID)
	}
	return ids
}

func playDirect(ctx context.Context, t *testing.T, w world) {
	result, err := w.send(ctx, &a2a.SendMessageRequest{Message: text("What can you do?")})
	if err != nil {
		t.Fatal(err)
	}
	m, ok := result.(*a2a.Message)
	if !ok || m.Role != a2a.MessageRoleAgent || !strings.Contains(texts(m), "transfer_money") {
		t.Errorf("answer = %+v, want a message that lists the tools", result)
	}
	var told story
	told.tell(t, w.stream(ctx, &a2a.SendMessageRequest{Message: text("What can you do?")}))
	if told.result == nil || len(told.states) > 0 || !strings.Contains(texts(told.result), "transfer_money") {
		t.Errorf("stream = %+v, want a message that lists the tools, and no task", told)
	}
}

func playCall(ctx context.Context, t *testing.T, w world) {
	const said = "grüße, 世界 <&> \u2028 \"quoted\" \\ 🙂"
	for name, m := range map[string]*a2a.Message{
		"data": call("echo", map[string]any{"text": said}),
		"text": text("/echo " + said),
	} {
		task := send(ctx, t, w.client, m)
		wantState(t, task, a2a.TaskStateCompleted)
		if task.ID == "" || task.ContextID == "" {
			t.Errorf("by %s: task %q in context %q, want both named", name, task.ID, task.ContextID)
		}
		if len(task.Artifacts) != 1 || !says(task.Artifacts[0], said) {
			t.Errorf("by %s: artifacts = %+v, want one that says %q", name, task.Artifacts, said)
		}
		if diff := cmp.Diff(task, get(ctx, t, w.client, task.ID)); diff != "" {
			t.Errorf("by %s: the task when sent and when read (-sent +read):\n%s", name, diff)
		}
	}
}

// says reports whether an artifact holds a text: as text, or as a value in its data.
func says(a *a2a.Artifact, want string) bool {
	for _, p := range a.Parts {
		if p.Text() == want {
			return true
		}
		if object, ok := p.Data().(map[string]any); ok {
			for _, v := range object {
				if v == want {
					return true
				}
			}
		}
	}
	return false
}

func playStream(ctx context.Context, t *testing.T, w world) {
	var told story
	told.tell(t, w.stream(ctx, &a2a.SendMessageRequest{Message: text("/stream chunks=25 size=40 interval=1ms")}))
	want := []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted}
	if diff := cmp.Diff(want, told.states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if told.chunks != 25 || len(told.text()) != 25*40 || !told.closed {
		t.Errorf("%d chunks of %d bytes in all, the last one marked: %t; want 25 of 1000, marked", told.chunks, len(told.text()), told.closed)
	}
	task := get(ctx, t, w.client, told.task)
	if got := artifactText(t, task); got != told.text() || len(task.Artifacts) != 1 {
		t.Errorf("the task has %d artifacts that say %q; the stream said %q", len(task.Artifacts), got, told.text())
	}
}

func playImmediate(ctx context.Context, t *testing.T, w world) {
	result, err := w.send(ctx, &a2a.SendMessageRequest{
		Message: call("stream", map[string]any{"chunks": 100000, "size": 8, "interval": "10ms"}),
		Config:  &a2a.SendMessageConfig{ReturnImmediately: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	task, ok := result.(*a2a.Task)
	if !ok || task.Status.State.Terminal() {
		t.Fatalf("answer = %+v, want a task that has not ended", result)
	}
	canceled, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, canceled, a2a.TaskStateCanceled)
}

func playTwice(ctx context.Context, t *testing.T, w world) {
	m := call("transfer_money", map[string]any{"amount": 1, "to": "once"})
	first, second := send(ctx, t, w.client, m), send(ctx, t, w.client, m)
	if first.ID != second.ID {
		t.Errorf("the same message made the tasks %s and %s", first.ID, second.ID)
	}
	yes := answer(first, decision(asked(t, first).ID, "approve", nil))
	for range 2 {
		wantState(t, send(ctx, t, w.client, yes), a2a.TaskStateCompleted)
	}
	w.checkRuns(t, first, transfer{1, "once"})
}

func playUnknown(ctx context.Context, t *testing.T, w world) {
	for _, id := range []a2a.TaskID{"nothing", "01890a5d-ac96-774b-bcce-b302099a8057"} {
		_, err := w.get(ctx, &a2a.GetTaskRequest{ID: id})
		checkRefused(t, err, "TASK_NOT_FOUND", "")
		_, err = w.cancel(ctx, &a2a.CancelTaskRequest{ID: id})
		checkRefused(t, err, "TASK_NOT_FOUND", "")
		err = lastError(w.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: id}))
		checkRefused(t, err, "TASK_NOT_FOUND", "")
		m := text("/echo hello")
		m.TaskID = id
		_, err = w.send(ctx, &a2a.SendMessageRequest{Message: m})
		checkRefused(t, err, "TASK_NOT_FOUND", "")
		err = lastError(w.stream(ctx, &a2a.SendMessageRequest{Message: m}))
		checkRefused(t, err, "TASK_NOT_FOUND", "")
	}
}

func playEnded(ctx context.Context, t *testing.T, w world) {
	task := send(ctx, t, w.client, text("/echo done"))
	_, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	checkRefused(t, err, "TASK_NOT_CANCELABLE", "")
	err = lastError(w.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}))
	checkRefused(t, err, "UNSUPPORTED_OPERATION", "")
	_, err = w.send(ctx, &a2a.SendMessageRequest{Message: to(task, text("/echo more"))})
	checkRefused(t, err, "UNSUPPORTED_OPERATION", "")
}
