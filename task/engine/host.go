package engine

import "a2a-server/task/internal/host"

// Host provides an engine's goroutines, waits and timers. With it, a simulation runs a
// whole engine in one goroutine; see package sim.
type Host = host.Host
