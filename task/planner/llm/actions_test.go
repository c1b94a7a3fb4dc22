package llm_test

import (
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/internal/modeltest"
	"a2a-server/internal/testserver"
	"a2a-server/task"
	"a2a-server/task/planner/llm"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/controltool"
	"a2a-server/tool/functiontool"
)

// travel is an agent that plays a script: what it does with each message.
type travel struct {
	mu   sync.Mutex
	told []string
	does func(ctx tool.Context, message string) (string, error)
}

func (a *travel) tool(gated bool) tool.Tool {
	return functiontool.Must(functiontool.New(functiontool.Config{Name: "travel", RequireApproval: gated}, func(ctx tool.Context, args struct {
		Message string `json:"message"`
	},
	) (string, error) {
		a.mu.Lock()
		if _, again := tool.Resumed(ctx); !again {
			a.told = append(a.told, args.Message)
		}
		a.mu.Unlock()
		return a.does(ctx, args.Message)
	}))
}

func (a *travel) wantTold(t *testing.T, want ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.told, want) {
		t.Errorf("the agent was told %q, want %q", a.told, want)
	}
}

func handOver(t *testing.T, to string) tool.Tool {
	t.Helper()
	h, err := controltool.TransferTo(to, "")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// with returns a server with a model and these tools.
func with(t *testing.T, model *modeltest.Endpoint, tools ...tool.Tool) *scene {
	t.Helper()
	return in(t, model, nil, tools...)
}

// in is with for a server with these values of its configuration.
func in(t *testing.T, model *modeltest.Endpoint, set map[string]string, tools ...tool.Tool) *scene {
	t.Helper()
	endpoint := httptest.NewServer(model)
	t.Cleanup(endpoint.Close)
	planner, err := llm.New(llm.Config{URL: endpoint.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	s := a2aservertest.New(t, testserver.Config{Planner: planner, Tools: []tool.Toolset{tool.NewToolset("x", tools...)}, Set: set}.Must(t))
	return &scene{Server: s, t: t, model: model}
}

// wantAsked checks how often the model was asked.
func (s *scene) wantAsked(n int) {
	s.t.Helper()
	if got := len(s.model.Requests()); got != n {
		s.t.Errorf("the model was asked %d times, want %d", got, n)
	}
}

func failing() tool.Tool {
	return functiontool.Must(functiontool.New(functiontool.Config{Name: "fails"}, func(tool.Context, struct{}) (string, error) { return "", errors.New("no money") }))
}

// A model ends its task with finish, unless another call of the answer has failed: then it is told.
func TestFinish(t *testing.T) {
	t.Parallel()
	s := with(t, answers(calling("finish", `{"text":"It is done."}`)), controltool.Finish(), failing())
	done := s.Wait(s.Send("go").ID, a2a.TaskStateCompleted)
	if got := text(done, "s2"); got != "It is done." || text(done, "c1.1") != "" {
		t.Errorf("the answer is %q, the result of finish %q", got, text(done, "c1.1"))
	}
	s.wantAsked(1)

	s = with(t, answers(calling("fails", `{}`, "finish", `{"text":"It is done."}`), modeltest.Answer{Text: "It has failed."}), controltool.Finish(), failing())
	done = s.Wait(s.Send("go").ID, a2a.TaskStateCompleted)
	if got := text(done, "s2"); got != "It has failed." {
		t.Errorf("after a failed call the answer is %q", got)
	}
	s.wantAsked(2)
}

// The answer of finish is published when it ends the task, not while another call of its step
// waits, and never if that call is rejected.
func TestFinishWaits(t *testing.T) {
	t.Parallel()
	const claim = "I have paid."
	for decision, want := range map[approval.DecisionType]string{approval.Approve: "s2", approval.Reject: ""} {
		pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", RequireApproval: true}, func(tool.Context, struct{}) (string, error) { return "paid", nil }))
		s := with(t, answers(calling("pay", `{}`, "finish", `{"text":"`+claim+`"}`), modeltest.Answer{Text: "It was not paid."}), controltool.Finish(), pay)
		waits := s.Wait(s.Send("go").ID, a2a.TaskStateInputRequired)
		if strings.Contains(s.Text(waits), claim) {
			t.Errorf("%s: while the call waits, the task says %q", decision, s.Text(waits))
		}
		s.decide(waits.ID, approval.Decision{Type: decision})
		done := s.Wait(waits.ID, a2a.TaskStateCompleted)
		if got := strings.Contains(s.Text(done), claim); got != (want != "") || want != "" && text(done, want) != claim {
			t.Errorf("%s: the task ends with %q", decision, s.Text(done))
		}
	}
}

// A later task of the context is told the answer that finish gave, not the words before it.
func TestFinishIsRemembered(t *testing.T) {
	t.Parallel()
	first := calling("finish", `{"text":"The code is 4711."}`)
	first.Text = "I finish now."
	s := with(t, answers(first), controltool.Finish())
	done := s.Wait(s.Send("go").ID, a2a.TaskStateCompleted)
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Which code?"))
	m.ContextID = done.ContextID
	s.Wait(s.SendMessage(m).ID, a2a.TaskStateCompleted)
	if got := s.newest().Messages[1].Content; got != "The code is 4711." {
		t.Errorf("the model is told of the earlier task: %q", got)
	}
}

// Escalate gives the task back: it ends as rejected, with the reason and a mark, also beside a
// question and a failure.
func TestEscalate(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]modeltest.Answer{
		"alone":            calling("escalate", `{"reason":"I may not."}`),
		"beside a failure": calling("fails", `{}`, "escalate", `{"reason":"I may not."}`, "finish", `{"text":"done"}`),
	} {
		s := with(t, answers(answer), controltool.Escalate(), controltool.Finish(), failing())
		done := s.Wait(s.Send("go").ID, a2a.TaskStateRejected)
		if says(done) != "I may not." || done.Status.Message.Metadata[task.EscalatedKey] != true {
			t.Errorf("%s: the status is %q with %v", name, says(done), done.Status.Message.Metadata)
		}
		s.wantAsked(1)
	}
}

// An agent to which the task is handed over gets the message that led there, streams its result,
// and ends the task, without the model.
func TestTransfer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err   error
		state a2a.TaskState
		says  string
	}{
		"done":   {nil, a2a.TaskStateCompleted, ""},
		"failed": {errors.New("no seats"), a2a.TaskStateFailed, "travel, which has taken over, has failed: no seats"},
	} {
		a := &travel{does: func(tool.Context, string) (string, error) { return "booked", tc.err }}
		s := with(t, answers(calling("transfer_to_travel", `{}`)), a.tool(false), handOver(t, "travel"))
		done := s.Wait(s.Send("Book Oslo").ID, tc.state)
		if says(done) != tc.says || tc.err == nil && !strings.Contains(s.Text(done), "booked") {
			t.Errorf("%s: the status says %q, the artifacts %q", name, says(done), s.Text(done))
		}
		a.wantTold(t, "Book Oslo")
		s.wantAsked(1)
	}
}

