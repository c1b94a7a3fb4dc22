package process

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	a2aserver "a2a-server"
)

// bound is the memory limit of the process, and its source.
type bound struct {
	bytes int64 // math.MaxInt64: no limit
	by    string
}

// memoryBound returns the lowest of the limits of the configuration, of GOMEMLIMIT and of
// the process's control group. A tenth of the group's limit is left for memory that Go does
// not manage, because the kernel kills a process that exceeds it. variable is GOMEMLIMIT,
// math.MaxInt64 if it is not set; group is the control group's limit, 0 if there is none.
func memoryBound(configured, variable int64, group uint64) bound {
	b := bound{variable, "GOMEMLIMIT"}
	if configured > 0 && configured <= b.bytes {
		b = bound{configured, "limits.memory"}
	}
	if group := int64(min(group, math.MaxInt64)); group > 0 && group-group/10 < b.bytes {
		b = bound{group - group/10, "the control group"}
	}
	return b
}

// boundMemory sets the garbage collector's memory limit.
func boundMemory(l a2aserver.Limits) bound {
	group, _ := memlimit.FromCgroup() // 0: there is none, or it has no limit
	b := memoryBound(l.Memory, debug.SetMemoryLimit(-1), group)
	debug.SetMemoryLimit(b.bytes)
	return b
}
