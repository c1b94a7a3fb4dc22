package agenttool_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// unsure starts a bank whose payments take effect and end, the first times, without a known outcome.
func unsure(t *testing.T, times int64) (*a2aservertest.Server, *ledger) {
	t.Helper()
	l := &ledger{}
	var runs atomic.Int64
	return a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("bank", functiontool.Must(functiontool.New(functiontool.Config{
		Name: "pay", Description: "Pays somebody", RequireApproval: true,
	}, func(_ tool.Context, p payment) (string, error) {
		all := append(slices.Clone(l.all()), p)
		l.paid.Store(&all)
		if runs.Add(1) <= times {
			return "", fmt.Errorf("the line was cut: %w", tool.ErrOutcomeUnknown)
		}
		return "paid " + p.To, nil
	})))}}), l
}

// types sends a text to a task, as a person types it.
func types(s *a2aservertest.Server, task *a2a.Task, text string) {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.TaskID, m.ContextID = task.ID, task.ContextID
	s.SendMessage(m)
}

// next waits for a question other than those before.
func next(t *testing.T, s *a2aservertest.Server, task *a2a.Task, before ...approval.Approval) approval.Approval {
	t.Helper()
	for {
		pending := s.Pending(s.Wait(task.ID, a2a.TaskStateInputRequired))
		if len(pending) == 1 && !slices.ContainsFunc(before, func(a approval.Approval) bool { return a.ID == pending[0].ID }) {
			return pending[0]
		}
		if t.Context().Err() != nil {
			t.Fatal("nothing else is asked")
		}
	}
}

// The question what came of a call is one at every server through which it comes: it has a digest of its
// own, it says what approve does, and no word answers it.
func TestOutcomeThroughAgents(t *testing.T) {
	t.Parallel()
	for name, servers := range map[string]int{"two servers": 2, "three servers": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, paid := unsure(t, 1)
			text := "/pay amount=5 to=bob"
			for i := range servers - 1 {
				agent := []string{"bank", "desk"}[i]
				top, text = serve(t, agent, top, nil), "/"+agent+" "+text
			}
			task := top.Send(text)
			first := next(t, top, task)
			types(top, task, "yes")
			asked := next(t, top, task, first)
			types(top, task, "yes")
			types(top, task, "yes "+asked.Code)
			types(top, task, "no")
			again := next(t, top, task)
			if again.ID != asked.ID || again.Digest != asked.Digest || len(paid.all()) != 1 {
				t.Fatalf("after words %s is asked, after %s, and paid is %v", again.ID, asked.ID, paid.all())
			}
			if asked.Kind != approval.KindOutcome || asked.Digest == first.Digest || asked.Code != "" {
				t.Errorf("asked %s with the digest %s and the code %q; that of the call is %s", asked.Kind, asked.Digest, asked.Code, first.Digest)
			}
			if got, want := asked.Decisions(), []approval.DecisionType{approval.Approve, approval.Respond, approval.Reject, approval.Cancel}; !slices.Equal(got, want) {
				t.Errorf("it takes %v, want %v", got, want)
			}
			if text := said(top, top.Get(task.ID)); !strings.Contains(text, "no word counts") || strings.Contains(text, `type "`) {
				t.Errorf("the question is %s", text)
			}
			decide(t, top, top.Get(task.ID), approval.Decision{Type: approval.Respond, Response: json.RawMessage(`"it was paid"`)})
			done := top.Wait(task.ID, a2a.TaskStateCompleted)
			if text := top.Text(done); !strings.Contains(text, "it was paid") || len(paid.all()) != 1 {
				t.Errorf("the task says %q, and paid is %v", text, paid.all())
			}
		})
	}
}

// An agent that takes no result for an outcome is asked for approve and reject, which the question says. An
// outcome that a server in between passes on as a confirmation is one all the same.
func TestOutcomeOfOthers(t *testing.T) {
	t.Parallel()
	asks := func(kind, payload string) string {
		return child("t1", "INPUT_REQUIRED", fmt.Sprintf(`, "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "?"}],
			"metadata": {"urn:a2a-server:extension:tool-approval:v1": {"type": "approval_request", "approvals": [
				{"id": "q1", "kind": %q, "tool": {"name": "pay"}, "arguments": {"to": "bob"}, "digest": "d1", "summary": "Was it paid?", "options": ["approve", "reject"]%s}]}}}`, kind, payload))
	}
	for name, question := range map[string]string{
		"an outcome":                asks("outcome", ""),
		"an outcome, passed on":     asks("call", `, "payload": {"agent": "bank", "kind": "outcome", "tool": "pay", "arguments": {}}`),
		"an outcome that says call": asks("outcome", `, "payload": {"agent": "bank", "kind": "call", "tool": "pay", "arguments": {}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			h.answer = func(method string, _ map[string]any) []string {
				switch {
				case method == "SendStreamingMessage" && h.asked.Load() > 1:
					return []string{`{"task": ` + paidChild + `}`}
				case method == "SendStreamingMessage":
					return []string{`{"task": ` + question + `}`}
				}
				return []string{question}
			}
			s := ours(t, h.URL, nil)
			task := s.Wait(s.Send("/it hello").ID, a2a.TaskStateInputRequired)
			types(s, task, "yes")
			a := decide(t, s, task, approval.Decision{Type: approval.Approve})
			if a.Kind != approval.KindOutcome || !strings.Contains(a.Hint, "no other answer") || slices.Contains(a.Decisions(), approval.Respond) {
				t.Errorf("asked %s: %q, which takes %v", a.Kind, a.Hint, a.Decisions())
			}
			s.Wait(task.ID, a2a.TaskStateCompleted)
			if got := h.sent(t); !strings.Contains(got, `"decision":"approve"`) {
				t.Errorf("the agent was sent %s", got)
			}
		})
	}
}

// A gate that takes no text takes none at the servers above.
func TestNoTextAbove(t *testing.T) {
	t.Parallel()
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "pay", Action: approval.ActionAsk, Terms: approval.Terms{NoText: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	paid := &ledger{}
	leaf := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(paid)}, Policy: policy})
	top := serve(t, "middle", serve(t, "leaf", leaf, nil), nil)
	task := top.Wait(top.Send(payBob).ID, a2a.TaskStateInputRequired)
	types(top, task, "yes")
	if pending := top.Pending(top.Get(task.ID)); len(pending) != 1 || len(paid.all()) > 0 {
		t.Errorf("after a word, %d approvals are pending, and paid is %v", len(pending), paid.all())
	}
}
