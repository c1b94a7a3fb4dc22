package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Beyond limits.disk_per_caller new tasks are refused with 507, RESOURCE_EXHAUSTED and
// what to do; the log has said before that the limit comes near.
func TestDiskLimit(t *testing.T) {
	t.Parallel()
	in := start(t, load(t, map[string]string{"limits.disk_per_caller": "1MiB"}))
	message := func(n int) string {
		return fmt.Sprintf(`{"message": {"messageId": "m%d", "role": "ROLE_USER", "parts": [{"data": {"tool": "echo", "args": {"text": %q}}}]}}`, n, strings.Repeat("x", 100_000))
	}
	taken := 0
	var status int
	var body string
	for status = http.StatusOK; status == http.StatusOK && taken < 20; taken++ {
		status, body = in.do(t, http.MethodPost, "/message:send", message(taken))
	}
	if status != http.StatusInsufficientStorage {
		t.Fatalf("%d messages of 100 kB: the last was answered with %d, want 507", taken, status)
	}
	for _, want := range []string{`"RESOURCE_EXHAUSTED"`, "limits.disk_per_caller raised"} {
		if !strings.Contains(body, want) {
			t.Errorf("the refusal is %s, want %s in it", body, want)
		}
	}
	if len(in.log.find("the tasks of a caller use most of limits.disk_per_caller: when it is reached, new ones are refused")) != 1 {
		t.Error("the log does not say that the limit comes near")
	}
	_, body = in.do(t, http.MethodPost, "/", `{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": `+message(taken)+`}`)
	if !strings.Contains(body, `"code":-32603`) || !strings.Contains(body, "RESOURCE_EXHAUSTED") {
		t.Errorf("JSON-RPC: %s, want -32603 with RESOURCE_EXHAUSTED", body)
	}
}
