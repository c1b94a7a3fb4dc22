package e2e_test

import (
	"strings"
	"testing"
)

// A tool that differs from its pin needs approval (docs/configuration.md, pins): the operator who wrote the
// gate that allows it has reviewed another definition. With declared_gates: ignore it asks, without it runs.
func TestAttackPinsBesideAnAllow(t *testing.T) {
	t.Parallel()
	for _, declared := range []string{"ask", "ignore"} {
		c, _ := configured(t, "declared_gates: "+declared+"\ngates: [{tool: files_read, action: allow}]\ntools:\n  - mcp: files\n    command: [\""+self(t)+"\"]\n    env: {"+asServer+
			": \"1\"}\n    only: [read]\n    pins: {read: "+strings.Repeat("0", 64)+"}\n")
		in := start(t, c)
		if sent := in.send(t, "m1", "/files_read {}"); sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("declared_gates: %s: a call of a tool that differs from its pin is %s, want that it asks", declared, sent.Status.State)
		}
	}
}
