package agenttool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/tool"
)

// hostile is an agent that answers as a test wants. Its card is a valid one, unless card is set.
type hostile struct {
	*httptest.Server

	card    func() string
	answer  func(method string, params map[string]any) []string // results of the stream; nil: none
	refuse  string                                              // JSON of an error, instead
	asked   atomic.Int64                                        // messages
	headers atomic.Pointer[http.Header]
	last    atomic.Pointer[map[string]any] // params of the last message
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		card := fmt.Sprintf(`{"name": "h", "description": "d", "version": "1", "capabilities": {"streaming": true},
			"supportedInterfaces": [{"url": %q, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}`, h.URL)
		if h.card != nil {
			card = h.card()
		}
		_, _ = w.Write([]byte(card))
		return
	}
	header := r.Header.Clone()
	h.headers.Store(&header)
	var request struct {
		ID     string
		Method string
		Params map[string]any
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if request.Method == "SendStreamingMessage" {
		h.asked.Add(1)
		h.last.Store(&request.Params)
	}
	if h.refuse != "" {
		_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "error": %s}`, request.ID, h.refuse)
		return
	}
	results := h.answer(request.Method, request.Params)
	if request.Method == "SendStreamingMessage" || request.Method == "SubscribeToTask" {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, result := range results {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\": \"2.0\", \"id\": %q, \"result\": %s}\n\n", request.ID, strings.ReplaceAll(result, "\n", " "))
		}
		return
	}
	if len(results) == 0 {
		_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "error": {"code": -32004, "message": "no"}}`, request.ID)
		return
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %q, "result": %s}`, request.ID, results[0])
}

func child(id, state, more string) string {
	return fmt.Sprintf(`{"id": %q, "contextId": "c", "status": {"state": "TASK_STATE_%s"%s}}`, id, state, more)
}

// Each of these agents ends the call clearly: failed, if it is certain that nothing was done, else
// with a question about the outcome.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	answers := func(results ...string) func(string, map[string]any) []string {
		return func(method string, _ map[string]any) []string {
			if method == "SendStreamingMessage" {
				return results
			}
			return nil
		}
	}
	for name, tt := range map[string]struct {
		set  func(h *hostile)
		says string
		asks bool // for the outcome
	}{
		"answers nothing": {func(h *hostile) { h.answer = answers() }, "did not answer the message with a task", true},
		"answers another call": {func(h *hostile) {
			h.answer = answers(`{"task": `+child("t1", "WORKING", "")+`}`, `{"task": `+child("t2", "COMPLETED", "")+`}`)
		}, "an event of another task", true},
		"has no id": {func(h *hostile) { h.answer = answers(`{"task": ` + child("", "WORKING", "") + `}`) }, "without a usable id", true},
		"has an endless id": {func(h *hostile) {
			h.answer = answers(`{"task": ` + child(strings.Repeat("x", 300), "WORKING", "") + `}`)
		}, "without a usable id", true},
		"forgets its task": {func(h *hostile) { h.answer = answers(`{"task": ` + child("t1", "WORKING", "") + `}`) }, "", false},
		"refuses":          {func(h *hostile) { h.refuse = `{"code": -32602, "message": "I don't \u202e like it"}` }, `it refused the message: I don't \u202e like it`, false},
		"fails inside":     {func(h *hostile) { h.refuse = `{"code": -32603, "message": "oh"}` }, "did not answer the message with a task: oh", true},
		"has no card":      {func(h *hostile) { h.card = func() string { return "<html>" } }, "nothing was sent: its card cannot be read", false},
		"has an interface elsewhere": {func(h *hostile) {
			h.card = func() string {
				return `{"supportedInterfaces": [{"url": "http://127.0.0.1:1/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}`
			}
		}, "which is not where the card is", false},
		"speaks gRPC only": {func(h *hostile) {
			h.card = func() string {
				return `{"supportedInterfaces": [{"url": "http://x/", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]}`
			}
		}, "has no interface for JSON-RPC", false},
		"asks the unreadable": {func(h *hostile) {
			h.answer = answers(`{"task": ` + child("t1", "INPUT_REQUIRED", `, "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [], "metadata": {"urn:a2a-server:extension:tool-approval:v1": {"type": "approval_request", "approvals": [{"id": ""}]}}}`) + `}`)
		}, "a question that cannot be read", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			tt.set(h)
			s := ours(t, h.URL, func(c *agenttool.Config) { c.Description = "hostile" })
			if tt.says == "" { // it pauses, and asks only after a day
				return
			}
			state := a2a.TaskStateFailed
			if tt.asks {
				state = a2a.TaskStateInputRequired
			}
			task := s.Wait(s.Send("/it hello").ID, state)
			if text := said(s, task); !strings.Contains(text, tt.says) {
				t.Errorf("the task says %q, want %q in it", text, tt.says)
			}
			if tt.asks {
				if a := s.Pending(task); len(a) != 1 || a[0].Kind != approval.KindOutcome {
					t.Errorf("it asks %+v, want the outcome", a)
				}
			}
		})
	}
}

