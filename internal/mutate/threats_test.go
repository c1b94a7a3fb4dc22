package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThreatModel checks that every protection in docs/threat-model.md names tests, and
// that the tests exist.
func TestThreatModel(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join(moduleFolder, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "\n## Threats and protections\n")
	protections, gaps, split := strings.Cut(rest, "\n## What is not protected\n")
	if !ok || !split {
		t.Fatal("docs/threat-model.md has lost its sections")
	}
	threats := tableLines(protections)
	if len(threats) < 20 {
		t.Errorf("%d threats were read, want more: is the table still one?", len(threats))
	}
	for _, line := range threats {
		if len(line) != 3 || line[1] == "" || len(testsIn(t, line)) == 0 {
			t.Errorf("%.60s: the line has to name what protects, and a test", line[0])
		}
	}
	for _, line := range tableLines(gaps) {
		if len(line) != 3 || line[1] == "" || len(testsIn(t, line)) == 0 && line[2] != "–" {
			t.Errorf("%.60s: the line has to say what to do, and name a test or –", line[0])
		}
	}
}
