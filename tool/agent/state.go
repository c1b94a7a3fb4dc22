package agent

import (
	"context"
	"iter"
)

// ReadonlyState reads the values that a session keeps.
type ReadonlyState interface {
	// Get returns the value of key, and whether there is one.
	Get(key string) (any, bool)
	// All walks the values, in no particular order.
	All() iter.Seq2[string, any]
}

// State reads and writes the values that a session keeps. It is safe for
// concurrent use.
type State interface {
	ReadonlyState

	// Set gives key a value, which must be representable as JSON. An error means
	// that nothing has changed.
	Set(key string, value any) error
}

// Artifacts keeps files of a session under names. Each Save of a name makes a new
// version. It is safe for concurrent use.
type Artifacts interface {
	// Save stores parts as the newest version of name and returns its number.
	Save(ctx context.Context, name string, parts ...Part) (version int64, err error)
	// Load returns the newest version of name.
	Load(ctx context.Context, name string) ([]Part, error)
	// List returns all names, sorted.
	List(ctx context.Context) ([]string, error)
}

// EventActions are what a tool wants to happen in addition to its result. It sets them
// while it runs; they are read when it has returned.
type EventActions struct {
	StateDelta         map[string]any   // values to set in the state
	ArtifactDelta      map[string]int64 // versions of artifacts that were saved
	SkipSummarization  bool             // the result is the answer, as it is
	TransferToAgent    string           // agent that continues, "" for this one
	Escalate           bool             // end the loop that the agent is in
	RequireInput       bool             // the planner needs something of the user
	InputPrompt        string           // what it needs, with RequireInput
	LongRunningToolIDs []string         // calls that continue after this one has returned
}
