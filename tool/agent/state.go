package agent

import (
	"context"
	"iter"
)

// KeyPrefixTemp begins the keys of the state that belong to the task alone: other tasks of
// its session do not see them, and they end with it.
const KeyPrefixTemp = "temp:"

// ReadonlyState reads the values that a session keeps. The session is an A2A context of a
// single owner: its tasks share the state, later tasks included, for as long as the context
// has a task. Only keys with [KeyPrefixTemp] are the task's own. Other prefixes, such as
// "app:" and "user:", have no meaning: such keys belong to the session.
//
// A call sees the state at its start or resumption, with its own changes.
type ReadonlyState interface {
	// Get returns the value of key, and whether it is set.
	Get(key string) (any, bool)
	// All iterates over the keys and values, in no particular order.
	All() iter.Seq2[string, any]
}

// State reads and writes the values that a session keeps. It is safe for concurrent use.
//
// The changes of a call are kept when the call ends, together with its result: all of them, or
// none. They are lost if the call is suspended before, or if its outcome is unknown. If
// several calls set the same key, also calls of other tasks, the last call to end counts.
//
// A call may set 64 KiB. The state of a session has at most 1,000 keys, and 64 KiB of keys and
// values as JSON. A call that exceeds any of these limits ends with an error, even if it has
// succeeded, and none of its changes is kept.
type State interface {
	ReadonlyState

	// Set sets key to value, which must be representable as JSON. A key is UTF-8 of at most
	// 512 bytes. There is no way to remove a key; nil is a value. If Set returns an error,
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

// EventActions are a tool's requests in addition to its result. The tool sets them while it
// runs; they are read after the run that ends the call has returned.
type EventActions struct {
	// StateDelta has values to set in the state, as if by State.Set. The log has them in a place of their own.
	StateDelta map[string]any `json:"-"`
	// ArtifactDelta has the versions of artifacts that were saved. Artifacts.Save adds its
	// own. It is for the planner.
	ArtifactDelta map[string]int64 `json:"artifactDelta,omitempty"`
	// RequireInput makes the planner ask the user for InputPrompt once the step's calls
	// have ended. The answer goes to the planner, and authorizes nothing.
	RequireInput bool   `json:"requireInput,omitempty"`
	InputPrompt  string `json:"inputPrompt,omitempty"`
	// LongRunningToolIDs are ids of calls that continue after this call returns. They only
	// inform the planner: a job that the server should follow needs a tool.Poller.
	LongRunningToolIDs []string `json:"longRunningToolIds,omitempty"`

	// A planner with a model follows these; to any other they are information. Escalate comes
	// first, then TransferToAgent, RequireInput and SkipSummarization.

	// SkipSummarization ends the task as completed: the result is its answer. It does not count if
	// another call of the same step has failed.
	SkipSummarization bool `json:"skipSummarization,omitempty"`
	// WithholdResult keeps the result of the call from clients until SkipSummarization makes it the
	// answer of the task. Chunks are published as ever.
	WithholdResult bool `json:"withholdResult,omitempty"`
	// TransferToAgent is the name of the tool of the agent that takes the task over, "" for none.
	// It counts only for callers with a tool that transfers to it (tool.Transferer).
	TransferToAgent string `json:"transferToAgent,omitempty"`
	// Escalate ends the task as rejected, for its requester. The result, a text, is the
	// reason.
	Escalate bool `json:"escalate,omitempty"`
}
