package call

import (
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/tool/agent"
)

// toolArtifacts are the artifacts of the task as its tools see them.
type toolArtifacts toolContext

// Save publishes an artifact of the call, and replaces an artifact of the same name. The
// version is always 1: artifacts of a task have no versions in A2A.
func (a *toolArtifacts) Save(_ context.Context, name string, parts ...agent.Part) (int64, error) {
	k, err := a.run.publish.Artifact(a.run.runs.Env.Now(), a.run.entry.Call, name, parts)
	if err != nil {
		return 0, err
	}
	if err := a.run.emit(k); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.saved == nil {
		a.saved = map[string]int64{}
	}
	a.saved[name] = 1
	return 1, nil
}

// Load returns the parts of the newest artifact with this name, as far as they are
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
			parts = append(parts, task.ContentOf(p))
		}
		return parts, nil
	}
	return nil, fmt.Errorf("the task has no artifact %q", name)
}

// List returns the names of the task's artifacts, sorted.
func (a *toolArtifacts) List(ctx context.Context) ([]string, error) {
	artifacts, err := a.read(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, artifact := range artifacts {
		names = append(names, artifact.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (a *toolArtifacts) read(ctx context.Context) ([]*a2a.Artifact, error) {
	f, _, err := a.run.runs.Reader.Load(ctx, store.System(), a.run.seat.Task, tasklog.Reading{View: true})
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	t, err := f.View.Task(task.ViewOptions{HistoryLength: 0})
	if err != nil {
		return nil, fmt.Errorf("read artifacts: %w", err)
	}
	return t.Artifacts, nil
}
