package a2aserver_test

import (
	"fmt"
	"path/filepath"
	"slices"
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
	in, err := a2aserver.Inspect(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	var got []string
	for _, tl := range in.Tools {
		line := fmt.Sprintf("%s %s", tl.Entry.Tool.Name(), tl.Origin)
		for _, g := range tl.Gates {
			line += fmt.Sprintf("; %s %v %s", g.Action, g.Sometimes, g.Origin)
		}
		got = append(got, strings.ReplaceAll(line, filepath.Dir(file)+"/", ""))
	}
	want := []string{
		"run command run (a2a-server.yaml:5); ask false gate all (a2a-server.yaml:3); ask false command run (a2a-server.yaml:5)",
		"read command read (a2a-server.yaml:6); ask false gate all (a2a-server.yaml:3); ask false approve read (a2a-server.yaml:9)",
		"free command free (a2a-server.yaml:10)",
		"echo builtin demo (a2a-server.yaml:11); ask false gate approve_tools: echo (a2a-server.yaml:1)",
		"stream builtin demo (a2a-server.yaml:11)",
		"transfer_money builtin demo (a2a-server.yaml:11); ask false builtin demo (a2a-server.yaml:11)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(in.Warnings, func(w string) bool { return strings.Contains(w, "mcp gone") }) {
		t.Errorf("the warnings do not say that a server is down: %v", in.Warnings)
	}
}
