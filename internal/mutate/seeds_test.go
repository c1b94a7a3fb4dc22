package main

import (
	"os"
	"path/filepath"
	"testing"
)

// open marks a feature in docs/seeds.md that is not built yet.
const open = "*open*"

// TestSeeds checks that every feature in docs/seeds.md names tests that exist, or is
// marked open and has nothing that shows it.
func TestSeeds(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join(moduleFolder, "docs", "seeds.md"))
	if err != nil {
		t.Fatal(err)
	}
	features := tableLines(string(doc))
	if len(features) < 60 {
		t.Errorf("%d features were read, want more: are the tables still some?", len(features))
	}
	for _, line := range features {
		if len(line) != 4 || line[1] == "" {
			t.Errorf("%.60s: the line has to say where it is, which test shows it, and what is different", line[0])
			continue
		}
		if tests := testsIn(t, line); len(tests) == 0 && line[2] != open {
			t.Errorf("%.60s: the line has to name a test, or be marked %s", line[0], open)
		}
	}
}
