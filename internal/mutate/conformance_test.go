package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformance checks that every requirement in docs/conformance.md names tests, that the
// tests exist, and that every deviation has a reason.
func TestConformance(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join(moduleFolder, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	requirements, deviations, ok := strings.Cut(string(doc), "\n## Deviations\n")
	if !ok {
		t.Fatal("docs/conformance.md has lost its sections")
	}
	all := tableLines(requirements)
	if len(all) < 90 {
		t.Errorf("%d requirements were read, want more: are the tables still tables?", len(all))
	}
	for _, line := range all {
		if len(line) != 3 || line[1] != "M" && line[1] != "S" || len(shownBy(t, line)) == 0 {
			t.Errorf("%.60s: the line has to say M or S, and name a test", line[0])
		}
	}
	differ := tableLines(deviations)
	for _, line := range differ {
		if len(line) != 3 || line[1] == "" || len(shownBy(t, line)) == 0 && line[2] != "–" {
			t.Errorf("%.60s: the line has to say what the server does, and name a test or –", line[0])
		}
	}
	for n := 1; n <= 15; n++ {
		if mark := fmt.Sprintf("(D%d)", n); !strings.Contains(deviations, mark) {
			t.Errorf("the decision %s is missing", mark)
		}
	}
}

// shownBy returns the tests and wire cases that a line names. Each has to exist.
func shownBy(t *testing.T, line []string) []string {
	t.Helper()
	if len(line) < 3 {
		return nil
	}
	var tests, cases []string
	for _, name := range spans(line[2]) {
		if file, is := strings.CutPrefix(name, "wire "); is {
			if _, err := os.Stat(filepath.Join(moduleFolder, "testdata", "wire", file+".txtar")); err != nil {
				t.Errorf("%.60s: there is no wire case %q", line[0], file)
			}
			cases = append(cases, name)
			continue
		}
		tests = append(tests, "`"+name+"`")
	}
	return append(cases, testsIn(t, []string{line[0], line[1], strings.Join(tests, ", ")})...)
}
