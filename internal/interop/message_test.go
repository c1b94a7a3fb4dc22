package interop

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The extension by which this server asks for approvals and is answered.
const extension = "urn:a2a-server:extension:tool-approval:v1"

func text(s string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(s))
}

func data(v map[string]any) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(v))
}

// call is a message that calls a tool.
func call(tool string, args map[string]any) *a2a.Message {
	return data(map[string]any{"tool": tool, "args": args})
}

// to makes a message a follow-up to a task.
func to(task *a2a.Task, m *a2a.Message) *a2a.Message {
	m.TaskID, m.ContextID = task.ID, task.ContextID
	return m
}

// decision is one entry of an answer in our extension: what is decided, and fields
// that go with it.
func decision(id, verb string, fields map[string]any) map[string]any {
	d := map[string]any{"id": id, "decision": verb}
	for k, v := range fields {
		d[k] = v
	}
	return d
}

// answer is a message that decides, in our extension.
func answer(task *a2a.Task, decisions ...any) *a2a.Message {
	return to(task, data(response(decisions...)))
}

func response(decisions ...any) map[string]any {
	return map[string]any{"type": "approval_response", "decisions": decisions}
}

// send sends a message, and wants a task.
func send(ctx context.Context, t *testing.T, c client, m *a2a.Message) *a2a.Task {
	t.Helper()
	result, err := c.send(ctx, &a2a.SendMessageRequest{Message: m})
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	task, ok := result.(*a2a.Task)
	if !ok {
		t.Fatalf("send gave a %T, want a task", result)
	}
	return task
}

func get(ctx context.Context, t *testing.T, c client, id a2a.TaskID) *a2a.Task {
	t.Helper()
	task, err := c.get(ctx, &a2a.GetTaskRequest{ID: id})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return task
}

func wantState(t *testing.T, task *a2a.Task, want a2a.TaskState) {
	t.Helper()
	if got := task.Status.State; got != want {
		t.Fatalf("task %s is %s, want %s: %s", task.ID, got, want, texts(task.Status.Message))
	}
}

// question is an approval that is asked for, in our extension.
type question struct {
	ID, Kind, Digest, Summary string
	Tool                      struct{ Name string }
	Arguments                 transfer
	Options                   []string
}

// park sends a transfer, which has to be approved, and returns its task and what it
// asks.
func park(ctx context.Context, t *testing.T, c client, amount float64, payee string) (*a2a.Task, question) {
	t.Helper()
	task := send(ctx, t, c, call("transfer_money", map[string]any{"amount": amount, "to": payee}))
	return task, asked(t, task)
}

// asked returns the one approval that a task waits for.
func asked(t *testing.T, task *a2a.Task) question {
	t.Helper()
	all := questions(t, task)
	if len(all) != 1 {
		t.Fatalf("task %s asks %+v, want one approval", task.ID, all)
	}
	return all[0]
}

// questions returns the approvals that a task waits for.
func questions(t *testing.T, task *a2a.Task) []question {
	t.Helper()
	wantState(t, task, a2a.TaskStateInputRequired)
	if task.Status.Message == nil {
		t.Fatalf("task %s asks nothing", task.ID)
	}
	raw, err := json.Marshal(task.Status.Message.Metadata[extension])
	if err != nil {
		t.Fatal(err)
	}
	var q struct {
		Type      string
		Approvals []question
	}
	if err := json.Unmarshal(raw, &q); err != nil || q.Type != "approval_request" {
		t.Fatalf("the question in the metadata is %s (%v), want approvals", raw, err)
	}
	return q.Approvals
}

// texts returns the text of a message.
func texts(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text())
	}
	return b.String()
}
