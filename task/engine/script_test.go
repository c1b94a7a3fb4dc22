package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/planner/script"
	"a2a-server/tool"
)

const scenarios = `
scenarios:
  - name: errand
    when: {text: errand}
    steps:
      - status: looking around
      - artifact: {id: notes, name: notes, parts: [{text: first}, {data: {a: 1}}]}
      - wait: 10ms
      - ask: which one?
      - calls:
          - {tool: echo, args: {n: 1}}
          - {tool: transfer, args: {amount: 1, to: bob}}
      - ask_auth: sign in elsewhere
      - chunks: {id: log, name: log, texts: [a, b, c]}
      - complete: all done
  - name: broken
    when: {text: broken}
    steps:
      - status: trying
      - error: it broke
  - name: refused
    when: {text: refused}
    steps:
      - reject: not here
`

// The planner script on the engine: waits and questions that survive restarts,
// steps with several calls, and each kind of end.
func TestScript(t *testing.T) {
	t.Parallel()
	planner, err := script.Load(strings.NewReader(scenarios), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []disk{&memDisk{memstore.New()}, newBolt(t)} {
		w := newWorld(t, d)
		w.cfg = engine.Config{Planner: planner}
		w.start()
		say := func(id a2a.TaskID, text string) *a2a.Task {
			m := w.message(a2a.NewTextPart(text))
			m.TaskID = id
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
		if n := w.tools.count("transfer"); n != 1 {
			t.Errorf("transfer ran %d times, want 1", n)
		}
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
		return nil, &tool.Suspension{Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: "?"}}, State: json.RawMessage(`"child"`)}
	}
	w := &world{t: t, disk: &memDisk{memstore.New()}, tools: newToolbox()}
	w.tools.extra = []tool.Tool{running, parked}
	w.start()
	t.Cleanup(func() { w.stop() })

	sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.calls("running", args{})})
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := w.engine.Cancel(w.ctx(), alice, sent.Task); err != nil {
		t.Fatal(err)
	}
	w.wantState(w.await(sent), a2a.TaskStateCanceled)
	got := w.send(w.calls("parked", args{}))
	if err := w.engine.Cancel(w.ctx(), alice, mustID(got.ID)); err != nil {
		t.Fatal(err)
	}
	w.until("all are told", func() bool {
		return running.byID.Load() > 0 && running.byTask.Load() > 0 && parked.child.Load() > 0
	})
	w.stop()
	if a, b, c := running.byID.Load(), running.byTask.Load(), parked.child.Load(); a != 1 || b != 1 || c != 1 {
		t.Errorf("told by call %d times, by task %d times, for the child %d times; want once each", a, b, c)
	}
}

// A planner that panics, or plans nonsense, ends its task, not the process.
func TestBrokenPlanner(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]func() (*task.Step, error){
		"panics":  func() (*task.Step, error) { panic("planner broke") },
		"fails":   func() (*task.Step, error) { return nil, errors.New("no idea") },
		"nothing": func() (*task.Step, error) { return nil, nil },
		"empty":   func() (*task.Step, error) { return &task.Step{}, nil },
		"two kinds": func() (*task.Step, error) {
			return &task.Step{Wait: time.Second, End: &task.End{State: a2a.TaskStateCompleted}}, nil
		},
		"impossible end": func() (*task.Step, error) {
			return &task.Step{End: &task.End{State: a2a.TaskStateSubmitted}}, nil
		},
	} {
		for _, inline := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newMemory(t)
				w.cfg = engine.Config{Planner: &brokenPlanner{plan, inline}}
				w.start()
				sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.message(a2a.NewTextPart("x"))})
				if err != nil {
					return // refused: nothing was stored
				}
				w.wantState(w.await(sent), a2a.TaskStateFailed)
			})
		}
	}
}
