package deptest

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestRepository holds this repository to its own document.
func TestRepository(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	doc, err := fs.ReadFile(root, "docs/design/imports.md")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseRules(string(doc))
	if err != nil {
		t.Fatalf("docs/design/imports.md: %v", err)
	}
	violations, err := check(root, moduleName(t, root), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// TestRepositoryIsSeen shows that the walk reaches the packages: without rules
// each of them is a violation.
func TestRepositoryIsSeen(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	violations, err := check(root, moduleName(t, root), &rules{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"store", "internal/deptest"} {
		found := false
		for _, v := range violations {
			found = found || strings.HasPrefix(v, pkg+": this package has no row")
		}
		if !found {
			t.Errorf("check without rules does not mention %s: the walk has missed it", pkg)
		}
	}
}

func moduleName(t *testing.T, root fs.FS) string {
	t.Helper()
	mod, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	name, ok := strings.CutPrefix(first, "module ")
	if !ok {
		t.Fatalf("go.mod begins with %q, want its module line", first)
	}
	return strings.TrimSpace(name)
}
