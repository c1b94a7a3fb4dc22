package agenttool_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/tool"
)

// executor is an agent on the SDK's own stack. The first message says what it does.
type executor struct{ canceled chan string }

var _ a2asrv.AgentExecutor = executor{}

func (e executor) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		state := func(s a2a.TaskState, parts ...*a2a.Part) {
			var m *a2a.Message
			if len(parts) > 0 {
				m = a2a.NewMessageForTask(a2a.MessageRoleAgent, x, parts...)
			}
			yield(a2a.NewStatusUpdateEvent(x, s, m), nil)
		}
		what := x.Message.Parts[0].Text()
		if x.StoredTask != nil { // an answer
			answer := what
			if data, ok := x.Message.Parts[0].Data().(map[string]any); ok {
				raw, _ := json.Marshal(data["response"])
				answer = string(raw)
			}
			if yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("answered "+answer)), nil) {
				state(a2a.TaskStateCompleted)
			}
			return
		}
		if what == "reply" {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("a reply without a task")), nil)
			return
		}
		if !yield(a2a.NewSubmittedTask(x, x.Message), nil) {
			return
		}
		switch what {
		case "say":
			first := a2a.NewArtifactEvent(x, a2a.NewTextPart("one "))
			if yield(first, nil) && yield(a2a.NewArtifactUpdateEvent(x, first.Artifact.ID, a2a.NewTextPart("two")), nil) &&
				yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("another")), nil) {
				state(a2a.TaskStateCompleted, a2a.NewTextPart("done"))
			}
		case "data":
			if yield(a2a.NewArtifactEvent(x, a2a.NewDataPart(map[string]any{"n": 1}), a2a.NewFileURLPart("javascript:alert(1)", "text/html"), a2a.NewFileURLPart("https://x.example/f", "text/html")), nil) {
				state(a2a.TaskStateCompleted)
			}
		case "huge":
			if yield(a2a.NewArtifactEvent(x, a2a.NewTextPart(strings.Repeat("é", 400_000))), nil) {
				state(a2a.TaskStateCompleted)
			}
		case "ask":
			state(a2a.TaskStateInputRequired, a2a.NewTextPart("Which color?"))
		case "adk":
			call := a2a.NewDataPart(map[string]any{"id": "q1", "name": "adk_request_confirmation", "args": map[string]any{
				"originalFunctionCall": map[string]any{"name": "wipe", "args": map[string]any{"disk": "sda"}}, "toolConfirmation": map[string]any{"hint": "Wipe it?"},
			}})
			call.Metadata = map[string]any{"adk_type": "function_call"}
			state(a2a.TaskStateInputRequired, call)
		case "step":
			step := a2a.NewDataPart(map[string]any{"name": "transfer_to_agent", "response": map[string]any{"result": nil}, "id": "adk-1"})
			step.Metadata = map[string]any{"adk_type": "function_response"}
			if yield(a2a.NewArtifactEvent(x, step), nil) {
				state(a2a.TaskStateCompleted)
			}
		case "auth":
			state(a2a.TaskStateAuthRequired, a2a.NewTextPart("log in at https://x.example"))
		case "fail":
			state(a2a.TaskStateFailed, a2a.NewTextPart("the disk\u202e is full"))
		case "wait":
			<-ctx.Done()
		default:
			state(a2a.TaskStateCompleted)
		}
	}
}

func (e executor) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		select {
		case e.canceled <- string(x.TaskID):
		default:
		}
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

// wait waits until a task of the agent is canceled.
func (e executor) wait(t *testing.T, what string) {
	t.Helper()
	select {
	case <-e.canceled:
	case <-time.After(20 * time.Second):
		t.Errorf("%s: the task of the agent was not canceled", what)
	}
}

