package interop

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
)

// The document says which client plays which cases, and why it does not play others.
func TestGapsAreDocumented(t *testing.T) {
	t.Parallel()
	var names []string
	known := map[string]bool{}
	for _, tc := range cases {
		names, known[tc.name] = append(names, tc.name), true
	}
	for _, g := range gaps {
		for _, name := range g.cases {
			if !known[name] {
				t.Errorf("a gap of %q, which is no case", name)
			}
		}
	}
	title := map[string]string{"go": "Go", "cli": "Go's command line", "js": "JavaScript", "python": "Python", "JSONRPC": "JSON-RPC", "GRPC": "gRPC", "HTTP+JSON": "HTTP+JSON"}
	var b strings.Builder
	fmt.Fprintf(&b, "The cases are: %s.\n\n| not played by | over | A2A | cases | because |\n|---|---|---|---|---|\n", strings.Join(names, "; "))
	for _, g := range gaps {
		of, over := make([]string, len(g.of)), make([]string, len(g.bindings))
		for i, name := range g.of {
			of[i] = title[name]
		}
		for i, binding := range g.bindings {
			over[i] = title[string(binding)]
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", orAll(of), orAll(over), cmp.Or(string(g.version), "all"), strings.Join(g.cases, "; "), g.why)
	}
	raw, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "\n"+b.String()+"\n") {
		t.Errorf("docs/clients.md has another table of cases than clients_test.go; write:\n%s", b.String())
	}
}

func orAll(names []string) string { return cmp.Or(strings.Join(names, ", "), "all") }
