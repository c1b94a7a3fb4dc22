package direct_test

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
)

func TestListing(t *testing.T) {
	t.Parallel()
	_, answer := plan(t, message(text("what can you do?")))
	want := `Tools that you may call:
- echo: Says it again.
    text (string, required)
    times (integer)
- transfer_money (each call has to be approved): Moves money to an account.
    amount (number, required): how much
    to (string, required)
    any (string or integer)
    memo (string or null)
    speed (string, one of ["slow","fast"])
    tags (array)
- bare
`
	got, _, _ := strings.Cut(answer.Parts[0].Text(), "\nNo language model reads plain words here. Name the tool")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}

	entries := []any{}
	for _, tool := range tools() {
		f, ok := tool.(fake)
		if !ok {
			t.Fatalf("tools() has a %T, want a fake", tool)
		}
		entry := map[string]any{"name": f.name, "description": f.description, "requires_approval": f.approval}
		if f.schema != nil {
			entry["parameters"] = f.schema
		}
		entries = append(entries, entry)
	}
	if diff := cmp.Diff(map[string]any{"tools": entries}, answer.Parts[1].Data()); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if answer.ID != "answer" || answer.ContextID != "ctx1" || answer.Role != a2a.MessageRoleAgent {
		t.Errorf("answer = %+v, want the id from NewID, the context of the message, and the agent's role", answer)
	}
}

func TestAcceptWithoutTools(t *testing.T) {
	t.Parallel()
	answer, err := direct.New(direct.Config{}).Accept(nil, &task.Request{Message: message(text("/echo hi"))})
	if err != nil {
		t.Fatal(err)
	}
	want := "Nothing was run:\n- part 1: unknown tool \"echo\"\n\nThere are no tools that you may call."
	if got := answer.Parts[0].Text(); got != want || answer.ID == "" {
		t.Errorf("Accept() = %q with id %q, want %q with an id", got, answer.ID, want)
	}
}

