package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/tool/agent"
)

// toolArtifacts are the artifacts of the task as its tools see them.
type toolArtifacts toolContext

// Save publishes an artifact of the call; one of the same name is replaced. The
// version is always 1: artifacts of a task have no versions in A2A.
func (a *toolArtifacts) Save(_ context.Context, name string, parts ...agent.Part) (int64, error) {
	if name == "" || len(parts) == 0 {
		return 0, errors.New("an artifact has a name and at least one part")
	}
	var joined json.RawMessage
	for i, p := range parts {
		data, err := json.Marshal(partOf(p))
		if err != nil {
			return 0, fmt.Errorf("part %d of artifact %s: %w", i, name, err)
		}
		if i > 0 {
			joined = append(joined, ',')
		}
		joined = append(joined, data...)
	}
	u := artifactUpdate{ID: artifactID(&a.call) + "/" + name, Name: name, Parts: joined, Last: true}
	data := encodeArtifact(a.turn.ids, &u)
	if limit := a.run.e.cfg.Limits.Event; len(data) > limit {
		return 0, fmt.Errorf("artifact %s makes an event of %d bytes; at most %d are allowed", name, len(data), limit)
	}
	return 1, a.run.emit(store.Event{Kind: kindArtifact, Public: true, Time: store.MillisOf(a.run.e.now()), Data: data})
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

func contentOf(p *a2a.Part) agent.Part {
	return agent.Part{
		Text: p.Text(), Data: p.Data(), Raw: p.Raw(), URL: string(p.URL()),
		Filename: p.Filename, MediaType: p.MediaType, Metadata: p.Metadata,
	}
}

// Load returns the parts of the newest artifact with this name, as far as it is
// durable.
func (a *toolArtifacts) Load(ctx context.Context, name string) ([]agent.Part, error) {
	artifacts, err := a.read(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(artifacts) - 1; i >= 0; i-- {
		if artifacts[i].Name != name {
			continue
		}
		var parts []agent.Part
		for _, p := range artifacts[i].Parts {
			parts = append(parts, contentOf(p))
		}
		return parts, nil
	}
	return nil, fmt.Errorf("the task has no artifact %q", name)
}

// List returns the names of the task's artifacts, in the order of their first
// appearance.
func (a *toolArtifacts) List(ctx context.Context) ([]string, error) {
	artifacts, err := a.read(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, artifact := range artifacts {
		names = append(names, artifact.Name)
	}
	return names, nil
}

func (a *toolArtifacts) read(ctx context.Context) ([]*a2a.Artifact, error) {
	view, _, err := a.run.e.loadView(ctx, store.System(), a.run.task)
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	task, err := view.Task(ViewOptions{HistoryLength: 0})
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	return task.Artifacts, nil
}
