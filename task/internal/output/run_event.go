package output

import (
	"encoding/json"

	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// RunEvent is an event of a run: a chunk of an artifact, a checkpoint, or a report of progress. It
// has the encoded event and its content.
type RunEvent struct {
	Event  store.Event
	Update event.ArtifactUpdate
	Kept   *event.CallCheckpoint // nil: it is no checkpoint
	// Progress is the metadata of a report of progress; nil: it is none.
	Progress json.RawMessage
}

// IsCheckpoint reports whether the event was made by [Publisher.Checkpoint].
func (k *RunEvent) IsCheckpoint() bool { return k.Kept != nil }