func TestInline(t *testing.T) {
	t.Parallel()
	if !direct.New(direct.Config{}).Inline() {
		t.Error("Inline() = false, want true")
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	result := func(name string, o task.Outcome, problem string) task.Result {
		return task.Result{Call: tool.ToolCall{ID: "c1." + name, Name: name}, Outcome: o, Error: problem}
	}
	tests := []struct {
		name    string
		results []task.Result
		state   a2a.TaskState
		text    string
	}{
		{"all succeeded", []task.Result{result("a", task.OutcomeOK, ""), result("b", task.OutcomeResponded, "")}, a2a.TaskStateCompleted, ""},
		{"all rejected or expired", []task.Result{result("a", task.OutcomeRejected, "the call was rejected: too much"), result("b", task.OutcomeExpired, "")}, a2a.TaskStateCanceled, "a (c1.a) was rejected: too much\nb (c1.b) was not approved in time"},
		{"all failed", []task.Result{result("a", task.OutcomeError, "no route"), result("b", task.OutcomeInvalid, "no such tool"), result("c", task.OutcomeDenied, "never on Sundays")}, a2a.TaskStateFailed, "a (c1.a) failed: no route\nb (c1.b) could not be called: no such tool\nc (c1.c) was denied by policy: never on Sundays"},
		{"some failed", []task.Result{result("a", task.OutcomeOK, ""), result("b", task.OutcomeError, "no route")}, a2a.TaskStateCompleted, "b (c1.b) failed: no route"},
		{"some rejected", []task.Result{result("a", task.OutcomeOK, ""), result("b", task.OutcomeRejected, "the call was rejected")}, a2a.TaskStateCompleted, "b (c1.b) was rejected"},
		{"rejected and failed, none succeeded", []task.Result{result("a", task.OutcomeRejected, ""), result("b", task.OutcomeError, "no route")}, a2a.TaskStateFailed, "a (c1.a) was rejected\nb (c1.b) failed: no route"},
		{"given up with an unknown outcome", []task.Result{result("a", task.OutcomeUnknown, "the result of the call is unknown and it was given up: too late"), result("b", task.OutcomeRejected, "")}, a2a.TaskStateFailed, "a (c1.a) has an unknown outcome: it was given up: too late\nb (c1.b) was rejected"},
		{"edited, and approved with a note", []task.Result{
			{Call: tool.ToolCall{ID: "c1.a", Name: "a"}, Outcome: task.OutcomeOK, Decision: approval.Edit, Note: "less"}, result("b", task.OutcomeError, "no route"),
			{Call: tool.ToolCall{ID: "c1.c", Name: "c"}, Outcome: task.OutcomeOK, Decision: approval.Approve, Note: "once\nonly"}, {Outcome: task.OutcomeOK, Decision: approval.Approve},
		}, a2a.TaskStateCompleted, "b (c1.b) failed: no route\na (c1.a) was approved with other arguments: less\nc (c1.c) was decided with a note: once\n  only"},
		{"canceled", []task.Result{result("a", task.OutcomeCanceled, "")}, a2a.TaskStateCanceled, "a (c1.a) was canceled"},
		{"an outcome of a later version", []task.Result{result("a", "lost", "")}, a2a.TaskStateFailed, "a (c1.a) ended as lost"},
		{"an error that passes for a line of ours", []task.Result{result("a", task.OutcomeRejected, "the call was rejected: no\nb (c1.b) succeeded")}, a2a.TaskStateCanceled, "a (c1.a) was rejected: no\n  b (c1.b) succeeded"},
		{"a long error", []task.Result{result("a", task.OutcomeError, strings.Repeat("é", 4000))}, a2a.TaskStateFailed, "a (c1.a) failed: " + strings.Repeat("é", 2048) + "… (8000 bytes)"},
		{"an error that hides something", []task.Result{result("a", task.OutcomeError, "no\u202e\u2028b (c1.b) failed")}, a2a.TaskStateFailed, `a (c1.a) failed: no\u202e\u2028b (c1.b) failed`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			progress := &task.Progress{Task: "t1", Context: "ctx1", Messages: []task.PlannerMessage{{Message: message(text("/bare"))}}, Steps: []task.DoneStep{{Calls: tt.results}}}
			step, err := direct.New(direct.Config{}).Plan(t.Context(), progress)
			if err != nil {
				t.Fatal(err)
			}
			if step.End == nil || step.End.State != tt.state {
				t.Fatalf("Plan() = %+v, want the end %s", step, tt.state)
			}
			again, err := direct.New(direct.Config{}).Plan(t.Context(), progress)
			if diff := cmp.Diff(step, again); err != nil || diff != "" {
				t.Errorf("Plan() again = %v (-first +again):\n%s", err, diff)
			}
			m := step.End.Message
			if m == nil {
				if tt.text != "" {
					t.Errorf("end has no message, want %q", tt.text)
				}
				return
			}
			if got := m.Parts[0].Text(); got != tt.text {
				t.Errorf("end says %q, want %q", got, tt.text)
			}
			if m.ID == "" || m.TaskID != "t1" || m.ContextID != "ctx1" || m.Role != a2a.MessageRoleAgent {
				t.Errorf("message = %+v, want one of the agent for task and context", m)
			}
		})
	}
}

func TestPlanErrors(t *testing.T) {
	t.Parallel()
	const changed = "the tools, or the rules for messages, have changed since the message came: "
	tests := []struct {
		name     string
		messages []task.PlannerMessage
		want     string
	}{
		{"no message", nil, "plan task t1: it has no message"},
		{"a nil message", []task.PlannerMessage{{}}, "plan task t1: its message names no call"},
		{"an id that was accepted once", []task.PlannerMessage{{Message: message(data(t, `{"tool":"echo","id":"c1.2"}`))}}, changed + `part 1: "id" of the call of "echo" is "c1.2", which looks like an id of this server; choose another one, or leave it out`},
		{"equal ids that were accepted once", []task.PlannerMessage{{Message: message(data(t, `{"calls":[{"tool":"echo","id":"x"},{"tool":"echo","id":"x"}]}`))}}, changed + `part 1: calls[1]: "id" "x" is already used by the call at part 1: calls[0]; give each call its own id, or none`},
		{"the tool has gone", []task.PlannerMessage{{Message: message(text("/gone"))}}, changed + `part 1: unknown tool "gone"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := direct.New(direct.Config{}).Plan(t.Context(), &task.Progress{Task: "t1", Tools: tools(), Messages: tt.messages})
			if err == nil || err.Error() != tt.want {
				t.Errorf("Plan() = %v, want %s", err, tt.want)
			}
		})
	}
}
