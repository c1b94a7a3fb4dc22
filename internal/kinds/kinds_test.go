//go:build unix

package kinds_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"a2a-server/internal/crashpoint"
)

// TestDecisions plays all scenes with a server that nobody kills.
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if hits := w.play(t, "", 0); len(hits) == 0 && !t.Failed() {
		t.Error("the server passed no crash point")
	}
	w.check(t)
}

// spread is which of n passages of a point get a case.
func spread(n int) []int {
	cases := []int{1, (n + 1) / 2, n}
	slices.Sort(cases)
	cases = slices.Compact(cases)
	return slices.DeleteFunc(cases, func(i int) bool { return i < 1 || i > n })
}

// TestKilled kills the server at every crash point, and brings everything to its end with
// another one.
func TestKilled(t *testing.T) {
	t.Parallel()
	points := map[string]string{}
	for _, dir := range []string{"../../task/engine/internal/env", "../../store/boltstore"} {
		found, err := crashpoint.In(dir)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(points, found)
	}
	w := newWorld(t)
	hits := w.play(t, "", 0)
	if t.Failed() {
		return
	}
	if hits["task.kept"] == 0 {
		t.Error("no scene keeps a checkpoint, as those of cmd/a2a-server do not")
	}
	for _, point := range slices.Sorted(maps.Keys(points)) {
		for _, n := range spread(hits[point]) {
			t.Run(fmt.Sprintf("%s/%d", point, n), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.play(t, point, n)
				w.check(t)
			})
		}
	}
}
