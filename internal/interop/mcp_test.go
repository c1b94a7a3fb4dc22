package interop

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// exampleMCP is the folder of the example that testMCP runs.
const exampleMCP = root + "/examples/mcp"

// prepareMCP copies the example, with what it needs from npm and PyPI, and returns its
// folder.
func prepareMCP(t *testing.T, interpreter string) string {
	t.Helper()
	dir := t.TempDir()
	entries, err := os.ReadDir(exampleMCP)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(exampleMCP, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == "a2a-server.yaml" {
			content = []byte(strings.ReplaceAll(string(content), "[python3,", "["+interpreter+","))
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	must(t, dir, find(t, "npm", "install npm, which comes with Node.js"), "ci", "--prefer-offline", "--ignore-scripts")
	must(t, dir, filepath.Join(dir, "node_modules", ".bin", "tsc"))
	return dir
}

// testMCP runs examples/mcp: tools written in Python and TypeScript, and two servers from
// npm.
func testMCP(t *testing.T, p programs) {
	dir := prepareMCP(t, p.python["mcp"])
	s := start(t, p.server, t.TempDir(), "--config", filepath.Join(dir, "a2a-server.yaml"))
	connected(t, s, 4)
	c := &sdkClient{url: s.url, binding: a2a.TransportProtocolHTTPJSON, resolver: agentcard.NewResolver(&http.Client{})}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	for _, name := range []string{"python", "typescript"} {
		t.Run(name, func(t *testing.T) {
			ledger := filepath.Join(dir, "ledger.jsonl")
			if err := os.RemoveAll(ledger); err != nil {
				t.Fatal(err)
			}
			pay := func() *a2a.Task {
				return send(ctx, t, c, call(name+"_pay", map[string]any{"to": "bob", "amount": 3}))
			}
			paid := func(want string) {
				t.Helper()
				content, err := os.ReadFile(ledger)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				if got := strings.ReplaceAll(string(content), " ", ""); got != want {
					t.Errorf("the ledger has %q, want %q", got, want)
				}
			}
			rejected := pay()
			if end := send(ctx, t, c, answer(rejected, decision(asked(t, rejected).ID, "reject", nil))); end.Status.State != a2a.TaskStateCanceled {
				t.Errorf("after a rejection the task is %s", end.Status.State)
			}
			canceled := pay()
			if _, err := c.cancel(ctx, &a2a.CancelTaskRequest{ID: canceled.ID}); err != nil {
				t.Error(err)
			}
			paid("")
			approved := pay()
			end := send(ctx, t, c, answer(approved, decision(asked(t, approved).ID, "approve", nil)))
			if end.Status.State != a2a.TaskStateCompleted {
				t.Fatalf("after an approval the task is %s: %s", end.Status.State, texts(end.Status.Message))
			}
			paid(`{"to":"bob","amount":3}` + "\n")
			edited := pay()
			end = send(ctx, t, c, answer(edited, decision(asked(t, edited).ID, "edit", map[string]any{"arguments": map[string]any{"to": "eve", "amount": 4}})))
			if end.Status.State != a2a.TaskStateCompleted {
				t.Fatalf("after an edit the task is %s: %s", end.Status.State, texts(end.Status.Message))
			}
			paid(`{"to":"bob","amount":3}` + "\n" + `{"to":"eve","amount":4}` + "\n")
			if got := shownData(t, end); !strings.Contains(got, `"to":"eve"`) {
				t.Errorf("the result is %s", got)
			}
		})
	}

	t.Run("files", func(t *testing.T) {
		name := filepath.Join(dir, "files", "hello.txt")
		asks := send(ctx, t, c, call("files_write_file", map[string]any{"path": name, "content": "Hello"}))
		q := asked(t, asks)
		if _, err := os.Stat(name); err == nil {
			t.Error("the file was written before that was approved")
		}
		if end := send(ctx, t, c, answer(asks, decision(q.ID, "approve", nil))); end.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("the task is %s: %s", end.Status.State, texts(end.Status.Message))
		}
		if content, err := os.ReadFile(name); err != nil || string(content) != "Hello" {
			t.Errorf("the file has %q, %v", content, err)
		}
		read := send(ctx, t, c, call("files_read_text_file", map[string]any{"path": name}))
		if got := shownData(t, read); read.Status.State != a2a.TaskStateCompleted || !strings.Contains(got, "Hello") {
			t.Errorf("reading is %s: %s", read.Status.State, got)
		}
		outside := send(ctx, t, c, call("files_read_text_file", map[string]any{"path": "/etc/passwd"}))
		if outside.Status.State != a2a.TaskStateFailed {
			t.Errorf("reading a file elsewhere is %s", outside.Status.State)
		}
	})

	t.Run("elicits", func(t *testing.T) { testElicits(t, p, dir) })
	t.Run("everything", func(t *testing.T) {
		for _, tc := range []struct {
			tool string
			args map[string]any
			want string
		}{
			{"echo", map[string]any{"message": "ö\n🚀"}, `ö\n🚀`},
			{"get-sum", map[string]any{"a": 2, "b": 40}, "42"},
			{"get-tiny-image", map[string]any{}, `"mediaType":"image/png"`},
		} {
			end := send(ctx, t, c, call("everything_"+tc.tool, tc.args))
			if got := shownData(t, end); end.Status.State != a2a.TaskStateCompleted || !strings.Contains(got, tc.want) {
				t.Errorf("%s is %s: %.500s", tc.tool, end.Status.State, got)
			}
		}
		reports := 0
		req := &a2a.SendMessageRequest{Message: call("everything_trigger-long-running-operation", map[string]any{"duration": 2, "steps": 4})}
		for event, err := range c.stream(ctx, req) {
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := event.(*a2a.TaskStatusUpdateEvent); ok && strings.Contains(string(raw), `"total":4`) {
				reports++
			}
		}
		if reports == 0 {
			t.Error("no progress was reported")
		}
	})
}

// shownData returns the artifacts of a task as JSON.
func shownData(t *testing.T, task *a2a.Task) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(task.Artifacts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