// An agent that asks forever is answered 32 times.
func TestAsksForever(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	var n atomic.Int64
	canceled := make(chan bool, 1)
	h.answer = func(method string, _ map[string]any) []string {
		asks := child("t1", "INPUT_REQUIRED", fmt.Sprintf(`, "message": {"messageId": "m%d", "role": "ROLE_AGENT", "parts": [{"text": "more?"}]}`, n.Load()))
		switch method {
		case "CancelTask":
			select {
			case canceled <- true:
			default:
			}
			return []string{child("t1", "CANCELED", "")}
		case "SendStreamingMessage":
			n.Add(1)
			asks = child("t1", "INPUT_REQUIRED", fmt.Sprintf(`, "message": {"messageId": "m%d", "role": "ROLE_AGENT", "parts": [{"text": "more?"}]}`, n.Load()))
			return []string{`{"task": ` + asks + `}`}
		}
		return []string{asks}
	}
	s := ours(t, h.URL, nil)
	task := s.Send("/it hello")
	for range 32 {
		now := s.Wait(task.ID, a2a.TaskStateInputRequired)
		for len(s.Pending(now)) == 0 {
			now = s.Get(task.ID)
		}
		decide(t, s, now, approval.Decision{Type: approval.Respond, Response: json.RawMessage(`"no"`)})
	}
	if text := said(s, s.Wait(task.ID, a2a.TaskStateFailed)); !strings.Contains(text, "keeps asking") {
		t.Errorf("the task says %q", text)
	}
	<-canceled
}

// The agent gets the configured credential and never the caller's.
func TestCredentials(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.answer = func(string, map[string]any) []string {
		return []string{`{"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}`}
	}
	s := ours(t, h.URL, func(c *agenttool.Config) {
		c.Header = map[string]func() (string, error){"Authorization": func() (string, error) { return "Bearer ours", nil }}
	})
	s.Wait(s.Send("/it hello").ID, a2a.TaskStateCompleted)
	header := *h.headers.Load()
	if got := header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer ours" {
		t.Errorf("the agent got %v", header)
	}
}

// A message goes to no agent that has passed it on, and no deeper than depth.
func TestDepthAndCircle(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.answer = func(string, map[string]any) []string {
		return []string{`{"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}`}
	}
	s := ours(t, h.URL, func(c *agenttool.Config) { c.Depth = 2 })
	s.Wait(s.Send("/it first").ID, a2a.TaskStateCompleted)
	raw, err := json.Marshal(*h.last.Load())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Message struct {
			Parts []struct {
				Metadata map[string]map[string]any
			}
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Message.Parts) != 1 {
		t.Fatalf("the agent got %s, %v", raw, err)
	}
	d := got.Message.Parts[0].Metadata["urn:a2a-server:delegation"]
	again := func(change func(d map[string]any)) string {
		t.Helper()
		part := a2a.NewTextPart("/it again")
		change(d)
		part.Metadata = map[string]any{"urn:a2a-server:delegation": d}
		return said(s, s.Wait(s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, part)).ID, a2a.TaskStateFailed))
	}
	if text := again(func(map[string]any) {}); !strings.Contains(text, "make a circle") {
		t.Errorf("the same agent again: %q", text)
	}
	if text := again(func(d map[string]any) { d["agents"], d["depth"] = []any{"a", "b"}, 2 }); !strings.Contains(text, "depth allows 2") {
		t.Errorf("too deep: %q", text)
	}
	if n := h.asked.Load(); n != 1 {
		t.Errorf("the agent got %d messages, want 1", n)
	}
}

// A call that runs again sends no second message while the first may still do its work.
func TestRunsAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		state string
		sent  int64
	}{"the work is done": {"COMPLETED", 1}, "the work has failed": {"FAILED", 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			artifact := `{"id": "t1", "contextId": "c", "status": {"state": "TASK_STATE_%s"}, "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}]}`
			h.answer = func(method string, _ map[string]any) []string {
				switch {
				case method == "SendStreamingMessage" && h.asked.Load() == 1:
					return []string{`{"task": ` + child("t1", "WORKING", "") + `}`, `{"task": ` + child("t2", "WORKING", "") + `}`}
				case method == "SendStreamingMessage":
					return []string{`{"task": ` + strings.ReplaceAll(fmt.Sprintf(artifact, "COMPLETED"), "t1", "t3") + `}`}
				}
				return []string{fmt.Sprintf(artifact, tt.state)}
			}
			s := ours(t, h.URL, nil)
			task := s.Wait(s.Send("/it hello").ID, a2a.TaskStateInputRequired)
			s.Approve(task)
			if text := s.Text(s.Wait(task.ID, a2a.TaskStateCompleted)); !strings.Contains(text, "done") {
				t.Errorf("the task says %q", text)
			}
			if n := h.asked.Load(); n != tt.sent {
				t.Errorf("%d messages were sent, want %d", n, tt.sent)
			}
		})
	}
}

