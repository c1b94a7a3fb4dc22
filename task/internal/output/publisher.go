package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"time"

	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/tool/agent"
)

// Publisher encodes the events that the tools of a task publish. It is safe for concurrent
// use.
type Publisher struct {
	ids       *event.IDs
	presenter task.Presenter
	limit     int
}

// NewPublisher returns the publisher of the task with ids, for events of at most limit bytes.
func NewPublisher(ids *event.IDs, p task.Presenter, limit int) Publisher {
	return Publisher{ids: ids, presenter: p, limit: limit}
}

// TaskID returns the id of the task.
func (p Publisher) TaskID() string { return p.ids.Task }

// Chunk is what a call adds to an artifact.
type Chunk struct {
	Content  Content
	Artifact string         // name of the artifact; "": the artifact named after the tool
	First    bool           // it replaces the earlier content of the artifact
	Error    string         // a partial failure; "": none
	Metadata map[string]any // of the event
}

// Chunk returns the event of a chunk of an artifact that a call builds up.
func (p Publisher) Chunk(now time.Time, call, tool string, c Chunk) (RunEvent, error) {
	u := event.ArtifactUpdate{ID: ArtifactID(call, c.Artifact), Parts: c.Content.parts, Append: !c.First}
	if c.First {
		if u.Name = c.Artifact; u.Name == "" {
			u.Name = tool
		}
	}
	metadata := unmarked(c.Metadata)
	if c.Error != "" {
		with := map[string]any{}
		maps.Copy(with, metadata)
		with[task.ErrorKey] = c.Error
		metadata = with
	}
	var err error
	if u.EventMetadata, err = EncodeMetadata(metadata); err != nil {
		return RunEvent{}, fmt.Errorf("the metadata of a chunk is not JSON: %w", err)
	}
	if err := CheckDepth(u.EventMetadata); err != nil {
		return RunEvent{}, fmt.Errorf("the metadata of a chunk cannot be published: %w", err)
	}
	return p.chunk(now, u, "a chunk")
}

// ErrorContent returns the content of a chunk that has only an error.
func ErrorContent(text string) (Content, error) {
	c, err := Publisher{}.encodeParts([]agent.Part{{Text: text, Metadata: map[string]any{task.ErrorKey: true}}}, math.MaxInt)
	if err != nil {
		return Content{}, fmt.Errorf("the error of a chunk: %w", err)
	}
	return c, nil
}

// MaxArtifacts is the number of artifacts that a run may build in addition to the artifact
// named after its tool.
const MaxArtifacts = 16

// maxArtifactName bounds the name of an artifact that a run builds up.
const maxArtifactName = 64

var artifactName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckArtifactName refuses a name that cannot be that of an artifact that a run builds
// up: it has to be 1 to 64 letters, digits, underscores and hyphens.
func CheckArtifactName(name string) error {
	if !artifactName.MatchString(name) {
		return fmt.Errorf("artifact %s: a name has 1 to %d letters, digits, underscores and hyphens", visible.Quote(name, maxArtifactName), maxArtifactName)
	}
	return nil
}

// ArtifactID is the id of an artifact that a call builds up: the same in all of its runs.
func ArtifactID(call, artifact string) string {
	if artifact == "" {
		return call
	}
	return call + "." + artifact
}

// Artifact returns the event of an artifact that a call saves under a name.
func (p Publisher) Artifact(now time.Time, call, name string, parts []agent.Part) (RunEvent, error) {
	if name == "" || len(parts) == 0 {
		return RunEvent{}, errors.New("an artifact has a name and at least one part")
	}
	var joined json.RawMessage
	for i := range parts {
		data, err := p.encodePart(parts[i])
		if err != nil {
			return RunEvent{}, fmt.Errorf("part %d of artifact %s: %w", i+1, name, err)
		}
		joined = event.Join(joined, data)
	}
	return p.chunk(now, event.ArtifactUpdate{ID: call + "/" + name, Name: name, Parts: joined, Last: true}, "artifact "+name)
}

func (p Publisher) chunk(now time.Time, u event.ArtifactUpdate, what string) (RunEvent, error) {
	data := event.EncodeArtifact(p.ids, &u)
	if len(data) > p.limit {
		return RunEvent{}, fmt.Errorf("%s makes an event of %d bytes; at most %d are allowed: send smaller ones", what, len(data), p.limit)
	}
	return RunEvent{Event: store.Event{Kind: event.KindArtifact, Public: true, Bulk: true, Time: store.MillisOf(now), Data: data}, Update: u}, nil
}

// Checkpoint returns the event with which a running call keeps state, in place of the state it
// kept before. It is appended in a batch with chunks, in its order among them: if the checkpoint
// is in the log, so are the chunks published before it.
func (p Publisher) Checkpoint(now time.Time, call string, state json.RawMessage) (RunEvent, error) {
	if err := CheckState(state); err != nil {
		return RunEvent{}, err
	}
	kept := &event.CallCheckpoint{Call: call, State: event.Compact(bytes.Clone(state))}
	data, err := event.Append(nil, kept)
	if err != nil {
		return RunEvent{}, fmt.Errorf("encode event %s: %w", event.KindCheckpoint, err)
	}
	return RunEvent{Event: store.Event{Kind: event.KindCheckpoint, Time: store.MillisOf(now), Data: data}, Kept: kept}, nil
}
