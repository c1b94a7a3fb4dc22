//go:build unix

package engine_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"a2a-server/internal/crashpoint"
)

// crashPoints returns the points at which the code calls its hooks, by value with
// the name of the constant.
func crashPoints(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{".", "../../store/boltstore"} {
		points, err := crashpoint.In(dir)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, points)
	}
	return all
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
