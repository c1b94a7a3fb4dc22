package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testADKRun is a person at `adk run`, whose keyboard is a pipe.
func testADKRun(t *testing.T, p programs) {
	p.server = p.phrases
	tape, s := recorded(t, p)
	// It writes beside the agent that it runs.
	folder := filepath.Join(t.TempDir(), "bank")
	if err := os.CopyFS(folder, os.DirFS("python/google-adk/bank")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := deadline(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.python["google-adk"], "-m", "google.adk.cli", "run", "--in_memory", folder)
	cmd.Env = quiet(t, "BANK_URL="+tape.url)
	typed := []string{"pay the rent", "yes", "pay the rent", "no", "pay both bills", "no", "yes", "exit"}
	cmd.Stdin = strings.NewReader(strings.Join(typed, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	tr := &transcript{tape: tape}
	tr.person(strings.Join(typed, ", "))
	tr.wire(t)
	// Before the first prompt it says where its own log is.
	_, printed, ok := strings.Cut(string(out), "[user]: ")
	if !ok {
		t.Fatalf("adk run does not ask for input:\n%s", out)
	}
	tr.lines("[user]: " + printed)
	tr.check(t, "adk-run", "approve-reject-two")
	if diff := cmp.Diff([]transfer{{900, "landlord"}, {40, "water"}}, s.transfers(t)); diff != "" {
		t.Errorf("transfers (-want +got):\n%s", diff)
	}
}
