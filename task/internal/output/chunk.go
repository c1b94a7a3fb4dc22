package output

import (
	"encoding/json"

	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// Chunk is a piece of an artifact that a run has published, a checkpoint of the run, or a
// report of its progress: the encoded event, and its content.
type Chunk struct {
	Event  store.Event
	Update event.ArtifactUpdate
	Kept   *event.CallCheckpoint // nil: it is no checkpoint
	// progress is the metadata of a report of progress; nil: it is none.
	Progress json.RawMessage
}

// IsCheckpoint reports whether the chunk was made by [Publisher.Checkpoint].
func (k *Chunk) IsCheckpoint() bool { return k.Kept != nil }
