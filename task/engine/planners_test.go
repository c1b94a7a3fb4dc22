package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

// brokenPlanner plans what it is told to.
type brokenPlanner struct {
	plan   func() (*task.Step, error)
	inline bool
}

func (p *brokenPlanner) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) {
	return nil, nil
}

func (p *brokenPlanner) Plan(context.Context, *task.Progress) (*task.Step, error) { return p.plan() }
func (p *brokenPlanner) Inline() bool                                             { return p.inline }

// slowPlanner is a planner that is asked outside of batches.
type slowPlanner struct{ task.Planner }

func (slowPlanner) Inline() bool { return false }

// readOnce is a planner that plans its first step when it accepts a message, and only then.
type readOnce struct{}

func (*readOnce) Inline() bool { return true }

func (*readOnce) Accept(_ agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	r.First = &task.Step{Output: []task.Output{{Artifact: &task.ArtifactPiece{ID: "note", Parts: []*a2a.Part{a2a.NewTextPart("read")}, Last: true}}}}
	return nil, nil
}

func (*readOnce) Plan(_ context.Context, at *task.Progress) (*task.Step, error) {
	if len(at.Steps) == 0 {
		return nil, errors.New("the message was read again")
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// A message whose first step was planned when it was accepted is not read again.
func TestAcceptedStepIsNotPlannedAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.stop()
		w.cfg.Planner = &readOnce{}
		w.restart()
		got := w.send(w.calls("echo", args{}))
		w.wantState(got, a2a.TaskStateCompleted)
		if len(got.Artifacts) != 1 {
			t.Errorf("%d artifacts, want the one of the first step", len(got.Artifacts))
		}
	})
}

// A planner that is slow makes the same of everything.
func TestSlowPlanner(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.stop()
		w.cfg.Planner = slowPlanner{directPlanner()}
		w.restart()
		w.wantState(w.send(w.calls("write", args{"amount": 1, "to": "x"})), a2a.TaskStateCompleted)
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}, "echo", args{}))
		w.wantState(got, a2a.TaskStateInputRequired)
		w.restart()
		w.wantState(w.send(w.decision(got.ID, approve(w.pending(got)[0]))), a2a.TaskStateCompleted)
		if n := w.tools.count("transfer"); n != 1 {
			t.Errorf("transfer ran %d times, want 1", n)
		}
	})
}
