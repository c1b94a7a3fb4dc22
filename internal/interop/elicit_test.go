package interop

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// elicits configures servers whose tools ask while their calls run (elicitation/create), of
// which two are not offered to people: their questions are declined, which is the default.
const elicits = `
tools:
  - mcp: asks
    command: [node, %[1]s]
    only: [trigger-elicitation-request]
    approve: none
    elicit: ask
  - mcp: declines
    command: [node, %[1]s]
    only: [echo, trigger-elicitation-request]
    approve: none
  - mcp: seats
    command: [%[2]s, %[3]s]
    env: {LEDGER: %[4]s}
    only: [book]
    elicit: ask
    protocol: 2025-11-25
  - mcp: empty
    command: [%[2]s, %[3]s]
    env: {LEDGER: %[4]s}
    only: [book]
    protocol: 2025-11-25
`

// testElicits has the questions of servers answered, and declined, while their calls run. dir
// has what npm installs for the example of MCP.
func testElicits(t *testing.T, p programs, dir string) {
	everything := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	book, err := filepath.Abs(filepath.Join("python", "mcp", "book.py"))
	if err != nil {
		t.Fatal(err)
	}
	ledger, file := filepath.Join(dir, "seats.jsonl"), filepath.Join(dir, "elicits.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, elicits, everything, p.python["mcp"], book, ledger), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, p.server, t.TempDir(), "--config", file)
	connected(t, s, 4)
	c := &sdkClient{url: s.url, binding: a2a.TransportProtocolHTTPJSON, resolver: agentcard.NewResolver(&http.Client{})}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	// decide sends a decision on the one thing that a task waits for.
	decide := func(t *testing.T, of *a2a.Task, kind, verb string, fields map[string]any) *a2a.Task {
		t.Helper()
		q := asked(t, of)
		if q.Kind != kind {
			t.Fatalf("task %s asks %+v, want a %s", of.ID, q, kind)
		}
		return send(ctx, t, c, answer(of, decision(q.ID, verb, fields)))
	}
	// result wants the task to be completed with a text in its result.
	result := func(t *testing.T, end *a2a.Task, want string) {
		t.Helper()
		wantState(t, end, a2a.TaskStateCompleted)
		if got := shownData(t, end); !strings.Contains(got, want) {
			t.Errorf("the result is %s, want %q in it", got, want)
		}
	}
	booked := func(t *testing.T, want string) {
		t.Helper()
		content, err := os.ReadFile(ledger)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(string(content), " ", ""); got != want {
			t.Errorf("the tool has done %q, want %q", got, want)
		}
		if err := os.RemoveAll(ledger); err != nil {
			t.Fatal(err)
		}
	}

	t.Run("everything answered", func(t *testing.T) {
		asks := send(ctx, t, c, call("asks_trigger-elicitation-request", map[string]any{}))
		if got := asked(t, asks).Summary; !strings.HasSuffix(got, "asks: Please provide inputs for the following fields:") {
			t.Errorf("the question is %q", got)
		}
		// An answer that does not fit the form changes nothing.
		wrong := answer(asks, decision(asked(t, asks).ID, "respond", map[string]any{"response": map[string]any{"name": "Ada", "integer": 101}}))
		if _, err := c.send(ctx, &a2a.SendMessageRequest{Message: wrong}); err == nil {
			t.Error("an answer with an integer that is out of range is accepted")
		}
		end := decide(t, asks, "question", "respond", map[string]any{"response": map[string]any{
			"name": "Ada ö", "check": true, "integer": 7, "untitledMultipleSelectEnum": []any{"Drums"},
		}})
		result(t, end, `- Name: Ada ö\n- Agreed to terms: true\n- Favorite Integer: 7`)
		result(t, end, "Drums")
	})
	t.Run("everything rejected", func(t *testing.T) {
		asks := send(ctx, t, c, call("asks_trigger-elicitation-request", map[string]any{}))
		result(t, decide(t, asks, "question", "reject", nil), "User declined to provide the requested information")
	})
	t.Run("everything canceled", func(t *testing.T) {
		asks := send(ctx, t, c, call("asks_trigger-elicitation-request", map[string]any{}))
		asked(t, asks)
		if end, err := c.cancel(ctx, &a2a.CancelTaskRequest{ID: asks.ID}); err != nil || end.Status.State != a2a.TaskStateCanceled {
			t.Errorf("cancel = %+v, %v", end, err)
		}
		// The server still has a question about the call that has ended; the next one is not
		// held up by it.
		next := send(ctx, t, c, call("asks_trigger-elicitation-request", map[string]any{}))
		result(t, decide(t, next, "question", "respond", map[string]any{"response": map[string]any{"name": "Bob"}}), "- Name: Bob")
	})
	t.Run("everything by default", func(t *testing.T) {
		result(t, send(ctx, t, c, call("declines_echo", map[string]any{"message": "here"})), "here")
		// It lists the tool only to those who can be asked.
		end := send(ctx, t, c, call("declines_trigger-elicitation-request", map[string]any{}))
		wantState(t, end, a2a.TaskStateFailed)
	})

	seat := map[string]any{"to": "Rome"}
	t.Run("Python answered", func(t *testing.T) {
		gate := send(ctx, t, c, call("seats_book", seat))
		asked(t, gate)
		booked(t, "")
		asks := decide(t, gate, "call", "approve", nil)
		if got := asked(t, asks).Summary; !strings.HasSuffix(got, "asks: Which seat to Rome?") {
			t.Errorf("the question is %q", got)
		}
		end := decide(t, asks, "question", "respond", map[string]any{"response": map[string]any{"row": 12, "window": true}})
		result(t, end, `"row":12`)
		booked(t, `{"asks":"Rome"}`+"\n"+`{"books":"Rome","row":12}`+"\n")
	})
	t.Run("Python call rejected", func(t *testing.T) {
		end := decide(t, send(ctx, t, c, call("seats_book", seat)), "call", "reject", nil)
		wantState(t, end, a2a.TaskStateCanceled)
		booked(t, "")
	})
	t.Run("Python question rejected", func(t *testing.T) {
		asks := decide(t, send(ctx, t, c, call("seats_book", seat)), "call", "approve", nil)
		result(t, decide(t, asks, "question", "reject", nil), `"booked":"decline"`)
		booked(t, `{"asks":"Rome"}`+"\n")
	})
	t.Run("Python by default", func(t *testing.T) {
		// The library does not ask who cannot be asked.
		end := decide(t, send(ctx, t, c, call("empty_book", seat)), "call", "approve", nil)
		wantState(t, end, a2a.TaskStateFailed)
		if got := texts(end.Status.Message); !strings.Contains(got, "client does not support elicitation") {
			t.Errorf("the task has failed with %q", got)
		}
		booked(t, `{"asks":"Rome"}`+"\n")
	})
}
