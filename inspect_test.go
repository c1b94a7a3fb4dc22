package a2aserver_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	a2aserver "a2a-server"
)

// TestInspect shows each tool with where it comes from and what asks about it.
func TestInspect(t *testing.T) {
	t.Parallel()
	c, file := configured(t, `approve_tools: [echo]
gates:
  - {name: all, tool: "r*"}
tools:
  - {command: run, description: x, run: [x]}
  - command: read
    description: x
    run: [x]
    approve: true
  - {command: free, description: x, run: [x], approve: false}
  - {builtin: demo}
  - {mcp: gone, command: [/no/such/program], only: [a]}
`)
	c.Tools = load(t, nil).Tools[:0]
	in, err := a2aserver.Inspect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tl := range in.Tools {
		line := fmt.Sprintf("%s %s", tl.Name, tl.Origin)
		for _, g := range tl.Gates {
			line += fmt.Sprintf("; %s %s %s", g.Action, g.Why, g.Place())
		}
		got = append(got, strings.ReplaceAll(line, filepath.Dir(file)+"/", ""))
	}
	want := []string{
		"run command run (a2a-server.yaml:5); ask gate all a2a-server.yaml:3; ask default of command a2a-server.yaml:5",
		"read command read (a2a-server.yaml:6); ask gate all a2a-server.yaml:3; ask approve a2a-server.yaml:9",
		"free command free (a2a-server.yaml:10)",
		"echo builtin demo (a2a-server.yaml:11); ask approve_tools a2a-server.yaml:1",
		"stream builtin demo (a2a-server.yaml:11)",
		"transfer_money builtin demo (a2a-server.yaml:11); ask the tool ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if len(in.Problems) != 1 || in.Problems[0].Origin.Entry != "gone" || in.Problems[0].Origin.Line != 12 || !strings.Contains(in.Problems[0].Problem, "/no/such/program") {
		t.Errorf("the problems are %v, want only that a server is down", in.Problems)
	}
}
