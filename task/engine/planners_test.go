package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

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
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Planner = &readOnce{}
		w.start()
		got := w.send(w.calls("echo", args{}))
		w.wantState(got, a2a.TaskStateCompleted)
		if len(got.Artifacts) != 1 {
			t.Errorf("%d artifacts, want the one of the first step", len(got.Artifacts))
		}
	})
}

// stepper is a planner that plans n steps and then ends its task.
type stepper struct {
	n      int
	step   func(i int) *task.Step // i = 0, 1, 2 …
	inline bool
}

func (p *stepper) Inline() bool { return p.inline }

func (p *stepper) Plan(_ context.Context, at *task.Progress) (*task.Step, error) {
	if i := len(at.Steps); i < p.n {
		return p.step(i), nil
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// sequence is a planner that makes one call after the other.
func sequence(tools ...string) *stepper {
	return &stepper{n: len(tools), inline: true, step: func(i int) *task.Step { return &task.Step{Calls: []task.PlannedCall{{Tool: tools[i]}}} }}
}

// asksALot is a planner that makes a call, and then asks in n bytes.
func asksALot(n int) *stepper {
	return &stepper{n: 2, inline: true, step: func(i int) *task.Step {
		if i == 0 {
			return &task.Step{Calls: []task.PlannedCall{{Tool: "deadline"}}}
		}
		return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(strings.Repeat("?", n)))}}
	}}
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
	inMemory(t, func(t *testing.T, w *world) {
		p := newThinker()
		w.cfg.Planner = p
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		<-p.entered
		w.cancel(id)
		if !within(patience, p.left) {
			t.Error("the planner still thinks about a task that was canceled")
		}
		w.wantState(w.ended(id), a2a.TaskStateCanceled)
	})
}

// A planner that thinks holds nobody up who wants to stop, and is asked again by the
// next process.
func TestStopWhilePlanning(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		p := newThinker()
		w.cfg.Planner = p
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		<-p.entered
		stopped := w.stopping(0)
		if !within(patience, stopped) {
			t.Fatal("Stop(0) has not returned")
		}
		w.restart()
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
	})
}

// planFunc is a planner that is asked outside of batches.
type planFunc func(ctx context.Context) (*task.Step, error)

func (p planFunc) Plan(ctx context.Context, _ *task.Progress) (*task.Step, error) { return p(ctx) }

// A planner has a time to make up its mind, by default two minutes. Its task has failed when
// that is over, and says why: whether the planner obeys, or keeps thinking.
func TestPlanTimeout(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		obeys bool
		limit time.Duration
		want  string
	}{
		"obeys":          {true, 50 * time.Millisecond, "50ms"},
		"keeps thinking": {false, 50 * time.Millisecond, "50ms"},
		"by default":     {true, 0, "2m0s"},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			causes := make(chan error, 1)
			w.cfg.Planner = planFunc(func(ctx context.Context) (*task.Step, error) {
				if !tc.obeys {
					<-over
					return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
				}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return nil, context.Cause(ctx)
			})
			w.cfg.Limits = task.Limits{PlanTimeout: tc.limit}
			w.start()
			start := time.Now()
			id := w.begin(w.message(a2a.NewTextPart("go")))
			if tc.obeys {
				if cause := <-causes; errors.Is(cause, context.Canceled) || time.Since(start).String() != tc.want {
					t.Errorf("the planner was told %v after %v, want that its time is over after %s", cause, time.Since(start), tc.want)
				}
			}
			got := w.ended(id)
			w.wantState(got, a2a.TaskStateFailed)
			if text := statusText(got); !strings.Contains(text, "planner") || !strings.Contains(text, tc.want) {
				t.Errorf("status = %q, want that the planner took longer than %s", text, tc.want)
			}
			if took := time.Since(start); took > 3*time.Minute {
				t.Errorf("the task failed after %v, want after %s", took, tc.want)
			}
		})
	}
}

// A decision is taken though the planner then asks what is larger than a batch or an event may
// be: its task fails, not whoever decides.
func TestDecisionBeforeAStepThatIsTooLarge(t *testing.T) {
	for _, n := range []int{17 << 20, 5 << 20} {
		runInMemory(t, fmt.Sprint(n), func(t *testing.T, w *world) {
			w.cfg.Planner = asksALot(n)
			w.start()
			id := w.begun(alice, w.calls())
			w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Reject}))
			synctest.Wait()
			if n := len(statusText(w.get(id))); n > 1<<20 {
				t.Errorf("a status message of %d bytes was published; an event may have %d", n, 1<<20)
			}
		})
	}
}

