package interop

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// checkRuns checks how often, and with what, transfer_money has run in a task.
func (w world) checkRuns(t *testing.T, task *a2a.Task, want ...transfer) {
	t.Helper()
	var got []transfer
	for _, e := range w.server.ledger(t, string(task.ID)) {
		got = append(got, e.Args)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs in the ledger (-want +got):\n%s", diff)
	}
}

func playPause(ctx context.Context, t *testing.T, w world) {
	task := send(ctx, t, w.client, text(`/transfer_money {"amount":12.5,"to":"Zoë"}`))
	q := asked(t, task)
	if q.Kind != "call" || q.Tool.Name != "transfer_money" || q.Arguments != (transfer{12.5, "Zoë"}) || q.Digest == "" {
		t.Errorf("question = %+v, want that of the call that was sent", q)
	}
	for _, verb := range []string{"approve", "edit", "reject", "cancel"} {
		if !slices.Contains(q.Options, verb) {
			t.Errorf("options = %v, want %s in it", q.Options, verb)
		}
	}
	m := task.Status.Message
	if s := texts(m); !strings.Contains(s, q.ID) || !strings.Contains(s, "Zoë") {
		t.Errorf("text of the question = %q, want the approval and its arguments in it", s)
	}
	if !slices.ContainsFunc(m.Parts, func(p *a2a.Part) bool {
		object, ok := p.Data().(map[string]any)
		return ok && object["name"] == "adk_request_confirmation" && object["id"] == q.ID && p.Metadata["adk_type"] == "function_call"
	}) {
		t.Errorf("parts of the question = %+v, want one in ADK's shape", m.Parts)
	}
	if !slices.Contains(m.Extensions, extension) {
		t.Errorf("extensions of the question = %v, want %s", m.Extensions, extension)
	}
	if diff := cmp.Diff(task, get(ctx, t, w.client, task.ID)); diff != "" {
		t.Errorf("the task when sent and when read (-sent +read):\n%s", diff)
	}
	w.checkRuns(t, task)
}

func playPauseInStream(ctx context.Context, t *testing.T, w world) {
	m := call("transfer_money", map[string]any{"amount": 1, "to": "stream"})
	var told story
	told.tell(t, w.stream(ctx, &a2a.SendMessageRequest{Message: m}))
	want := []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired}
	if diff := cmp.Diff(want, told.states); diff != "" {
		t.Errorf("states of the stream (-want +got):\n%s", diff)
	}
	task := get(ctx, t, w.client, told.task)
	if diff := cmp.Diff(task.Status.Message, told.last); diff != "" {
		t.Errorf("the question in the task and in the stream (-task +stream):\n%s", diff)
	}
	// The decision can be sent as a stream too. That one begins with the task again.
	var after story
	after.tell(t, w.stream(ctx, &a2a.SendMessageRequest{Message: answer(task, decision(asked(t, task).ID, "approve", nil))}))
	if after.task != task.ID || after.state() != a2a.TaskStateCompleted {
		t.Errorf("the stream of the decision was of task %s and ended %s", after.task, after.state())
	}
	w.checkRuns(t, task, transfer{1, "stream"})
}

func playApprove(ctx context.Context, t *testing.T, w world) {
	for name, message := range map[string]func(question) *a2a.Message{
		"our extension, data part": func(q question) *a2a.Message {
			return data(response(decision(q.ID, "approve", map[string]any{"digest": q.Digest, "reason": "agreed"})))
		},
		"our extension, metadata": func(q question) *a2a.Message {
			m := text("see the metadata")
			m.Metadata = map[string]any{extension: response(decision(q.ID, "approve", nil))}
			m.Extensions = []string{extension}
			return m
		},
		"ADK": func(q question) *a2a.Message {
			m := data(map[string]any{"id": q.ID, "name": "adk_request_confirmation", "response": map[string]any{"confirmed": true}})
			m.Parts[0].Metadata = map[string]any{"adk_type": "function_response"}
			return m
		},
		"ADK's web page": func(q question) *a2a.Message {
			m := data(map[string]any{"id": q.ID, "name": "adk_request_confirmation", "response": map[string]any{"response": `{"confirmed": true}`}})
			m.Parts[0].Metadata = map[string]any{"adk_type": "function_response"}
			return m
		},
	} {
		task, q := park(ctx, t, w.client, 7, name)
		// The tool is declared destructive, so a mere word is no answer, and is not
		// lost either: the same question comes again.
		again := send(ctx, t, w.client, to(task, text("Yes")))
		if q2 := asked(t, again); q2.ID != q.ID || again.ID != task.ID {
			t.Errorf("%s: after a word the task %s asks for %s, want %s and %s", name, again.ID, q2.ID, task.ID, q.ID)
		}
		w.checkRuns(t, task)
		after := send(ctx, t, w.client, to(task, message(q)))
		if after.ID != task.ID || after.Status.State != a2a.TaskStateCompleted || len(after.Artifacts) != 1 {
			t.Errorf("%s: the task is %s with %d artifacts, want it completed with one", name, after.Status.State, len(after.Artifacts))
		}
		w.checkRuns(t, task, transfer{7, name})
	}
}