// peer starts an agent on the SDK's stack that offers one interface only.
func peer(t *testing.T, binding a2a.TransportProtocol, version a2a.ProtocolVersion) (url string, e executor) {
	t.Helper()
	e = executor{canceled: make(chan string, 1)}
	h := a2asrv.NewHandler(e, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	i := a2a.NewAgentInterface(s.URL+"/agent", binding)
	i.ProtocolVersion = version
	card := &a2a.AgentCard{Name: "peer", Description: "A peer\u202e of ours", SupportedInterfaces: []*a2a.AgentInterface{i}, Capabilities: a2a.AgentCapabilities{Streaming: true}}
	var agent, known http.Handler
	switch {
	case version == "0.3" && binding == a2a.TransportProtocolJSONRPC:
		agent = a2av0.NewJSONRPCHandler(h)
	case version == "0.3":
		agent = a2av0.NewRESTHandler(h)
	case binding == a2a.TransportProtocolJSONRPC:
		agent = a2asrv.NewJSONRPCHandler(h)
	default:
		agent = a2asrv.NewRESTHandler(h)
	}
	if known = a2asrv.NewStaticAgentCardHandler(card); version == "0.3" {
		known = a2asrv.NewAgentCardHandler(a2av0.NewStaticAgentCardProducer(card))
	}
	mux.Handle("/.well-known/agent-card.json", known)
	mux.Handle("/agent/", http.StripPrefix("/agent", agent))
	mux.Handle("/agent", agent)
	return s.URL, e
}

// said returns the artifacts and the status message of a task.
func said(s *a2aservertest.Server, task *a2a.Task) string {
	text := s.Text(task)
	if m := task.Status.Message; m != nil {
		for _, p := range m.Parts {
			text += p.Text()
		}
	}
	return text
}

func bindings() map[string][2]string {
	return map[string][2]string{
		"JSON-RPC 1.0": {"JSONRPC", "1.0"}, "HTTP+JSON 1.0": {"HTTP+JSON", "1.0"},
		"JSON-RPC 0.3": {"JSONRPC", "0.3"}, "HTTP+JSON 0.3": {"HTTP+JSON", "0.3"},
	}
}

// ours starts one of our servers with an agent as its tool, called it.
func ours(t *testing.T, url string, change func(*agenttool.Config)) *a2aservertest.Server {
	t.Helper()
	return serve(t, "it", &a2aservertest.Server{URL: url}, change)
}

func TestPeers(t *testing.T) {
	t.Parallel()
	for name, b := range bindings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := peer(t, a2a.TransportProtocol(b[0]), a2a.ProtocolVersion(b[1]))
			s := ours(t, url, nil)
			for what, tt := range map[string]struct {
				state a2a.TaskState
				says  string
			}{
				"say": {a2a.TaskStateCompleted, "two"}, "data": {a2a.TaskStateCompleted, "javascript:alert(1)"},
				"reply": {a2a.TaskStateCompleted, "a reply without a task"}, "huge": {a2a.TaskStateCompleted, "ééé"},
				"fail": {a2a.TaskStateFailed, `the disk\u202e is full`}, "nothing": {a2a.TaskStateFailed, "without any result"},
				"step": {a2a.TaskStateFailed, "without any result"},
			} {
				done := s.Wait(s.Send("/it "+what).ID, tt.state)
				if text := said(s, done); !strings.Contains(text, tt.says) {
					t.Errorf("%s: the task says %.200q, want %q in it", what, text, tt.says)
				}
			}
		})
	}
}

func TestQuestionsOfPeers(t *testing.T) {
	t.Parallel()
	for name, b := range bindings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, e := peer(t, a2a.TransportProtocol(b[0]), a2a.ProtocolVersion(b[1]))
			s := ours(t, url, nil)
			for what, tt := range map[string]struct {
				decision   approval.Decision
				hint, says string
				kind       tool.QuestionKind
			}{
				"ask":    {approval.Decision{Type: approval.Respond, Response: json.RawMessage(`"blue"`)}, "Which color?", "answered blue", tool.AskQuestion},
				"adk":    {approval.Decision{Type: approval.Approve}, "Wipe it?", `"confirmed":true`, tool.AskConfirm},
				"adk no": {approval.Decision{Type: approval.Reject, Reason: "never"}, "Wipe it?", `"confirmed":false`, tool.AskConfirm},
			} {
				task := s.Wait(s.Send("/it "+strings.Fields(what)[0]).ID, a2a.TaskStateInputRequired)
				a := decide(t, s, task, tt.decision)
				if !strings.Contains(a.Hint, tt.hint) || a.AskKind != string(tt.kind) {
					t.Errorf("%s: asked %s: %q", what, a.AskKind, a.Hint)
				}
				if text := s.Text(s.Wait(task.ID, a2a.TaskStateCompleted)); !strings.Contains(text, tt.says) {
					t.Errorf("%s: the task says %q, want %q in it", what, text, tt.says)
				}
			}
			task := s.Wait(s.Send("/it auth").ID, a2a.TaskStateAuthRequired)
			decide(t, s, task, approval.Decision{Type: approval.Cancel})
			e.wait(t, "a task that waits for a login")
		})
	}
}

// A rejected question that has no answer for that, and a canceled task, cancel the task of the agent.
func TestCancelReachesTheAgent(t *testing.T) {
	t.Parallel()
	for name, b := range bindings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, e := peer(t, a2a.TransportProtocol(b[0]), a2a.ProtocolVersion(b[1]))
			s := ours(t, url, nil)
			task := s.Wait(s.Send("/it ask").ID, a2a.TaskStateInputRequired)
			decide(t, s, task, approval.Decision{Type: approval.Reject})
			e.wait(t, "a rejected question")

			task = s.Wait(s.Send("/it ask").ID, a2a.TaskStateInputRequired)
			decide(t, s, task, approval.Decision{Type: approval.Cancel})
			e.wait(t, "a canceled task")
			s.Wait(task.ID, a2a.TaskStateCanceled)
		})
	}
}

// The description is that of the card, with its invisible characters escaped.
func TestDescription(t *testing.T) {
	t.Parallel()
	url, _ := peer(t, a2a.TransportProtocolJSONRPC, "1.0")
	set, err := agenttool.New(agenttool.Config{Name: "it", Card: url + "/.well-known/agent-card.json", Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	tools, err := set.Tools(nil)
	if err != nil || len(tools) != 1 {
		t.Fatalf("Tools() = %v, %v", tools, err)
	}
	if got, want := tools[0].Description(), `A peer\u202e of ours`; got != want || !tools[0].RequiresApproval() {
		t.Errorf("Description() = %q, want %q; it has to ask by default", got, want)
	}
}
