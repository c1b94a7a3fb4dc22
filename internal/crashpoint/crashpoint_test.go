package crashpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/internal/crashpoint"
)

func TestIn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ code, want, problem string }{
		"a point":         {code: `const PointTold = "p.told"`, want: "PointTold"},
		"in a group":      {code: "const (\n\tx = 1\n\tPointTold = `p.told`\n)", want: "PointTold"},
		"none":            {code: `const Pint = "p.told"`, problem: "has no points"},
		"without a value": {code: "const (\n\tPointA = \"a\"\n\tPointB\n)", problem: "PointB is not a string literal"},
		"an expression":   {code: `const PointA = "a" + "b"`, problem: "PointA is not a string literal"},
		"one value twice": {code: "const (\n\tPointA = \"a\"\n\tPointB = \"a\"\n)", problem: "PointA and PointB are both"},
		"no code":         {code: "}", problem: "find points"},
	} {
		dir := t.TempDir()
		for file, code := range map[string]string{"p.go": tt.code, "p_test.go": `const PointOfTest = "x"`} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("package p\n\n"+code+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		points, err := crashpoint.In(dir)
		switch {
		case tt.problem == "" && (err != nil || len(points) != 1 || points["p.told"] != tt.want):
			t.Errorf("%s: In() = %v, %v, want p.told", name, points, err)
		case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
			t.Errorf("%s: In() = %v, %v, want that it %s", name, points, err, tt.problem)
		}
	}
}
