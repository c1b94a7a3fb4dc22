package engine_test

import (
	"context"
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