// A task is found by the message that made it, in the agent's list of the context.
func TestFoundByMessage(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.answer = func(method string, params map[string]any) []string {
		sent, _ := (*h.last.Load())["message"].(map[string]any)
		listed := func(id, message string) string {
			return fmt.Sprintf(`{"id": %q, "contextId": %q, "history": [{"messageId": %q, "role": "ROLE_USER", "parts": [{"text": "x"}]}], "status": {"state": "TASK_STATE_WORKING"}}`, id, sent["contextId"], message)
		}
		switch method {
		case "SendStreamingMessage":
			return nil // the connection ended, for example
		case "ListTasks":
			if params["contextId"] != sent["contextId"] {
				return nil
			}
			return []string{`{"tasks": [` + listed("other", "another message") + `, ` + listed("t1", fmt.Sprint(sent["messageId"])) + `], "totalSize": 2, "pageSize": 20, "nextPageToken": ""}`}
		}
		if params["id"] != "t1" {
			return nil
		}
		return []string{`{"task": {"id": "t1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"artifactId": "a", "parts": [{"text": "found"}]}]}}`}
	}
	s := ours(t, h.URL, nil)
	if text := s.Text(s.Wait(s.Send("/it hello").ID, a2a.TaskStateCompleted)); text != "found" {
		t.Errorf("the task says %q, want found", text)
	}
	if n := h.asked.Load(); n != 1 {
		t.Errorf("%d messages were sent, want 1", n)
	}
}

// After a cut stream the snapshot of the next replaces what came before.
func TestCutStream(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	var cuts atomic.Int64
	h.answer = func(method string, _ map[string]any) []string {
		chunk := func(text string, more bool) string {
			return fmt.Sprintf(`{"artifactUpdate": {"taskId": "t1", "contextId": "c", "append": %v, "artifact": {"artifactId": "a", "parts": [{"text": %q}]}}}`, more, text)
		}
		working := `{"id": "t1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [{"artifactId": "a", "parts": [{"text": "one two "}]}]}`
		switch method {
		case "SendStreamingMessage":
			return []string{`{"task": ` + child("t1", "WORKING", "") + `}`, chunk("one ", false)}
		case "SubscribeToTask":
			all := []string{`{"task": ` + working + `}`}
			if cuts.Add(1) > 1 {
				all = append(all, chunk("three", true), `{"statusUpdate": {"taskId": "t1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}`)
			}
			return all
		}
		return []string{working}
	}
	s := ours(t, h.URL, nil)
	text := s.Text(s.Wait(s.Send("/it hello").ID, a2a.TaskStateCompleted))
	if got := strings.ReplaceAll(text, "\n", ""); got != "one two three" {
		t.Errorf("the task says %q, want one two three", got)
	}
}

// A question that only others may answer at the agent is not answered here.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "pay", Terms: approval.Terms{Elsewhere: true, WaitingState: approval.WaitsAuth}}}})
	if err != nil {
		t.Fatal(err)
	}
	paid := &ledger{}
	leaf := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(paid)}, Policy: policy})
	top := serve(t, "it", leaf, nil)
	task := top.Wait(top.Send("/it /pay amount=5 to=bob").ID, a2a.TaskStateAuthRequired)
	if a := top.Pending(task); len(a) != 1 || a[0].AskKind != string(tool.AskAuth) {
		t.Errorf("it asks %+v, want a decision at the agent", a)
	}
	last := childOf(t, leaf)
	leaf.Approve(last)
	leaf.Wait(last.ID, a2a.TaskStateCompleted)
	top.Advance(time.Minute)
	top.Wait(task.ID, a2a.TaskStateCompleted)
	if n := len(paid.all()); n != 1 {
		t.Errorf("paid %d times, want once", n)
	}
}

// Two calls that run cannot have the same task of an agent.
func TestTaskOfAnotherCall(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	begun, end := make(chan bool, 2), make(chan bool)
	h.answer = func(method string, _ map[string]any) []string {
		switch method {
		case "SendStreamingMessage":
			return []string{`{"task": ` + child("t1", "WORKING", "") + `}`}
		case "SubscribeToTask":
			begun <- true
			<-end
		}
		return []string{`{"id": "t1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}]}`}
	}
	s := ours(t, h.URL, nil)
	part := a2a.NewTextPart("/it hello")
	var first sync.WaitGroup
	first.Go(func() { s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, part)) }) // answered when it rests
	<-begun
	second := s.Wait(s.Send("/it again").ID, a2a.TaskStateInputRequired)
	if text := said(s, second); !strings.Contains(text, "the task of another call") {
		t.Errorf("the task says %q", text)
	}
	close(end)
	first.Wait()
}
