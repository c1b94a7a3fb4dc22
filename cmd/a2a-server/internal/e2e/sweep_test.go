package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"a2a-server/client"
)

// A gate that denies ends the pending approvals of the calls that it is about, at the reload or the start that
// brings it: its requester, its deciders and the audit are told. What it denies only because its condition fails
// stays pending, and does not run.
func TestReloadEndsWhatIsDenied(t *testing.T) {
	t.Parallel()
	c, file := configured(t, "policy: {files: [rules.yaml]}\n"+echoTool)
	c.Authenticator = byHeader{}
	rules := filepath.Join(filepath.Dir(file), "rules.yaml")
	const asks = "  - {name: asks, tool: say}\n"
	large := func(more int) string {
		return fmt.Sprintf("gates:\n%s  - {name: frozen, tool: say, action: deny, when: args.amount > %d, hint: 'secret {amount}'}\n", asks, more)
	}
	rewrite(t, rules, "gates:\n"+asks)
	in := start(t, c)
	asked := func(id, args string) string {
		t.Helper()
		task, answer := in.sendAs(t, message(id, "/say "+args), "Authorization", "alice")
		if task.Status.State != waits {
			t.Fatalf("the call does not ask: %s", answer)
		}
		return task.ID
	}
	read := func(path string, into any) {
		t.Helper()
		if status, text := in.do(t, http.MethodGet, path, "", "Authorization", "alice"); status != http.StatusOK || json.Unmarshal([]byte(text), into) != nil {
			t.Fatalf("%s: %d %s", path, status, text)
		}
	}
	state := func(task string) client.Approval {
		t.Helper()
		var d client.ApprovalDetail
		read("/api/v1/approvals/"+task+".a1", &d)
		return d.Approval
	}
	follow := func(task string) *followed {
		return in.follow(t, request(t, "SubscribeToTask", map[string]any{"id": task}), "Authorization", "alice")
	}
	unclear, small, big, bigger := asked("m1", `{"text": "x"}`), asked("m2", `{"amount": 1}`), asked("m3", `{"amount": 20}`), asked("m4", `{"amount": 2000}`)

	stream := follow(bigger)
	rewrite(t, rules, large(1000))
	in.reload(t)
	if said := strings.Join(stream.end(t), "\n"); !strings.Contains(said, "frozen") || !strings.Contains(said, "TASK_STATE_FAILED") {
		t.Errorf("the requester reads %s", said)
	}
	a := state(bigger)
	if a.State != client.Canceled || a.Resolution.Via != "policy" || !strings.Contains(a.Resolution.Reason, "frozen") || strings.Contains(a.Resolution.Reason, "secret") {
		t.Errorf("the denied approval is %s, %+v", a.State, a.Resolution)
	}
	if lines := in.log.find("approval ended by the policy"); len(lines) != 1 {
		t.Errorf("the log has %v", lines)
	}
	for name, task := range map[string]string{"whose condition fails": unclear, "of a small amount": small, "of a large amount": big} {
		if a := state(task); a.State != client.Pending {
			t.Errorf("the approval %s is %s: %+v", name, a.State, a.Resolution)
		}
	}
	if _, said := in.do(t, http.MethodPost, "/api/v1/approvals/"+bigger+".a1/decision", fmt.Sprintf(`{"decision":"approve","digest":%q}`, a.Digest), "Authorization", "alice"); !strings.Contains(said, "frozen") {
		t.Errorf("a decision on the ended approval reads %s", said)
	}

	stream = follow(big) // two reloads in a row: the later counts
	rewrite(t, rules, large(1_000_000))
	in.reload(t)
	rewrite(t, rules, large(10))
	in.reload(t)
	stream.end(t)
	if a := state(small); a.State != client.Pending {
		t.Errorf("after a reload of a gate that does not deny it, the approval is %s", a.State)
	}
	in.halt(t)

	rewrite(t, rules, large(0)) // while nothing runs
	in = start(t, c)
	if _, said := in.do(t, http.MethodGet, "/tasks/"+small, "", "Authorization", "alice"); strings.Contains(said, waits) { // it may have ended by now
		follow(small).end(t)
	}
	if a := state(small); a.State != client.Canceled {
		t.Errorf("after a start with a gate that denies it, the approval is %s", a.State)
	}
	if _, said := in.sendAs(t, approve("m5", unclear, unclear+".a1"), "Authorization", "alice"); !strings.Contains(said, "frozen") || !strings.Contains(said, "TASK_STATE_FAILED") {
		t.Errorf("the call about which the gate's condition fails: %s", said)
	}
	var audit struct{ Items []client.AuditEntry }
	read("/api/v1/audit?limit=200", &audit)
	ended := slices.DeleteFunc(audit.Items, func(e client.AuditEntry) bool { return e.Via != "policy" })
	if len(ended) != 3 {
		t.Errorf("the audit has %+v", ended)
	}
}
