package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocument checks that docs/conformance.md names each decision, and only tests and wire
// cases that exist.
func TestDocument(t *testing.T) {
	t.Parallel()
	const root = "../.."
	raw, err := os.ReadFile(filepath.Join(root, "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range strings.Fields("D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D13 D14 D15") {
		if !strings.Contains(string(raw), "| "+d+": ") {
			t.Errorf("the decision %s is missing", d)
		}
	}
	named := regexp.MustCompile("`(\\S+) (\\S+)`").FindAllStringSubmatch(string(raw), -1)
	if len(named) < 80 {
		t.Errorf("%d tests are named, want more: is the document another one?", len(named))
	}
	for _, m := range named {
		folder, name := m[1], m[2]
		switch {
		case folder == "wire":
			if _, err := os.Stat(filepath.Join(root, "testdata", "wire", name+".txtar")); err != nil {
				t.Error(err)
			}
		case strings.HasPrefix(name, "Test"):
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(files, func(file string) bool {
				text, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(text), "\nfunc "+name+"(")
			}) {
				t.Errorf("there is no %s in %s", name, folder)
			}
		}
	}
}
