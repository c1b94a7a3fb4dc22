package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

// stepper is a planner that plans n steps and then ends its task.
type stepper struct {
	n      int
	step   func(i int) *task.Step // i = 0, 1, 2 …
	inline bool
}

func (p *stepper) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) { return nil, nil }
func (p *stepper) Inline() bool                                                      { return p.inline }

func (p *stepper) Plan(_ context.Context, at *task.Progress) (*task.Step, error) {
	if i := len(at.Steps); i < p.n {
		return p.step(i), nil
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// A planner that is asked outside of batches may take as many steps as one that is
// not.
func TestManySteps(t *testing.T) {
	t.Parallel()
	const n = 160
	for name, step := range map[string]func(i int) *task.Step{
		"state": func(i int) *task.Step { return &task.Step{State: fmt.Appendf(nil, "%d", i)} },
		"status": func(i int) *task.Step {
			return &task.Step{Output: []task.Output{{Status: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(fmt.Sprint(i)))}}}
		},
		"artifact": func(i int) *task.Step {
			return &task.Step{Output: []task.Output{{Artifact: &task.ArtifactPiece{ID: "a", Parts: []*a2a.Part{a2a.NewTextPart(fmt.Sprint(i))}, Append: i > 0}}}}
		},
		"calls": func(int) *task.Step { return &task.Step{Calls: []task.PlannedCall{{Tool: "echo"}}} },
	} {
		for _, inline := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s inline %t", name, inline), func(t *testing.T) {
				t.Parallel()
				eachDiskTimed(t, func(t *testing.T, w *world) {
					w.cfg.Planner = &stepper{n: n, step: step, inline: inline}
					w.start()
					got := w.ended(w.begin(w.message(a2a.NewTextPart("go"))))
					w.wantState(got, a2a.TaskStateCompleted)
					if messages := len(got.History); name == "status" && messages != n+1 {
						t.Errorf("the history has %d messages, want %d", messages, n+1)
					}
					if name == "artifact" && (len(got.Artifacts) != 1 || len(got.Artifacts[0].Parts) != n) {
						t.Errorf("the task has %d artifacts, want one with %d parts", len(got.Artifacts), n)
					}
					if runs := w.tools.count("echo"); name == "calls" && runs != n {
						t.Errorf("echo ran %d times, want %d", runs, n)
					}
				})
			})
		}
	}
}

// thinker is a planner that, the first time, thinks until it is told to stop.
type thinker struct {
	once    sync.Once
	entered chan struct{}
	left    chan struct{}
}

func newThinker() *thinker {
	return &thinker{entered: make(chan struct{}), left: make(chan struct{})}
}

func (p *thinker) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) { return nil, nil }
func (p *thinker) Inline() bool                                                      { return false }

func (p *thinker) Plan(ctx context.Context, _ *task.Progress) (*task.Step, error) {
	var err error
	p.once.Do(func() {
		close(p.entered)
		<-ctx.Done()
		err = context.Cause(ctx)
		close(p.left)
	})
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, err
}

// A planner is told when its task is canceled.
func TestPlanEndsWithItsTask(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		p := newThinker()
		w.cfg.Planner = p
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		<-p.entered
		if err := w.engine.Cancel(w.ctx(), alice, mustID(id)); err != nil {
			t.Fatal(err)
		}
		if !within(patience, p.left) {
			t.Error("the planner still thinks about a task that was canceled")
		}
		w.wantState(w.ended(id), a2a.TaskStateCanceled)
	})
}

// A planner that thinks holds nobody up who wants to stop, and is asked again by the
// next process.
func TestStopWhilePlanning(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		p := newThinker()
		w.cfg.Planner = p
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		<-p.entered
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			w.engine.Stop(0)
		}()
		if !within(patience, stopped) {
			t.Fatal("Stop(0) has not returned")
		}
		w.restart()
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
	})
}
