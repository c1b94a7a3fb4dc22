//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The blocks of docs/policy.md lead from a gate to a company's policy, by which a server asks two
// people about a transfer, and not again about a mail.
func TestPolicyDocument(t *testing.T) {
	t.Parallel()
	const file = "../../docs/policy.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := openShell(t, t.TempDir())
	s.paste(t, "PATH="+filepath.Dir(binary(t))+":$PATH\n")
	here := strings.NewReplacer("URL=http://localhost:8080", "URL=http://$A2A_SERVER_LISTEN")
	s.document(t, file, string(text), here, func(string) {})
}
