package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Coverage counts events by name, over many runs. It is safe for concurrent use.
type Coverage struct {
	mu       sync.Mutex
	declared map[string]bool
	counts   map[string]int
}

// NewCoverage returns an empty count of the things declared.
func NewCoverage(declared ...string) *Coverage {
	c := &Coverage{declared: map[string]bool{}, counts: map[string]int{}}
	for _, name := range declared {
		c.declared[name] = true
	}
	return c
}

// Count counts an event. An undeclared event is counted, too, and is Unknown.
func (c *Coverage) Count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[name]++
}

// Add adds the counts of another.
func (c *Coverage) Add(other *Coverage) {
	other.mu.Lock()
	counts := maps.Clone(other.counts)
	other.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, n := range counts {
		c.counts[name] += n
	}
}

// Missing returns, sorted, the declared events that never came up.
func (c *Coverage) Missing() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.declared)), func(name string) bool { return c.counts[name] > 0 })
}

// Unknown returns, sorted, the undeclared events that came up.
func (c *Coverage) Unknown() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.counts)), func(name string) bool { return c.declared[name] })
}

// String lists the counts, sorted by name, one to a line.
func (c *Coverage) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(&b, "%9d %s\n", c.counts[name], name)
	}
	return b.String()
}
