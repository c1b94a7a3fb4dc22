package main

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const moduleFolder = "../.."

// TestRows holds the table to the code as it stands: what can be said of a row without
// building anything. A row that fails here has to follow the code that it changes.
func TestRows(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	table := rows()
	for i := range table {
		row := &table[i]
		file, text, line, err := row.mutant(moduleFolder)
		if err == nil {
			_, err = format.Source(text)
		}
		if err != nil {
			t.Errorf("%s: %v", row, err)
			continue
		}
		before, err := os.ReadFile(filepath.Join(moduleFolder, filepath.FromSlash(file)))
		if err != nil || string(before) == string(text) || seen[file+string(text)] {
			t.Errorf("%s:%d: %s: it changes nothing, or what another row changes (%v)", file, line, row, err)
		}
		seen[file+string(text)] = true
		folder, test := row.tested()
		top, _, _ := strings.Cut(test, "/")
		if !declared(t, filepath.Join(moduleFolder, filepath.FromSlash(folder)), top) {
			t.Errorf("%s: no test file of %s declares %s", row, folder, top)
		}
	}
	if len(table) > 360 {
		t.Errorf("the table has %d rows; at most 360 are kept, for promises only", len(table))
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
		if strings.Contains(string(text), "\nfunc "+function+"(") {
			return true
		}
	}
	return false
}
