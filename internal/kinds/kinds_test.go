//go:build unix

package kinds_test

import (
	"flag"
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

var crashLong = flag.Bool("crash.long", false, "TestKilled: kill the server at each passage of each point; minutes")

// spread is which of n passages of a point get a case: the first, the middle and the last one in the
// short form.
func spread(n int) (cases []int) {
	for i := 1; i <= n; i++ {
		if *crashLong || i == 1 || i == (n+1)/2 || i == n {
			cases = append(cases, i)
		}
	}
	return cases
}

// TestKilled kills the server at every point of the engine, and brings everything to its end with
// another one. The store knows no kinds of tools: cmd/a2a-server's test dies at its points.
func TestKilled(t *testing.T) {
	t.Parallel()
	points, err := crashpoint.In("../../task/engine/internal/env")
	if err != nil {
		t.Fatal(err)
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
