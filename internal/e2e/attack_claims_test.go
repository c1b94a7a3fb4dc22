package e2e_test

import (
	"strings"
	"testing"
)

// A gate that denies destructive tools is no weaker for a tool that is not trusted than for the same tool with
// trust. The tool has no hints, which MCP takes for destructive: a server escapes the gate by withdrawing its hint.
func TestAttackAnnotationThatAServerWithdraws(t *testing.T) {
	t.Parallel()
	for _, trust := range []string{"", "    trust: [read]\n"} {
		c, _ := configured(t, "gates: [{name: careful, tool: \"*\", action: deny, who: {annotations: [destructive]}}]\n"+
			"tools:\n  - mcp: files\n    command: [\""+self(t)+"\"]\n    env: {"+asServer+": \"1\"}\n    only: [read]\n    approve: none\n"+trust)
		in := start(t, c)
		sent := in.send(t, "m1", "/files_read {}")
		if all := in.everything(t, sent.ID); !strings.Contains(all, "careful") {
			t.Errorf("with %q the call is %s, want that the gate denies it", trust, sent.Status.State)
		}
	}
}
