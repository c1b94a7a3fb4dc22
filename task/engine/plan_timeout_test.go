package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool/agent"
)

// planFunc is a planner that is asked outside of batches.
type planFunc func(ctx context.Context) (*task.Step, error)

func (planFunc) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) { return nil, nil }
func (planFunc) Inline() bool                                                      { return false }

func (p planFunc) Plan(ctx context.Context, _ *task.Progress) (*task.Step, error) { return p(ctx) }

// A planner has a time to make up its mind. Its task has failed when that is over, and
// says why: whether the planner obeys, or keeps thinking.
func TestPlanTimeout(t *testing.T) {
	t.Parallel()
	for _, obeys := range []bool{true, false} {
		name := "keeps thinking"
		if obeys {
			name = "obeys"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				over := make(chan struct{})
				t.Cleanup(func() { close(over) })
				causes := make(chan error, 1)
				w.cfg.Planner = planFunc(func(ctx context.Context) (*task.Step, error) {
					if !obeys {
						<-over
						return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
					}
					<-ctx.Done()
					causes <- context.Cause(ctx)
					return nil, context.Cause(ctx)
				})
				w.cfg.Limits = task.Limits{PlanTimeout: 50 * time.Millisecond}
				w.start()
				start := time.Now()
				got := w.ended(w.begin(w.message(a2a.NewTextPart("go"))))
				w.wantState(got, a2a.TaskStateFailed)
				if text := statusText(got); !strings.Contains(text, "planner") || !strings.Contains(text, "50ms") {
					t.Errorf("status = %q, want that the planner took longer than 50ms", text)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("the task failed after %v, want after 50ms", took)
				}
				if !obeys {
					return
				}
				if cause := <-causes; errors.Is(cause, context.Canceled) {
					t.Errorf("the planner was told %v, want that its time is over", cause)
				}
			})
		})
	}
}

// Without a limit of its own a planner has two minutes.
func TestPlanTimeoutDefault(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		start := time.Now()
		var told atomic.Int64 // ns after the start
		w.cfg.Planner = planFunc(func(ctx context.Context) (*task.Step, error) {
			<-ctx.Done()
			told.Store(int64(time.Since(start)))
			return nil, context.Cause(ctx)
		})
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		time.Sleep(3 * time.Minute)
		w.wantState(w.ended(id), a2a.TaskStateFailed)
		if d := time.Duration(told.Load()); d != 2*time.Minute {
			t.Errorf("the planner was told after %v, want after 2m", d)
		}
	})
}
