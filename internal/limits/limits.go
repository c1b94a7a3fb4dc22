// Package limits derives the bounds inside a server from the limits of its configuration and
// of its process.
package limits

import (
	"runtime/debug"
	"time"

	"a2a-server/task"
)

const (
	// ownFiles is how many descriptors are kept for everything but connections.
	ownFiles = 64

	kib = 1 << 10
	mib = 1 << 20
)

// Configured are the limits that an operator sets.
type Configured struct {
	Memory, Disk, DiskPerCaller, Body, Task       int64 // bytes
	Connections, Streams, Turns, Queue, PerCaller int
	Rate, AuthFailures                            int
	ReadTimeout, ToolTimeout, PlanTimeout, Grace  time.Duration
}

// Limits are the bounds inside a server: the limits of the configuration and the bounds that
// follow from them.
type Limits struct {
	Engine task.Limits

	Header        int           // bytes of a request's header
	HeaderTimeout time.Duration // of a request's header, from its first byte
	WriteTimeout  time.Duration // of each write to a stream
	Beat          time.Duration // of an idle stream of A2A, and of a send that waits
	Heartbeat     time.Duration // of an idle stream of approvals; between checks of a credential; of a gRPC connection
	ReadRate      int           // bytes a second at which a client must read an answer

	Files            int // that the process may have open; 0: not known
	Connections      int // open at once
	Requests         int // in progress, over all connections
	Streams          int // open at once
	StreamsPerCaller int
	Waiting          int // sends that wait for their task at the same time
	WaitingPerCaller int

	Answers int64 // bytes of memory for answers
	Bodies  int64 // bytes of memory for large requests
	Page    int64 // bytes of logs read for each page of a list
}

// Process has the limits of a server's process.
type Process struct {
	files  int   // open at once; 0: not known
	memory int64 // bytes; math.MaxInt64: no limit
}

// OfProcess returns the limits of this process.
func OfProcess() Process { return Process{openFiles(), debug.SetMemoryLimit(-1)} }

// Derive returns the bounds that follow from the limits of the configuration and of the
// process. A caller may use all of a bound, instead of a share, if callers cannot be told
// apart. The fields of task.Limits that are not set here have the defaults of
// [task.Limits.WithDefaults]. docs/configuration.md has these formulas.
func Derive(l *Configured, apart bool, p Process) Limits {
	share := func(n int) int {
		if !apart {
			return n
		}
		return max(n*l.PerCaller/100, 1)
	}
	// An event holds a message, a result, or a question with its arguments.
	event := min(max(int(l.Body/4), 128*kib), 8*mib, int(l.Task))
	held := max(l.Turns/8, 1)
	connections := l.Connections
	if p.files > 0 {
		connections = min(connections, max(p.files-ownFiles, p.files/4, 1))
	}
	// Answers and large requests may take a quarter of the memory each.
	memory, quarter := l.Memory, max(p.memory/4, mib)
	if memory == 0 {
		memory = 1 << 30
	}
	return Limits{
		Engine: task.Limits{
			Turns: l.Turns, TurnsPerCaller: share(l.Turns),
			Queue: l.Queue, QueuePerCaller: share(l.Queue),
			Held: held, HeldPerCaller: share(held),
			ToolTimeout: l.ToolTimeout, ToolGrace: min(l.ToolTimeout, 5*time.Second), PlanTimeout: l.PlanTimeout,
			Event: event, Args: event / 8, Window: event / 4,
			Task: int(l.Task), Output: int(l.Task) / 4,
			Disk: l.Disk, DiskPerCaller: l.DiskPerCaller,
		},
		Header: 64 * kib, HeaderTimeout: min(l.ReadTimeout, 10*time.Second),
		// a2a-sdk gives up after 5 s without a byte, proxies after 10 to 60 s.
		WriteTimeout: 30 * time.Second, Beat: 3 * time.Second, Heartbeat: 15 * time.Second, ReadRate: 64 * kib,

		Files: p.files, Connections: connections, Requests: l.Connections,
		// A quarter of the connections is left for requests that are answered at once.
		Streams: min(l.Streams, max(connections-connections/4, 1)), StreamsPerCaller: share(l.Streams),
		Waiting: l.Streams, WaitingPerCaller: share(l.Streams),

		Answers: min(memory/4, quarter), Bodies: min(memory/4, quarter), Page: min(memory/64, 16*mib),
	}
}