func playEdit(ctx context.Context, t *testing.T, w world) {
	task, q := park(ctx, t, w.client, 100, "edit")
	edit := decision(q.ID, "edit", map[string]any{"arguments": map[string]any{"amount": 0.25, "to": "somebody else"}})
	wantState(t, send(ctx, t, w.client, answer(task, edit)), a2a.TaskStateCompleted)
	w.checkRuns(t, task, transfer{0.25, "somebody else"})
}

func playReject(ctx context.Context, t *testing.T, w world) {
	task, q := park(ctx, t, w.client, 9, "reject")
	after := send(ctx, t, w.client, answer(task, decision(q.ID, "reject", map[string]any{"reason": "not before Friday"})))
	if !after.Status.State.Terminal() || after.Status.State == a2a.TaskStateCompleted {
		t.Errorf("after the rejection the task is %s", after.Status.State)
	}
	if s := texts(after.Status.Message); !strings.Contains(s, "not before Friday") {
		t.Errorf("the task ends with %q, want the reason in it", s)
	}
	w.checkRuns(t, task)
}

// Two calls wait in one task: one message decides both, each in its own way.
func playTwo(ctx context.Context, t *testing.T, w world) {
	asked := data(map[string]any{"calls": []any{
		map[string]any{"tool": "transfer_money", "args": map[string]any{"amount": 1, "to": "rent"}},
		map[string]any{"tool": "transfer_money", "args": map[string]any{"amount": 2, "to": "bills"}},
	}})
	task := send(ctx, t, w.client, asked)
	q := questions(t, task)
	if len(q) != 2 || q[0].Arguments != (transfer{1, "rent"}) || q[1].Arguments != (transfer{2, "bills"}) {
		t.Fatalf("questions = %+v, want one for each call", q)
	}
	done := send(ctx, t, w.client, answer(task, decision(q[1].ID, "reject", nil), decision(q[0].ID, "approve", nil)))
	wantState(t, done, a2a.TaskStateCompleted)
	w.checkRuns(t, task, transfer{1, "rent"})
}

func playCancel(ctx context.Context, t *testing.T, w world) {
	task, q := park(ctx, t, w.client, 9, "cancel")
	canceled, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, canceled, a2a.TaskStateCanceled)
	_, err = w.send(ctx, &a2a.SendMessageRequest{Message: answer(task, decision(q.ID, "approve", nil))})
	checkRefused(t, err, "UNSUPPORTED_OPERATION", "APPROVAL_CONFLICT")
	w.checkRuns(t, task)
}

func playWrong(ctx context.Context, t *testing.T, w world) {
	task, q := park(ctx, t, w.client, 9, "wrong")
	for _, tc := range []struct {
		name      string
		decisions []any
		detail    string
	}{
		{"of an unknown approval", []any{decision("no-such", "approve", nil)}, "APPROVAL_UNKNOWN"},
		{"unknown verb", []any{decision(q.ID, "perhaps", nil)}, "APPROVAL_MALFORMED"},
		{"verb that was not offered", []any{decision(q.ID, "respond", map[string]any{"response": 1})}, "APPROVAL_NOT_ALLOWED"},
		{"edit without arguments", []any{decision(q.ID, "edit", nil)}, "APPROVAL_MALFORMED"},
		{"arguments that do not fit", []any{decision(q.ID, "edit", map[string]any{"arguments": map[string]any{"amount": "much"}})}, "APPROVAL_MALFORMED"},
		{"of something else", []any{decision(q.ID, "approve", map[string]any{"digest": strings.Repeat("0", 64)})}, "APPROVAL_CHANGED"},
		{"yes and no", []any{decision(q.ID, "approve", nil), decision(q.ID, "reject", nil)}, "APPROVAL_MALFORMED"},
	} {
		_, err := w.send(ctx, &a2a.SendMessageRequest{Message: answer(task, tc.decisions...)})
		checkRefused(t, err, "INVALID_PARAMS", tc.detail)
	}
	// Not one of them left a trace: the question is the same, and can be answered.
	if diff := cmp.Diff(task, get(ctx, t, w.client, task.ID)); diff != "" {
		t.Errorf("the task before and after (-before +after):\n%s", diff)
	}
	w.checkRuns(t, task)
	wantState(t, send(ctx, t, w.client, answer(task, decision(q.ID, "approve", nil))), a2a.TaskStateCompleted)
	w.checkRuns(t, task, transfer{9, "wrong"})
}
