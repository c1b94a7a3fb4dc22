package agenttool_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/tool"
)

// An agent that asks for its confirmation in words escapes no condition of the gate.
func TestConditionsOfQuestionsInWords(t *testing.T) {
	t.Parallel()
	url, _ := peer(t, a2a.TransportProtocolJSONRPC, "1.0")
	set, err := agenttool.New(agenttool.Config{Name: "it", Card: url + "/.well-known/agent-card.json", Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "it", Terms: approval.Terms{Elsewhere: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{set}, Policy: policy})
	task := s.Send("/it ask")
	first := decide(t, s, task, approval.Decision{Type: approval.Approve})
	for {
		again := s.Pending(s.Get(task.ID))
		if len(again) == 0 || again[0].ID == first.ID {
			continue
		}
		if !again[0].Terms.Elsewhere {
			t.Errorf("a client may answer %q, although the call is approved elsewhere", again[0].Hint)
		}
		return
	}
}
