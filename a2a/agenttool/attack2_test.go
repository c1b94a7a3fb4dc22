package agenttool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/agenttool"
	"a2a-server/approval"
	"a2a-server/auth"
)

// A redirect, with the credential, is followed nowhere: not for the card, and not for a message.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int64
	thief := newHostile(t)
	thief.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) })
	for _, at := range []string{http.MethodGet, http.MethodPost} {
		h := newHostile(t)
		h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == at {
				http.Redirect(w, r, thief.URL+"/", http.StatusTemporaryRedirect)
				return
			}
			h.ServeHTTP(w, r)
		})
		s := ours(t, h.URL, func(c *agenttool.Config) {
			c.Description = "d"
			c.Header = map[string]func() (string, error){"Authorization": func() (string, error) { return "Bearer ours", nil }}
		})
		now := s.Send("/it hello")
		t.Logf("%s: %s %s", at, now.Status.State, said(s, now))
	}
	if stolen.Load() > 0 {
		t.Errorf("%d requests went elsewhere", stolen.Load())
	}
}

// Two questions at once: each answer goes to its own, also when one comes before a look.
func TestTwoQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	two := child("t1", "INPUT_REQUIRED", `, "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "pay?"}],
		"metadata": {"urn:a2a-server:extension:tool-approval:v1": {"type": "approval_request", "approvals": [
			{"id": "q1", "kind": "call", "tool": {"name": "pay"}, "arguments": {"to": "bob"}, "digest": "d1", "summary": "Pay bob?", "options": ["approve", "reject"]},
			{"id": "q2", "kind": "call", "tool": {"name": "pay"}, "arguments": {"to": "eve"}, "digest": "d2", "summary": "Pay eve?", "options": ["approve", "reject"]}]}}}`)
	h.answer = func(method string, _ map[string]any) []string {
		if method == "SendStreamingMessage" && h.asked.Load() == 1 {
			return []string{`{"task": ` + two + `}`}
		}
		if h.asked.Load() > 1 {
			if method == "SendStreamingMessage" {
				return []string{`{"task": ` + paidChild + `}`}
			}
			return []string{paidChild}
		}
		return []string{two}
	}
	s := ours(t, h.URL, nil)
	waits := s.Wait(s.Send("/it hello").ID, a2a.TaskStateInputRequired)
	for _, a := range s.Pending(waits) {
		d := approval.Decision{ID: a.ID, Type: approval.Approve}
		if strings.Contains(string(a.Payload), "eve") {
			d.Type = approval.Reject
		}
		if err := s.Approvals().Decide(t.Context(), auth.Anonymous(), d); err != nil {
			t.Fatal(err)
		}
	}
	s.Wait(waits.ID, a2a.TaskStateCompleted)
	got := h.sent(t)
	for _, want := range []string{`"decision":"approve","digest":"d1","id":"q1"`, `"decision":"reject","digest":"d2","id":"q2"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the agent got %s, want %s", got, want)
		}
	}
}

// An answer in plain text is lost by no agent that is away, either, and is not sent twice when its
// connection is cut after it.
func TestAnswerIsSentOnce(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	asks := func(n int64) string {
		return child("t1", "INPUT_REQUIRED", fmt.Sprintf(`, "message": {"messageId": "m%d", "role": "ROLE_AGENT", "parts": [{"text": "question %d"}]}`, n, n))
	}
	h.answer = func(method string, _ map[string]any) []string {
		switch n := h.asked.Load(); {
		case method == "SendStreamingMessage" && n == 1:
			return []string{`{"task": ` + asks(1) + `}`}
		case method == "SendStreamingMessage":
			return nil // cut, after it has been taken
		case n == 1:
			return []string{asks(1)}
		}
		return []string{asks(2)}
	}
	s := ours(t, h.URL, nil)
	waits := s.Wait(s.Send("/it hello").ID, a2a.TaskStateInputRequired)
	first := decide(t, s, waits, approval.Decision{Type: approval.Respond, Response: json.RawMessage(`"yes"`)})
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); s.Advance(time.Second) {
		if again := s.Pending(s.Get(waits.ID)); len(again) > 0 && again[0].ID != first.ID {
			break
		}
	}
	if n := h.asked.Load(); n != 2 {
		t.Errorf("%d messages were sent, want 2: the second question was answered by the first answer", n)
	}
}
