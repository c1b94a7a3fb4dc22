package agenttool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/client"
	"a2a-server/tool"
)

// What a gate masks is in no list, also when the agent asks about it.
func TestMaskOfTheCall(t *testing.T) {
	t.Parallel()
	leaf := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(&ledger{})}})
	set, err := agenttool.New(agenttool.Config{Name: "it", Card: leaf.URL + "/.well-known/agent-card.json", Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	masks, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "it", Terms: approval.Terms{Mask: []string{"/message"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	top := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{set}, Policy: masks})
	task := top.Wait(top.Send("/it /pay amount=5 to=iban123").ID, a2a.TaskStateInputRequired)
	first := decide(t, top, task, approval.Decision{Type: approval.Approve})
	for {
		if again := top.Pending(top.Get(task.ID)); len(again) > 0 && again[0].ID != first.ID {
			break
		}
	}
	c, err := client.New(client.Config{URL: top.URL})
	if err != nil {
		t.Fatal(err)
	}
	page, err := c.Approvals(t.Context(), client.ApprovalQuery{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), approval.Masked) || strings.Contains(string(raw), "iban123") {
		t.Errorf("the list has what is masked: %s", raw)
	}
}
