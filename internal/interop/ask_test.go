package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asking is a server of examples/ask, with the keys of its agent and its approver.
type asking struct {
	*server
	interpreter, script string
	folder              string // of the agent's files
	agent, bob          string
}

// startAsking starts the server of examples/ask.
func startAsking(t *testing.T) *asking {
	t.Helper()
	dir := t.TempDir()
	program, config := filepath.Join(dir, "a2a-server"), filepath.Join(dir, "a2a-server.yaml")
	must(t, root, "go", "build", "-o", program, "./cmd/a2a-server")
	example, err := filepath.Abs(filepath.Join(root, "examples", "ask"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(example, "a2a-server.yaml"))
	if err == nil {
		err = os.WriteFile(config, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	key := func(args ...string) string {
		cmd := exec.Command(program, append([]string{"keys", "add", "--config", config}, args...)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", cmd, err)
		}
		return strings.TrimSpace(string(out))
	}
	a := &asking{interpreter: installPython(t, "a2a-sdk"), script: filepath.Join(example, "refund.py"), folder: t.TempDir()}
	a.agent, a.bob = key("agent", "--role", "requester", "--kind", "service"), key("bob", "--role", "approver")
	a.server = start(t, program, filepath.Join(dir, "data"), "--config", config)
	return a
}

// refund starts the agent.
func (a *asking) refund(ctx context.Context, t *testing.T, order string) (cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	cmd, out = exec.CommandContext(ctx, a.interpreter, a.script, order, "30"), &bytes.Buffer{}
	cmd.Dir, cmd.Env = a.folder, quiet(t, "SERVER="+a.url, "API_KEY="+a.agent)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// api makes a request of bob to the approvals API.
func (a *asking) api(ctx context.Context, t *testing.T, method, path string, body, into any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+"/api/v1/approvals"+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", a.bob)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: HTTP %d, %v", method, path, resp.StatusCode, err)
	}
}

// decide waits for the only pending approval and has bob decide it.
func (a *asking) decide(ctx context.Context, t *testing.T, decision map[string]any) (id string) {
	t.Helper()
	var pending struct{ Items []struct{ ID, Digest string } }
	for ; len(pending.Items) == 0; time.Sleep(50 * time.Millisecond) {
		a.api(ctx, t, http.MethodGet, "", nil, &pending)
	}
	if len(pending.Items) != 1 {
		t.Fatalf("%d approvals are pending, want 1", len(pending.Items))
	}
	if decision != nil {
		decision["digest"] = pending.Items[0].Digest
		a.api(ctx, t, http.MethodPost, "/"+pending.Items[0].ID+"/decision", decision, &map[string]any{})
	}
	return pending.Items[0].ID
}

// TestAsk runs examples/ask: an agent in Python whose function runs once another person has approved its
// call, with the approved arguments and once, also when the agent dies while it waits.
func TestAsk(t *testing.T) {
	t.Parallel()
	ctx, cancel := deadline(t)
	defer cancel()
	a := startAsking(t)

	dies, _ := a.refund(ctx, t, "A-17")
	id := a.decide(ctx, t, nil)
	_ = dies.Process.Kill()
	_ = dies.Wait()
	again, out := a.refund(ctx, t, "A-17")
	if same := a.decide(ctx, t, map[string]any{"decision": "approve"}); same != id {
		t.Errorf("the agent asks again, with %s after %s", same, id)
	}
	if err := again.Wait(); err != nil || !strings.Contains(out.String(), "refunded 30.0 for A-17") {
		t.Fatalf("the approved call: %v\n%s", err, out)
	}
	last, out := a.refund(ctx, t, "A-17")
	if err := last.Wait(); err != nil {
		t.Fatalf("the call again: %v\n%s", err, out)
	}
	refused, out := a.refund(ctx, t, "A-18")
	a.decide(ctx, t, map[string]any{"decision": "reject", "reason": "no receipt"})
	if err := refused.Wait(); err == nil || !strings.Contains(out.String(), "refund was refused: no receipt") {
		t.Errorf("the rejected call: %v\n%s", err, out)
	}
	invalid, out := a.refund(ctx, t, "none")
	if err := invalid.Wait(); err == nil || !strings.Contains(out.String(), "was not decided") {
		t.Errorf("the invalid call: %v\n%s", err, out)
	}
	book, err := os.ReadFile(filepath.Join(a.folder, "refunds.txt"))
	if want := fmt.Sprintf("%s A-17 30.0\n", id); err != nil || string(book) != want {
		t.Errorf("refunds = %q, %v, want %q", book, err, want)
	}
}
