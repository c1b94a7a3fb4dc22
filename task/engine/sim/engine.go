package sim

import "a2a-server/task/engine"

// Config configures a simulation.
type Config struct {
	// New returns an engine that runs on a process: required.
	New func(cfg engine.Config, p *Process) (*engine.Engine, error)
	// Coverage counts events. Defaults to a new Coverage.
	Coverage *Coverage
	// Trace, when set, gets each step as a line.
	Trace func(line string)
	// Actions bounds the actions of the world outside in a run. Defaults to 24.
	Actions int
	// Optimistic lets the engine enter read-only tools before their start is durable.
	Optimistic bool
}
