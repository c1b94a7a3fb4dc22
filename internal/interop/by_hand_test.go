package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testByHand is the command line as a person types and reads it.
func testByHand(t *testing.T, p programs) {
	ctx, cancel := deadline(t)
	defer cancel()
	// A gated tool that is not destructive can be approved by a word.
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("gates:\n  - tool: echo\n    hint: Say {text}?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, p.server, t.TempDir(), "--config", config)
	says := func(args []string, want ...string) string {
		t.Helper()
		out := typed(ctx, t, p.cli, args...)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("a2a %q says:\n%s\nwant %q in it", args, out, w)
			}
		}
		return out
	}
	says([]string{"discover", s.url}, "Streaming:    true", "transfer_money", "HTTP+JSON")
	says([]string{"send", s.url, "what can you do?"}, "[agent]", "transfer_money")
	says([]string{"send", s.url, "--stream", "/stream chunks=3 size=8"}, "[status] working", "[artifact] ", "[artifact+] ", "[status] completed")

	out := says([]string{"send", s.url, "/echo", "hello", "there"}, "input-required", `Say "hello there"?`, "approve")
	id := regexp.MustCompile(`(?m)^Task: +(\S+)$`).FindStringSubmatch(out)
	if id == nil {
		t.Fatalf("no task in:\n%s", out)
	}
	says([]string{"list", "tasks", s.url, "--status", "input-required"}, id[1])
	says([]string{"send", s.url, "--task", id[1], "approve"}, "completed", "hello there")
}

// typed runs a program that has to succeed, and returns what it prints.
func typed(ctx context.Context, t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return string(out)
}
