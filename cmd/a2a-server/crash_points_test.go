//go:build unix

package main

import (
	"maps"
	"slices"
	"testing"

	"a2a-server/internal/crashpoint"
)

// crashCase is one way for the server to die.
type crashCase struct {
	point string
	n     int  // the how manieth time that it passes the point
	late  bool // in a later process, which takes over what the first was running
	gated bool // echo asks, and nobody answers in time

	reminds bool // with gated: before its deadline, it is reminded of and escalated
}

// like reports whether two cases differ in nothing but the time that the point is passed.
func (c crashCase) like(other crashCase) bool {
	c.n = other.n
	return c == other
}

// crashCases are the ways for each point. The short form plays the first and the last of those that are
// alike. How often a point is passed is not the same
// in each run: when it is less than n, an earlier time is taken.
var crashCases = map[string][]crashCase{
	"task.created": {{n: 1}, {n: 3}, {n: 6}},
	"task.launch":  {{n: 1}, {n: 3}, {n: 5}, {n: 7}, {n: 1, late: true}, {n: 3, late: true}},
	"task.chunks":  {{n: 1}, {n: 4}, {n: 20}, {n: 1, late: true}},
	"task.step":    {{n: 1}, {n: 3}, {n: 5}, {n: 7}, {n: 1, late: true}, {n: 3, late: true}},
	"task.told":    {{n: 1}},
	"task.woken":   {{n: 1}, {n: 2}, {n: 3}, {n: 1, late: true}},
	"task.due":     {{n: 1, gated: true}, {n: 2, gated: true}, {n: 3, gated: true, reminds: true}},
	"task.claimed": {{n: 1, late: true}},
	"push.sent":    {{n: 1}, {n: 4}, {n: 12}, {n: 1, late: true}},

	"notify.sent":    {{n: 1}, {n: 20}, {n: 1, late: true}}, // late: of the summary
	"notify.counted": {{n: 1, late: true}},

	"boltstore.taken":     {{n: 1}, {n: 2}, {n: 6}, {n: 10}, {n: 20}, {n: 30}, {n: 4, late: true}},
	"boltstore.applied":   {{n: 1}, {n: 3}, {n: 6}, {n: 10}, {n: 14}, {n: 18}, {n: 24}, {n: 1, late: true}, {n: 2, late: true}, {n: 6, late: true}},
	"boltstore.committed": {{n: 1}, {n: 2}, {n: 5}, {n: 8}, {n: 12}, {n: 16}, {n: 22}, {n: 1, late: true}, {n: 3, late: true}},
}

// plays are the suites of packages whose cases have other scenes than [crash].
var plays = map[string]func(*testing.T, crashCase) bool{"notify": crashNotify}

// elsewhere are the points that the program does not pass, and the tests that die there.
var elsewhere = map[string]string{
	"task.kept":     "only agents keep checkpoints: TestKilledAgents",
	"task.held":     "no tool of the program asks while it runs: task/engine/internal/sim TestSeeds",
	"task.answered": "likewise",
}

// A point without a case is a way to die that nobody has looked at.
func TestCrashCases(t *testing.T) {
	t.Parallel()
	var all []string
	for _, dir := range []string{"../../task/engine/internal/env", "../../task/push", "../../task/notify", "../../store/boltstore/internal/writer"} {
		points, err := crashpoint.In(dir)
		if err != nil {
			t.Fatal(err)
		}
		all = slices.AppendSeq(all, maps.Keys(points))
	}
	for _, point := range all {
		if len(crashCases[point]) == 0 && elsewhere[point] == "" {
			t.Errorf("no case for %q: add some to crashCases, and a scene that passes it", point)
		}
	}
	for _, point := range slices.Sorted(maps.Keys(elsewhere)) {
		if !slices.Contains(all, point) || len(crashCases[point]) > 0 {
			t.Errorf("%q is no point, or has cases here: remove it from elsewhere", point)
		}
	}
	for _, point := range slices.Sorted(maps.Keys(crashCases)) {
		if !slices.Contains(all, point) {
			t.Errorf("there is no point %q: remove its cases", point)
		}
	}
}
