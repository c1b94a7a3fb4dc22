// Package process sets what the whole process has, and not a server: the garbage collector, the memory limit and
// the logger of libraries.
package process

import (
	"fmt"
	"log/slog"
	"math"
	"net"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/internal/heap"
)

// garbage is how much the heap may grow between two collections, in percent: more memory, up
// to limits.memory, for less work.
const garbage = 400

// Configure sets what belongs to the whole process and not to a server: the garbage
// collector, and the default logger of libraries.
func Configure(l a2aserver.Limits, log zerolog.Logger) {
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log)))
	debug.SetGCPercent(garbage)
	b := boundMemory(l)
	heap.Spare(b.bytes)
	if b.bytes < l.Memory {
		log.Warn().Int64("bytes", b.bytes).Str("by", b.by).Msg("the process has less memory than limits.memory: the garbage collector stays below that, and answers get at most a quarter of it")
	}
}

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

// TellReady tells systemd that the server accepts connections, as a unit of the type notify must
// (sd_notify(3)). socket is the value of NOTIFY_SOCKET; "": no unit waits.
func TellReady(socket string) error {
	if socket == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", socket)
	if err == nil {
		_, err = conn.Write([]byte("READY=1"))
		_ = conn.Close()
	}
	if err != nil {
		return fmt.Errorf("tell systemd that the server is ready: %w", err)
	}
	return nil
}
