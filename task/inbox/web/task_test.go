package web_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/testserver"
)

// The pages say of a task that it waits for a decision, whatever its A2A state is, and whether its call ran. They
// show the result of the call once, after the decision.
func TestTaskShown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(file, []byte("gates:\n  - {tool: echo, name: talk, four_eyes: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool     string
		args     map[string]any
		decision string
		protocol string // state while it waits
		ended    string
		once     string
	}{
		"a rejection": {"echo", map[string]any{"text": "parrot"}, "reject", "Working", `<span class="s end">Canceled, its call was rejected</span>`, "the call was rejected: not this &lt;month&gt;"},
		"a text":      {"echo", map[string]any{"text": "parrot"}, "approve", "Working", `<span class="s done">Completed</span>`, `<summary>Arguments</summary>`},
		"an object":   {"transfer_money", map[string]any{"amount": 5, "to": "dave"}, "approve", "Input required", `<span class="s done">Completed</span>`, "transferred"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, func(c *testserver.Config) { c.File = file })
			id, digest := w.asks(c.tool, c.args)
			task := "/ui/tasks/" + taskOf(id)
			waits := []string{`<span class="s wait">Waits for a decision</span>`, "A2A state: " + c.protocol}
			w.has(w.get(alice, task), http.StatusOK, waits)
			w.has(w.get(alice, "/ui/tasks"), http.StatusOK, waits)
			w.has(w.get(carol, "/ui/try?task="+taskOf(id)), http.StatusOK, append(waits, "It waits for a decision."))

			w.Advance(time.Hour)
			w.has(w.decide(alice, id, url.Values{"decision": {c.decision}, "digest": {digest}, "confirm": {c.tool}, "reason": {"not this <month>"}}), http.StatusSeeOther, nil)
			state := a2a.TaskStateCompleted
			if c.decision == "reject" {
				state = a2a.TaskStateCanceled
			}
			w.As(carol).Wait(a2a.TaskID(taskOf(id)), state)
			decided := w.until(id, func(a *approval.Approval) bool { return a.Resolution != nil }).Resolution.At
			p := w.get(alice, task)
			w.has(p, http.StatusOK, []string{c.ended, `data-key="ac1.1" class=""><time datetime="` + decided.UTC().Format(time.RFC3339)}, "Waits for a decision")
			timeline, _, _ := strings.Cut(p.body, `aria-label="Details"`)
			if n := strings.Count(timeline, c.once); n != 1 {
				t.Errorf("the timeline has %q %d times:\n%s", c.once, n, timeline)
			}
		})
	}
}
