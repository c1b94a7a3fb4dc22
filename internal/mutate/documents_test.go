package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromises holds docs/design/promises.md to the code: each promise names tests that
// exist and the functions of rows, or –, and the functions of all rows are named. Each suite
// of its last table has tests.
func TestPromises(t *testing.T) {
	t.Parallel()
	doc, suites, _ := strings.Cut(document(t, "docs/design/promises.md"), "\n## Which suite finds what\n")
	for _, line := range tableLines(t, suites, 3, 7) {
		needsTests(t, line, 0, "")
	}
	mutated, named := map[string]bool{}, map[string]bool{}
	for _, row := range rows() {
		mutated[row.name()] = true
	}
	for _, line := range tableLines(t, doc, 3, 60) {
		needsTests(t, line, 1, "")
		functions := spans(line[2])
		if len(functions) == 0 && line[2] != "–" {
			t.Errorf("%.60s: no row is named, and no –", line[0])
		}
		for _, name := range functions {
			named[name] = true
			if !mutated[name] {
				t.Errorf("%.60s: no row changes %s", line[0], name)
			}
		}
	}
	for name := range mutated {
		if !named[name] {
			t.Errorf("no promise names %s, which rows change", name)
		}
	}
}

// TestPromisesOfTheREADME finds each promise that the README makes in bold in the table.
func TestPromisesOfTheREADME(t *testing.T) {
	t.Parallel()
	doc := document(t, "docs/design/promises.md")
	_, list, _ := strings.Cut(document(t, "README.md"), "## What it promises")
	list, _, _ = strings.Cut(list, "\n## ")
	bold := regexp.MustCompile(`\*\*(.+?)[.:]?\*\*`).FindAllStringSubmatch(list, -1)
	if len(bold) == 0 {
		t.Fatal("the README promises nothing")
	}
	for _, m := range bold {
		if !strings.Contains(doc, "| **"+m[1]) {
			t.Errorf("docs/design/promises.md has no line for %q", m[1])
		}
	}
}

// TestThreatModel checks that each protection in docs/threat-model.md names what protects
// and tests, and that each gap says what to do.
func TestThreatModel(t *testing.T) {
	t.Parallel()
	_, rest, ok := strings.Cut(document(t, "docs/threat-model.md"), "\n## Threats and protections\n")
	protections, gaps, split := strings.Cut(rest, "\n## What is not protected\n")
	if !ok || !split {
		t.Fatal("docs/threat-model.md has lost its sections")
	}
	for _, line := range tableLines(t, protections, 3, 20) {
		needsTests(t, line, 2, "")
	}
	for _, line := range tableLines(t, gaps, 3, 1) {
		needsTests(t, line, 2, "–")
	}
}

// TestSeeds checks that each feature in docs/seeds.md names tests.
func TestSeeds(t *testing.T) {
	t.Parallel()
	for _, line := range tableLines(t, document(t, "docs/seeds.md"), 3, 45) {
		needsTests(t, line, 1, "")
	}
}

func document(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(moduleFolder, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// tableLines returns the cells of the lines of all tables, without their heads. There have
// to be at least so many lines, with so many cells each, and the first two are not empty.
func tableLines(t *testing.T, doc string, cells, least int) (lines [][]string) {
	t.Helper()
	body := false
	for line := range strings.Lines(doc) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "|--"):
			body = true
		case body:
			of := strings.Split(strings.Trim(line, "|"), "|")
			for i := range of {
				of[i] = strings.TrimSpace(of[i])
			}
			if len(of) != cells || of[0] == "" || of[1] == "" {
				t.Errorf("%.60s: the line has %d cells, want %d, or an empty one", line, len(of), cells)
				continue
			}
			lines = append(lines, of)
		}
	}
	if len(lines) < least {
		t.Errorf("%d lines were read, want at least %d: are the tables still some?", len(lines), least)
	}
	return lines
}

// needsTests fails for tests and wire cases in a cell that do not exist, and for a cell
// that names none and is not instead.
func needsTests(t *testing.T, line []string, cell int, instead string) {
	t.Helper()
	names := spans(line[cell])
	for _, name := range names {
		folder, test, ok := strings.Cut(name, " ")
		if folder == "wire" {
			_, err := os.Stat(filepath.Join(moduleFolder, "testdata", "wire", test+".txtar"))
			ok = err == nil
		} else {
			ok = ok && declared(t, filepath.Join(moduleFolder, filepath.FromSlash(folder)), test)
		}
		if !ok {
			t.Errorf("%.60s: there is no test or wire case %q", line[0], name)
		}
	}
	if len(names) == 0 && (instead == "" || line[cell] != instead) {
		t.Errorf("%.60s: no test is named", line[0])
	}
}

// spans returns what stands in a cell as code.
func spans(cell string) (all []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}
