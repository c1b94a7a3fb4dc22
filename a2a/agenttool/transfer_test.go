package agenttool_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/internal/modeltest"
	"a2a-server/task/planner/llm"
	"a2a-server/tool"
	"a2a-server/tool/controltool"
)

// An agent to which a model has handed the task over asks in plain words, the client answers in
// plain words, and the agent's result ends the task. The model is not asked again.
func TestTransferAsksInPlainWords(t *testing.T) {
	t.Parallel()
	model := &modeltest.Endpoint{Model: "m", Answer: func(*modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Calls: []modeltest.Call{{Name: "transfer_to_it", Args: "{}"}}}
	}}
	endpoint := httptest.NewServer(model)
	t.Cleanup(endpoint.Close)
	planner, err := llm.New(llm.Config{URL: endpoint.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range bindings() {
		url, _ := peer(t, a2a.TransportProtocol(b[0]), a2a.ProtocolVersion(b[1]))
		to, err := controltool.TransferTo("it", "")
		if err != nil {
			t.Fatal(err)
		}
		no := false
		set, err := agenttool.New(agenttool.Config{Name: "it", Card: url + "/.well-known/agent-card.json", Approve: &no, Allow: loopback, Poll: time.Hour}, to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = set.Close() })
		s := a2aservertest.New(t, a2aserver.Config{Planner: planner, Tools: []tool.Toolset{set}})
		before := len(model.Requests())
		asks := s.Wait(s.Send("ask").ID, a2a.TaskStateInputRequired)
		if text := said(s, asks); !strings.Contains(text, "Which color?") {
			t.Errorf("%s: the task asks %q", name, text)
		}
		s.SendMessage(a2a.NewMessageForTask(a2a.MessageRoleUser, asks, a2a.NewTextPart("blue")))
		if text := said(s, s.Wait(asks.ID, a2a.TaskStateCompleted)); !strings.Contains(text, "answered blue") {
			t.Errorf("%s: the task says %q", name, text)
		}
		if n := len(model.Requests()) - before; n != 1 {
			t.Errorf("%s: the model was asked %d times, want 1", name, n)
		}
	}
}
