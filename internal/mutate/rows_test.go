package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRows holds the table to the code as it stands: what can be said of a row without
// building anything. A row that fails here has to follow the code that it changes.
func TestRows(t *testing.T) {
	t.Parallel()
	const root = "../.."
	seen := map[string]bool{}
	table := rows()
	for i := range table {
		row := &table[i]
		if _, _, err := row.mutant(root); err != nil {
			t.Errorf("%s: %v", row, err)
		}
		key := row.File + "\n" + row.What + "\n" + row.Into
		if seen[key] {
			t.Errorf("%s: the same change is there twice", row)
		}
		seen[key] = true
		top, _, _ := strings.Cut(row.Test, "/")
		if !declared(t, filepath.Join(root, filepath.FromSlash(row.folder())), top) {
			t.Errorf("%s: no test file of %s declares %s", row, row.folder(), top)
		}
	}
}

// declared reports whether a test file in dir has the function.
func declared(t *testing.T, dir, function string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nfunc "+function+"(")) {
			return true
		}
	}
	return false
}

func TestSelected(t *testing.T) {
	t.Parallel()
	table := []Row{{File: "a/a.go", Promise: "one", Test: "TestA/some case"}, {File: "b/b.go", Promise: "two", Package: "c", Test: "TestB"}}
	for expr, want := range map[string]string{"": "one two", "^a/": "one", "some_case": "one", "c TestB": "two"} {
		got, err := selected(append([]Row{}, table...), expr)
		var promises []string
		for _, r := range got {
			promises = append(promises, r.Promise)
		}
		if text := strings.Join(promises, " "); err != nil || text != want {
			t.Errorf("selected(%q) = %q, %v, want %q", expr, text, err, want)
		}
	}
	for _, expr := range []string{"nothing", "("} {
		if got, err := selected(append([]Row{}, table...), expr); err == nil {
			t.Errorf("selected(%q) = %v, want an error", expr, got)
		}
	}
}
