package sim

import (
	"fmt"

	"a2a-server/task/engine"
)

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

// Failure is why a run is wrong. Two runs fail in the same way when their failures
// have the same Rule.
type Failure struct {
	Rule   string // the broken rule, in a few words
	Detail string // how
	Step   int    // of the scheduler
}

// String returns the broken rule, when and how.
func (f *Failure) String() string { return fmt.Sprintf("%s (step %d): %s", f.Rule, f.Step, f.Detail) }