// A gate of the agent asks about the call, whoever hands over; what the agent asks is ours to
// answer, and goes back to it. A reply to its RequireInput is its next message.
func TestTransferKeepsGatesAndQuestions(t *testing.T) {
	t.Parallel()
	a := &travel{}
	a.does = func(ctx tool.Context, message string) (string, error) {
		resumed, again := tool.Resumed(ctx)
		switch {
		case message == "To Rome.":
			return "booked", nil
		case !again:
			return "", &tool.Suspension{Asks: []tool.Question{{ID: "class", Kind: tool.AskQuestion, Hint: "Which class?"}}}
		}
		ctx.Actions().RequireInput, ctx.Actions().InputPrompt = true, "Where to, in class "+string(resumed.Answers[0].Response)+"?"
		return "asked", nil
	}
	s := with(t, answers(calling("transfer_to_travel", `{}`)), a.tool(true), handOver(t, "travel"))
	id := s.Send("Book").ID
	a.wantTold(t)
	s.decide(id, approval.Decision{Type: approval.Approve})
	pending := s.Pending(s.Wait(id, a2a.TaskStateInputRequired))
	if len(pending) != 1 || pending[0].Hint != "Which class?" {
		t.Fatalf("pending are %+v", pending)
	}
	got := s.reply(id, a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": pending[0].ID, "decision": "respond", "response": "first"}}}))
	if want := `travel: Where to, in class "first"?`; says(got) != want {
		t.Errorf("the question is %q, want %q", says(got), want)
	}
	s.reply(id, a2a.NewTextPart("To Rome."))
	s.decide(id, approval.Decision{Type: approval.Approve})
	s.Wait(id, a2a.TaskStateCompleted)
	a.wantTold(t, "Book", "To Rome.")
	s.wantAsked(1)
}

// A call of the agent that is rejected or canceled ends the task: the model is not asked to find
// another way.
func TestTransferRejected(t *testing.T) {
	t.Parallel()
	for want, part := range map[a2a.TaskState]func(a *approval.Approval) map[string]any{
		a2a.TaskStateFailed: func(a *approval.Approval) map[string]any {
			return map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": a.ID, "decision": "reject", "reason": "not now"}}}
		},
		a2a.TaskStateCanceled: func(a *approval.Approval) map[string]any {
			return map[string]any{"type": "call_cancel", "call": a.Call}
		},
	} {
		a := &travel{does: func(tool.Context, string) (string, error) { return "booked", nil }}
		s := with(t, answers(calling("transfer_to_travel", `{}`)), a.tool(true), handOver(t, "travel"))
		id := s.Send("Book").ID
		pending := s.Pending(s.Wait(id, a2a.TaskStateInputRequired))
		s.reply(id, a2a.NewDataPart(part(&pending[0])))
		s.Wait(id, want)
		a.wantTold(t)
		s.wantAsked(1)
	}
}

// Nothing is handed over to a tool that no tool of the caller transfers to, to a missing tool, or to
// several agents at once: the model is told so.
func TestTransferIsRefused(t *testing.T) {
	t.Parallel()
	a := &travel{does: func(tool.Context, string) (string, error) { return "booked", nil }}
	stray := functiontool.Must(functiontool.New(functiontool.Config{Name: "stray"}, func(ctx tool.Context, _ struct{}) (string, error) {
		ctx.Actions().TransferToAgent = "travel"
		return "", nil
	}))
	for name, tc := range map[string]struct {
		calls []string
		tools []tool.Tool
	}{
		"no transfer is offered": {[]string{"stray", `{}`}, []tool.Tool{stray, a.tool(false)}},
		"no such agent":          {[]string{"transfer_to_travel", `{}`}, []tool.Tool{handOver(t, "travel")}},
		"two agents":             {[]string{"transfer_to_travel", `{}`, "transfer_to_fails", `{}`}, []tool.Tool{handOver(t, "travel"), a.tool(false), handOver(t, "fails"), failing()}},
	} {
		s := with(t, answers(calling(tc.calls...)), tc.tools...)
		s.Wait(s.Send("go").ID, a2a.TaskStateCompleted)
		a.wantTold(t)
		s.wantAsked(2)
		if got := s.newest().Last().Content; !strings.Contains(got, `{"error":"the task was not handed over to `) {
			t.Errorf("%s: the model is told %q", name, got)
		}
	}
}

// A task that is handed over continues in the next process: the agent is told the answer to its
// question, and the model is not asked.
func TestTransferAfterRestart(t *testing.T) {
	t.Parallel()
	a := &travel{does: func(ctx tool.Context, _ string) (string, error) {
		if r, again := tool.Resumed(ctx); again {
			return "booked " + string(r.Answers[0].Response), nil
		}
		return "", &tool.Suspension{Asks: []tool.Question{{ID: "class", Kind: tool.AskQuestion, Hint: "Which class?"}}}
	}}
	model := answers(calling("transfer_to_travel", `{}`))
	set := map[string]string{"store": "bolt", "data": t.TempDir()}
	s := in(t, model, set, a.tool(false), handOver(t, "travel"))
	id := s.Wait(s.Send("Book Oslo").ID, a2a.TaskStateInputRequired).ID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = in(t, model, set, a.tool(false), handOver(t, "travel"))
	pending := s.Pending(s.Get(id))
	s.reply(id, a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": pending[0].ID, "decision": "respond", "response": "first"}}}))
	if done := s.Wait(id, a2a.TaskStateCompleted); !strings.Contains(s.Text(done), "first") {
		t.Errorf("the text is %q", s.Text(done))
	}
	a.wantTold(t, "Book Oslo")
	s.wantAsked(1)
}

// The next step of a task that is handed over follows from the log: planned again after a crash, it
// is the same.
func TestTransferFollowsFromTheLog(t *testing.T) {
	t.Parallel()
	at := newProgress("Book Oslo")
	at.Tools = []tool.Tool{(&travel{}).tool(false), handOver(t, "travel")}
	endpoint := httptest.NewServer(answers(calling("transfer_to_travel", `{}`)))
	t.Cleanup(endpoint.Close)
	p, err := llm.New(llm.Config{URL: endpoint.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	plan := func() *task.Step {
		t.Helper()
		s, err := p.Plan(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := plan()
	at.Steps = append(at.Steps, task.DoneStep{State: first.State, Calls: []task.Result{{
		Call: tool.ToolCall{ID: "c1.1", Name: "transfer_to_travel"}, Outcome: task.OutcomeOK, Content: []byte(`"x"`), Actions: agent.EventActions{TransferToAgent: "travel"},
	}}})
	var second *task.Step
	for range 2 { // the step before a crash is the step after it
		second = plan()
		if len(second.Calls) != 1 || second.Calls[0].Tool != "travel" || string(second.Calls[0].Args) != `{"message":"Book Oslo"}` {
			t.Fatalf("Plan() = %+v, want the call of the agent", second)
		}
	}
	at.Tools = nil // the agent is down, or taken away: its call is made all the same
	at.Steps = append(at.Steps, task.DoneStep{State: second.State, Calls: []task.Result{{Call: tool.ToolCall{ID: "c2.1", Name: "travel"}, Outcome: task.OutcomeOK, Content: []byte(`"x"`)}}})
	if third := plan(); third.End == nil || third.End.State != a2a.TaskStateCompleted {
		t.Errorf("Plan() = %+v, want the end", third)
	}
}