// errand is a planner with each kind of step: output, waits, questions, calls together, and each end.
func errand() task.Planner {
	says := func(text string) *a2a.Message {
		return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
	}
	piece := func(id, text string, more, last bool) task.Output {
		return task.Output{Artifact: &task.ArtifactPiece{ID: id, Name: id, Parts: []*a2a.Part{a2a.NewTextPart(text)}, Append: more, Last: last}}
	}
	plans := map[string][]task.Step{
		"errand": {
			{Output: []task.Output{{Status: says("looking around")}, piece("notes", "first", false, true)}, Wait: 10 * time.Millisecond},
			{Ask: &task.InputRequest{Message: says("which one?")}},
			{Calls: []task.PlannedCall{{Tool: "echo", Args: json.RawMessage(`{"n": 1}`)}, {Tool: "transfer", Args: json.RawMessage(`{"amount": 1, "to": "bob"}`)}}},
			{Ask: &task.InputRequest{Message: says("sign in elsewhere"), Auth: true}},
			{Output: []task.Output{piece("log", "a", false, false), piece("log", "b", true, true)}, End: &task.End{State: a2a.TaskStateCompleted, Message: says("all done")}},
		},
		"broken":  {{Output: []task.Output{{Status: says("trying")}}}},
		"refused": {{End: &task.End{State: a2a.TaskStateRejected, Message: says("not here")}}},
	}
	return speaker(func(_ context.Context, p *task.Progress) (*task.Step, error) {
		steps := plans[p.Messages[0].Message.Parts[0].Text()]
		if len(p.Steps) == len(steps) {
			return nil, errors.New("it broke")
		}
		return &steps[len(p.Steps)], nil
	})
}

// Each kind of step on the engine, over restarts.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, d := range []disk{&memDisk{memstore.New()}, newBolt(t)} {
		w := newWorld(t, d)
		w.cfg = engine.Config{Planner: errand()}
		w.start()
		say := func(id a2a.TaskID, text string) *a2a.Task {
			m := w.reply(id, a2a.NewTextPart(text))
			return w.send(m)
		}
		got := say("", "errand")
		w.wantState(got, a2a.TaskStateInputRequired)
		if text := statusText(got); text != "which one?" {
			t.Errorf("status = %q", text)
		}
		w.restart()
		got = say(got.ID, "the red one")
		w.wantState(got, a2a.TaskStateInputRequired)
		if ids := w.pending(got); len(ids) != 1 {
			t.Fatalf("pending = %v, want the transfer", ids)
		}
		got = w.send(w.decision(got.ID, approve(w.pending(got)[0])))
		w.wantState(got, a2a.TaskStateAuthRequired)
		got = say(got.ID, "done")
		w.wantState(got, a2a.TaskStateCompleted)
		w.wantRuns("transfer", 1)
		if names := artifactNames(got); names != "notes echo transfer log" {
			t.Errorf("artifacts = %s", names)
		}
		w.wantState(say("", "broken"), a2a.TaskStateFailed)
		w.wantState(say("", "refused"), a2a.TaskStateRejected)
	}
}

func artifactNames(t *a2a.Task) string {
	var names []string
	for _, a := range t.Artifacts {
		names = append(names, a.Name)
	}
	return strings.Join(names, " ")
}

// cancelable is a tool that is told of a cancel in each of the ways there are.
type cancelable struct {
	fake
	byID, byTask, child atomic.Int32
	fails               atomic.Int32
	canceled            func() // called by the first Cancel
}

func (c *cancelable) Cancel(string) bool {
	if c.byID.Add(1) == 1 {
		c.canceled()
	}
	return true
}

func (c *cancelable) SupportsCancellation() bool { return true }

func (c *cancelable) StopJob(ctx tool.Context, state json.RawMessage) error {
	if c.fails.Add(-1) >= 0 {
		return errTool
	}
	if ctx.FunctionCallID() == "c1.1" && string(state) == `"child"` {
		c.child.Add(1)
	}
	return nil
}

func TestCancelReachesTools(t *testing.T) {
	t.Parallel()
	running := &cancelable{fake: fake{name: "running"}}
	entered, byID := make(chan struct{}), make(chan struct{})
	running.canceled = func() { close(byID) }
	running.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		canceled := make(chan error, 1)
		defer ctx.Task().OnCancel(ctx.FunctionCallID(), func(cause error) { canceled <- cause })()
		close(entered)
		<-canceled //nolint:errcheck // that it comes is what is looked at
		running.byTask.Add(1)
		<-byID // a call that has ended is not told any more
		return nil, context.Cause(ctx)
	}
	parked := &cancelable{fake: fake{name: "parked"}}
	parked.fails.Store(1)
	parked.call = func(tool.Context, map[string]any) (map[string]any, error) {
		return nil, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "?"}}, State: json.RawMessage(`"child"`)}
	}
	w := newMemory(t)
	w.startTools(running, parked)
	sent := w.sent(w.calls("running", args{}))
	<-entered
	w.must(w.engine.Cancel(w.ctx(), alice, sent.Task))
	w.wantState(w.await(sent), a2a.TaskStateCanceled)
	got := w.send(w.calls("parked", args{}))
	w.cancel(got.ID)
	w.until("all are told", func() bool {
		return running.byID.Load() > 0 && running.byTask.Load() > 0 && parked.child.Load() > 0
	})
	w.stop()
	if a, b, c := running.byID.Load(), running.byTask.Load(), parked.child.Load(); a != 1 || b != 1 || c != 1 {
		t.Errorf("told by call %d times, by task %d times, for the child %d times; want once each", a, b, c)
	}
}
