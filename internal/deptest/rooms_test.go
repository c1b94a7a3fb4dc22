package deptest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestRooms checks that no two top folders import each other, so that the house can be read from the
// bottom up. Each folder below internal counts as one; test files and packages of tests may import all.
func TestRooms(t *testing.T) {
	root := filepath.Join("..", "..")
	imports := map[[2]string]string{} // folders, with a file that imports the second
	check := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if below, ours := strings.CutPrefix(imported+"/", "a2a-server/"); ours {
				imports[[2]string{room(filepath.ToSlash(filepath.Dir(rel)) + "/"), room(below)}] = rel
			}
		}
		return err
	}
	if err := filepath.WalkDir(root, check); err != nil {
		t.Fatal(err)
	}
	for pair, file := range imports {
		if back, both := imports[[2]string{pair[1], pair[0]}]; both && pair[0] < pair[1] {
			t.Errorf("%s and %s import each other, in %s and %s", pair[0], pair[1], file, back)
		}
	}
}

// room returns the top folder of a path that ends with a slash; "./" for the root.
func room(path string) string {
	parts := strings.SplitAfter(strings.TrimPrefix(path, "./"), "/")
	if parts[0] == "internal/" {
		return strings.Join(parts[:2], "")
	}
	return parts[0]
}
