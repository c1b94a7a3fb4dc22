package turn

import (
	"fmt"
	"slices"
)

// problems returns the broken invariants of a turn that is about to wait.
func (t *Turn) problems() (problems []string) {
	h := &t.fold.Header
	if t.place.Fence == 0 || !t.stale && h.Fence != t.place.Fence {
		problems = append(problems, fmt.Sprintf("its fence is %d, its fold's %d", t.place.Fence, h.Fence))
	}
	if len(t.inflight) > maxInflight {
		problems = append(problems, fmt.Sprintf("%d batches are in flight", len(t.inflight)))
	}
	logged := slices.Sorted(t.fold.Running())
	var runs []string
	for _, r := range slices.Concat(t.runs, t.ended) {
		runs = append(runs, r.Entry().Call)
	}
	if slices.Sort(runs); !slices.Equal(logged, runs) {
		problems = append(problems, fmt.Sprintf("the fold says that %v run, and %v do", logged, runs))
	}
	return problems
}
