package process

import (
	"math"
	"testing"
)

// The least of all that somebody says holds: a process that takes more than its control
// group has is killed.
func TestMemoryBound(t *testing.T) {
	t.Parallel()
	const mib, none = 1 << 20, math.MaxInt64
	for name, c := range map[string]struct {
		configured, variable int64
		group                uint64
		want                 bound
	}{
		"nobody says":       {0, none, 0, bound{none, "GOMEMLIMIT"}},
		"the configuration": {1024 * mib, none, 0, bound{1024 * mib, "limits.memory"}},
		"the variable":      {1024 * mib, 200 * mib, 0, bound{200 * mib, "GOMEMLIMIT"}},
		"a large variable":  {1024 * mib, 4096 * mib, 0, bound{1024 * mib, "limits.memory"}},
		"a small group":     {1024 * mib, none, 250 * mib, bound{225 * mib, "the control group"}},
		"a large group":     {1024 * mib, none, 4096 * mib, bound{1024 * mib, "limits.memory"}},
		"a group alone":     {0, none, 250 * mib, bound{225 * mib, "the control group"}},
		"a group of all":    {0, none, math.MaxUint64, bound{none - none/10, "the control group"}},
	} {
		if got := memoryBound(c.configured, c.variable, c.group); got != c.want {
			t.Errorf("%s: memoryBound() = %v, want %v", name, got, c.want)
		}
	}
}
