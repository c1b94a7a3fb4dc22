package engine_test

import (
	"encoding/json"
	"errors"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// deadly runs f in a process of its own, and fails when that dies.
func deadly(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv("ENGINE_TEST_CHILD") == t.Name() {
		f(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.timeout", "5m")
	cmd.Env = append(os.Environ(), "ENGINE_TEST_CHILD="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		if n := len(out); n > 1500 {
			out = out[n-1500:]
		}
		t.Errorf("the process: %v\n%s", err, out)
	}
}

// shy panics when it is shown as JSON.
type shy struct{ text *string }

func (s shy) MarshalJSON() ([]byte, error) { return json.Marshal(*s.text) }

// A tool that panics fails its call, whatever it panics with.
func TestPanicWithAValueThatPanics(t *testing.T) {
	deadly(t, func(t *testing.T) {
		w := newMemory(t)
		w.tools.extra = []tool.Tool{&fake{name: "shy", call: func(tool.Context, map[string]any) (map[string]any, error) {
			panic(shy{})
		}}}
		w.start()
		w.wantState(w.ended(w.begin(w.calls("shy", args{}))), a2a.TaskStateFailed)
	})
}

// A streaming tool that yields after it has returned, from a goroutine that it has
// left behind, is refused; it does not end the server.
func TestYieldAfterTheEnd(t *testing.T) {
	deadly(t, func(t *testing.T) {
		w := newMemory(t)
		yielded := make(chan bool)
		w.tools.extra = []tool.Tool{&streamer{fake: fake{name: "leaves"}, stream: func(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
			return func(yield func(*tool.Result, error) bool) {
				returned := make(chan struct{})
				go func() {
					<-returned
					yielded <- yield(&tool.Result{Content: "late", Streaming: true}, nil)
				}()
				yield(&tool.Result{Content: "done"}, nil)
				time.AfterFunc(10*time.Millisecond, func() { close(returned) })
			}
		}}}
		w.start()
		w.wantState(w.ended(w.begin(w.calls("leaves", args{}))), a2a.TaskStateCompleted)
		if <-yielded {
			t.Error("what was yielded after the end was taken")
		}
	})
}

// A tool that ends its goroutine has ended: its call need not wait for its time-out,
// and the run does not count as one that cannot be stopped.
func TestToolEndsItsGoroutine(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.tools.extra = []tool.Tool{&fake{name: "exits", is: tool.Annotations{Idempotent: true}, call: func(tool.Context, map[string]any) (map[string]any, error) {
			runtime.Goexit()
			return nil, nil
		}}}
		w.start()
		id := w.begin(w.calls("exits", args{}))
		time.Sleep(time.Minute)
		if got := w.get(id); got.Status.State == a2a.TaskStateWorking {
			t.Errorf("after a minute the task is %s, though nothing of it runs", got.Status.State)
		}
		time.Sleep(10 * time.Minute)
		t.Logf("then: %s %q", w.get(id).Status.State, statusText(w.get(id)))
		for range 8 {
			w.begin(w.calls("exits", args{}))
		}
		time.Sleep(10 * time.Minute)
		last := w.begin(w.calls("exits", args{}))
		time.Sleep(time.Minute)
		t.Logf("the tenth: %s %q", w.get(last).Status.State, statusText(w.get(last)))
	})
}

// A gate that ends its goroutine leaves no task at work forever.
func TestGateEndsItsGoroutine(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		exits := false
		p, err := approval.NewPolicy(approval.PolicyConfig{})
		if err != nil {
			t.Fatal(err)
		}
		w.cfg.Policy = p
		w.tools.extra = []tool.Tool{&gatedFake{fake: fake{name: "exits", call: func(tool.Context, map[string]any) (map[string]any, error) {
			return nil, nil
		}}, gate: func() bool {
			if exits {
				exits = false
				runtime.Goexit()
			}
			return false
		}}}
		runs := newCounted()
		w.tools.extra = append(w.tools.extra, &fake{name: "first", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if runs.enter(ctx) == 1 {
				exits = true
				return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
			}
			return nil, nil
		}})
		w.start(func(c *engine.Config) { c.Planner = &twoSteps{} })
		id := w.begin(w.calls("first", args{}))
		time.Sleep(3 * time.Hour)
		if h := w.header(id); h.Phase != 3 {
			t.Errorf("after hours the task is %s, phase %d, due %d", w.get(id).Status.State, h.Phase, h.Due)
		}
	})
}

// gatedFake is a fake with a gate of its own.
type gatedFake struct {
	fake
	gate func() bool
}

func (g *gatedFake) Gate(agentCtx, map[string]any) (bool, string, error) { return g.gate(), "", nil }

// childStuck is a tool with something elsewhere that does not come back from being
// told to end.
type childStuck struct {
	fake
	stuck chan struct{}
}

func (c *childStuck) StopJob(tool.Context, json.RawMessage) error {
	<-c.stuck
	return errors.New("stuck")
}

// Tools that do not come back from StopJob stop no timer of other tasks.
func TestStuckChildrenStopNoTimers(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		stuck := make(chan struct{})
		t.Cleanup(func() { close(stuck) })
		w.tools.extra = []tool.Tool{
			&childStuck{fake: fake{name: "remote", call: func(tool.Context, map[string]any) (map[string]any, error) {
				return nil, &tool.Suspension{Wake: time.Now().Add(1000 * time.Hour)}
			}}, stuck: stuck},
			&fake{name: "nap", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, ok := tool.Resumed(ctx); ok {
					return map[string]any{"ok": true}, nil
				}
				return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
			}},
		}
		w.start()
		for range 16 {
			id := w.begin(w.calls("remote", args{}))
			synctest.Wait()
			if err := w.engine.Cancel(w.ctx(), alice, mustID(id)); err != nil {
				t.Fatal(err)
			}
		}
		other := w.begin(w.calls("nap", args{}))
		time.Sleep(24 * time.Hour)
		if got := w.get(other); got.Status.State != a2a.TaskStateCompleted {
			t.Errorf("a day later the task of another call is %s: its timer of an hour has not come", got.Status.State)
		}
	})
}
