package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/tool/agent"
)

// Publisher encodes the events that the tools of one task publish. It is safe for
// concurrent use.
type Publisher struct {
	ids   *event.IDs
	limit int
}

// Publisher returns the publisher of the task of f, for events of at most limit
// bytes.
func (f *Fold) Publisher(limit int) Publisher { return Publisher{ids: f.View.ids, limit: limit} }

// Chunk returns the event of a piece of a call's own artifact. If first is set, it
// replaces what an earlier run of the call has published.
func (p Publisher) Chunk(now time.Time, call, tool string, content any, metadata map[string]any, first bool) (Chunk, error) {
	part, err := contentPart(content)
	if err != nil {
		return Chunk{}, err
	}
	u := event.ArtifactUpdate{ID: artifactID(call), Parts: part, Append: !first}
	if first {
		u.Name = tool
	}
	if len(metadata) > 0 {
		if u.EventMetadata, err = event.EncodeValue(metadata); err != nil {
			return Chunk{}, fmt.Errorf("the metadata of a chunk is not JSON: %w", err)
		}
	}
	return p.chunk(now, u, "a chunk")
}

// Artifact returns the event of an artifact that a call saves under a name.
func (p Publisher) Artifact(now time.Time, call, name string, parts []agent.Part) (Chunk, error) {
	if name == "" || len(parts) == 0 {
		return Chunk{}, errors.New("an artifact has a name and at least one part")
	}
	var joined json.RawMessage
	for i, part := range parts {
		data, err := json.Marshal(partOf(part))
		if err != nil {
			return Chunk{}, fmt.Errorf("part %d of artifact %s: %w", i, name, err)
		}
		if i > 0 {
			joined = append(joined, ',')
		}
		joined = append(joined, data...)
	}
	return p.chunk(now, event.ArtifactUpdate{ID: artifactID(call) + "/" + name, Name: name, Parts: joined, Last: true}, "artifact "+name)
}

func (p Publisher) chunk(now time.Time, u event.ArtifactUpdate, what string) (Chunk, error) {
	data := event.EncodeArtifact(p.ids, &u)
	if len(data) > p.limit {
		return Chunk{}, fmt.Errorf("%s makes an event of %d bytes; at most %d are allowed: send smaller ones", what, len(data), p.limit)
	}
	return Chunk{Event: store.Event{Kind: event.KindArtifact, Public: true, Bulk: true, Time: store.MillisOf(now), Data: data}, update: u}, nil
}

// EncodeResult returns a tool's result as JSON.
func EncodeResult(v any) (json.RawMessage, error) {
	data, err := event.EncodeValue(v)
	if err != nil {
		return nil, fmt.Errorf("the tool's result is not JSON: %w", err)
	}
	return data, nil
}

// contentPart returns content as one part: text when it is text, else data.
func contentPart(content any) (json.RawMessage, error) {
	if text, ok := content.(string); ok {
		return event.TextPart(text), nil
	}
	data, err := event.EncodeValue(content)
	if err != nil {
		return nil, fmt.Errorf("the content of a chunk is not JSON: %w", err)
	}
	return event.ResultPart(data), nil
}

func partOf(p agent.Part) *a2a.Part {
	var part *a2a.Part
	switch {
	case p.Raw != nil:
		part = a2a.NewRawPart(p.Raw)
	case p.URL != "":
		part = a2a.NewFileURLPart(a2a.URL(p.URL), p.MediaType)
	case p.Data != nil:
		part = a2a.NewDataPart(p.Data)
	default:
		part = a2a.NewTextPart(p.Text)
	}
	part.Filename, part.MediaType, part.Metadata = p.Filename, p.MediaType, p.Metadata
	return part
}
