package agent

import (
	"context"
	"iter"
)

// ReadonlyState reads the values that a session keeps.
type ReadonlyState interface {
	// Get returns the value of key, and whether it is set.
	Get(key string) (any, bool)
	// All iterates over the keys and values, in no particular order.
	All() iter.Seq2[string, any]
}

// State reads and writes the values that a session keeps. It is safe for
// concurrent use.
type State interface {
	ReadonlyState

	// Set sets key to value, which must be representable as JSON. If it returns an error,
	// nothing has changed.
	Set(key string, value any) error
}

// Artifacts stores the files of a session by name. Each Save creates a new version. It is
// safe for concurrent use.
type Artifacts interface {
	// Save stores parts as the newest version of name and returns the version number.
	Save(ctx context.Context, name string, parts ...Part) (version int64, err error)
	// Load returns the newest version of name.
	Load(ctx context.Context, name string) ([]Part, error)
	// List returns all names, sorted.
	List(ctx context.Context) ([]string, error)
}

// EventActions are what a tool asks for in addition to its result. It sets them while it
// runs; they are read after it has returned.
type EventActions struct {
	StateDelta         map[string]any   // values to set in the state
	ArtifactDelta      map[string]int64 // versions of artifacts that were saved
	SkipSummarization  bool             // the result is the final answer; do not summarize it
	TransferToAgent    string           // agent that takes over, "" for this one
	Escalate           bool             // end the loop that the agent runs in
	RequireInput       bool             // the planner needs input from the user
	InputPrompt        string           // what to ask the user for, with RequireInput
	LongRunningToolIDs []string         // calls that continue after this one returns
}
