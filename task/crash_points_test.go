//go:build unix

package task_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// crashPoints returns the points at which the code calls its hooks, by value with
// the name of the constant: found in the source, so that none is forgotten.
func crashPoints(t *testing.T) map[string]string {
	t.Helper()
	points := map[string]string{}
	for _, dir := range []string{".", "../store/boltstore"} {
		set := token.NewFileSet()
		//nolint:staticcheck // files of other build tags have points too
		packages, err := parser.ParseDir(set, dir, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
		if err != nil {
			t.Fatal(err)
		}
		for name, pkg := range packages {
			found := 0
			ast.Inspect(pkg, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for i, id := range spec.Names {
					if !strings.HasPrefix(id.Name, "Point") {
						continue
					}
					if i >= len(spec.Values) {
						t.Fatalf("%s.%s has no value of its own: points are string literals", name, id.Name)
					}
					lit, ok := spec.Values[i].(*ast.BasicLit)
					if !ok {
						t.Fatalf("%s.%s is no literal: points are string literals", name, id.Name)
					}
					value, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					if other := points[value]; other != "" {
						t.Fatalf("%s.%s and %s are both %q", name, id.Name, other, value)
					}
					points[value] = name + "." + id.Name
					found++
				}
				return true
			})
			if found == 0 {
				t.Fatalf("package %s has no point", name)
			}
		}
	}
	return points
}

// unharmed is one life of the workload in which nobody is killed at a point.
var unharmed = sync.OnceValue(func() (hits struct {
	by  map[phase]map[string]int
	err error
}) {
	dir, remove, err := crashDir()
	if err != nil {
		hits.err = err
		return hits
	}
	defer remove()
	hits.by = map[phase]map[string]int{}
	for _, p := range []phase{phaseWork, phaseFinish} {
		l := live(childConfig{Dir: dir, Phase: p})
		if hits.err = l.failure(); hits.err != nil {
			return hits
		}
		hits.by[p] = l.hits
	}
	return hits
})

// A point that the workload does not come by has no crash case: the workload has to
// learn the way there.
func TestCrashPointsReached(t *testing.T) {
	t.Parallel()
	points := crashPoints(t)
	hits := unharmed()
	if hits.err != nil {
		t.Fatal(hits.err)
	}
	for _, value := range slices.Sorted(maps.Keys(points)) {
		work, finish := hits.by[phaseWork][value], hits.by[phaseFinish][value]
		if work+finish == 0 {
			t.Errorf("%s (%q) is never reached: add a scene to the workload of the crash suite that comes by it", points[value], value)
		}
		t.Logf("%-24s %4d times in the first process, %4d in the second", points[value], work, finish)
	}
	for _, p := range []phase{phaseWork, phaseFinish} {
		for value := range hits.by[p] {
			if points[value] == "" {
				t.Errorf("a hook was called with %q, which is no constant Point…", value)
			}
		}
	}
}
