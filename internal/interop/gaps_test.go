package interop

import (
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
	var b strings.Builder
	fmt.Fprintf(&b, "The cases are: %s.\n\n| SDK | binding | A2A | cases that it does not play |\n|---|---|---|---|\n", strings.Join(names, "; "))
	title := map[string]string{"go": "Go", "cli": "Go, its command line", "js": "JavaScript", "python": "Python", "JSONRPC": "JSON-RPC", "GRPC": "gRPC", "HTTP+JSON": "HTTP+JSON"}
	for _, o := range officials() {
		var not []string
		for _, name := range names {
			if why := o.gap(name); why != "" {
				not = append(not, name+": "+why)
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", title[o.of], title[string(o.binding)], o.version, strings.Join(not, "; "))
	}
	raw, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "\n"+b.String()+"\n") {
		t.Errorf("docs/clients.md has another table of cases than clients_test.go; write:\n%s", b.String())
	}
}
