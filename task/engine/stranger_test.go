package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/tool"
)

// Of each of these calls only the timeout is known: a person is asked about the outcome.
func TestStrangerOnlyTheTimeoutIsKnown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx tool.Context) (map[string]any, error){
		"the error":        func(ctx tool.Context) (map[string]any, error) { return nil, ctx.Err() },
		"the cause":        func(ctx tool.Context) (map[string]any, error) { return nil, context.Cause(ctx) },
		"deadline":         func(tool.Context) (map[string]any, error) { return nil, context.DeadlineExceeded },
		"joined":           func(ctx tool.Context) (map[string]any, error) { return nil, errors.Join(errors.New("pay"), ctx.Err()) },
		"result and error": func(ctx tool.Context) (map[string]any, error) { return map[string]any{"paid": true}, ctx.Err() },
		"joined suspension": func(ctx tool.Context) (map[string]any, error) {
			return nil, errors.Join(ctx.Err(), &tool.Suspension{Wake: time.Now().Add(time.Minute)})
		},
		"panics with the error": func(ctx tool.Context) (map[string]any, error) { panic(ctx.Err()) },
		"ends its goroutine":    func(tool.Context) (map[string]any, error) { runtime.Goexit(); return nil, nil },
		"as text":               func(ctx tool.Context) (map[string]any, error) { return nil, errors.New("pay: " + ctx.Err().Error()) },
		"ask after it": func(ctx tool.Context) (map[string]any, error) {
			_, err := tool.AskAndWait(ctx, whichOne)
			return nil, err
		},
		"checkpoint after it": func(ctx tool.Context) (map[string]any, error) {
			return nil, tool.Checkpoint(ctx, json.RawMessage(`1`))
		},
		"checkpoint after it, other context": func(ctx tool.Context) (map[string]any, error) {
			return nil, tool.Checkpoint(context.WithoutCancel(ctx), json.RawMessage(`1`))
		},
		"confirm, then the error": func(ctx tool.Context) (map[string]any, error) {
			_ = tool.RequestConfirmation(ctx, "sure?", nil)
			return nil, ctx.Err()
		},
		"never ends": func(ctx tool.Context) (map[string]any, error) {
			time.Sleep(30 * time.Minute)
			return map[string]any{"paid": true}, nil
		},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: 10 * time.Second}
			runs := 0
			w.startTools(&fake{name: "slow", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				runs++
				<-ctx.Done()
				return end(ctx)
			}})
			id := w.begun(alice, w.calls("slow", args{}))
			pass(20 * time.Minute)
			if got := w.get(id); got.Status.State != a2a.TaskStateInputRequired {
				t.Errorf("the task is %s", got.Status.State)
			} else {
				w.asksOutcome(id)
			}
			pass(5 * time.Hour)
			if runs != 1 {
				t.Errorf("it ran %d times", runs)
			}
		})
	}
}

// The same of tools that stream.
func TestStrangerOnlyTheTimeoutIsKnownOfAStream(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx tool.Context, yield func(*tool.Result, error) bool){
		"the error": func(ctx tool.Context, yield func(*tool.Result, error) bool) { yield(nil, ctx.Err()) },
		"the error, twice": func(ctx tool.Context, yield func(*tool.Result, error) bool) {
			yield(nil, ctx.Err())
			yield(&tool.Result{Content: "x"}, nil)
		},
		"returns": func(tool.Context, func(*tool.Result, error) bool) {},
		"nothing": func(_ tool.Context, yield func(*tool.Result, error) bool) { yield(nil, nil) },
		"a result with the error": func(ctx tool.Context, yield func(*tool.Result, error) bool) {
			yield(&tool.Result{Error: ctx.Err().Error()}, nil)
		},
		"a piece, then returns": func(_ tool.Context, yield func(*tool.Result, error) bool) {
			yield(&tool.Result{Content: "more", Streaming: true}, nil)
		},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: 10 * time.Second}
			w.startTools(&streamer{fake: fake{name: "slow"}, stream: func(ctx tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
				yield(&tool.Result{Content: "begun", Streaming: true}, nil)
				<-ctx.Done()
				end(ctx, yield)
			}})
			id := w.begun(alice, w.calls("slow", args{}))
			pass(20 * time.Minute)
			w.wantState(w.get(id), a2a.TaskStateInputRequired)
		})
	}
}

// In the grace period after the timeout the call is canceled, or the server stops; then the tool says what it did.
func TestStrangerInTheGracePeriod(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		then func(w *world, id a2a.TaskID)
		end  func(ctx tool.Context, yield func(*tool.Result, error) bool)
		want a2a.TaskState
	}{
		"stop, then the error": {func(w *world, _ a2a.TaskID) { w.restart() }, func(ctx tool.Context, yield func(*tool.Result, error) bool) { yield(nil, ctx.Err()) }, a2a.TaskStateInputRequired},
		"stop, then a piece": {func(w *world, _ a2a.TaskID) { w.restart() }, func(_ tool.Context, yield func(*tool.Result, error) bool) {
			yield(&tool.Result{Content: "x", Streaming: true}, nil)
		}, a2a.TaskStateInputRequired},
		"stop, then never":       {func(w *world, _ a2a.TaskID) { w.restart() }, func(tool.Context, func(*tool.Result, error) bool) { time.Sleep(time.Hour) }, a2a.TaskStateInputRequired},
		"cancel, then the error": {nil, func(ctx tool.Context, yield func(*tool.Result, error) bool) { yield(nil, ctx.Err()) }, ""},
		"cancel, then a piece": {nil, func(_ tool.Context, yield func(*tool.Result, error) bool) {
			yield(&tool.Result{Content: "x", Streaming: true}, nil)
		}, ""},
		"cancel, then the result": {nil, func(_ tool.Context, yield func(*tool.Result, error) bool) { yield(&tool.Result{Content: "paid"}, nil) }, ""},
		"cancel, then never":      {nil, func(tool.Context, func(*tool.Result, error) bool) { time.Sleep(time.Hour) }, ""},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: 30 * time.Second}
			s := &streamer{fake: fake{name: "slow"}, stream: func(ctx tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
				yield(&tool.Result{Content: "begun", Streaming: true}, nil)
				<-ctx.Done()
				time.Sleep(20 * time.Second)
				tc.end(ctx, yield)
			}}
			w.startTools(s)
			id := w.begun(alice, w.calls("slow", args{}))
			pass(65 * time.Second)
			if tc.then != nil {
				tc.then(w, id)
			} else if _, err := w.sendAs(alice, w.reply(id, a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": "c1.1"}))); err != nil {
				t.Logf("cancel: %v", err)
			}
			pass(2 * time.Hour)
			got := w.get(id)
			var all []string
			for _, e := range w.events(id) {
				all = append(all, e.Kind)
			}
			t.Logf("%s: %s, %v", name, got.Status.State, all)
			if b, err := json.Marshal(got.Status); err == nil {
				t.Logf("%.400s", b)
			}
			if tc.want != "" && got.Status.State != tc.want {
				t.Errorf("the task is %s, want %s", got.Status.State, tc.want)
			}
			pass(2 * time.Hour)
		})
	}
}

// An idempotent call that always times out runs how often?
func TestStrangerRetriesEnd(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]tool.Annotations{"idempotent": {Idempotent: true}, "read-only": {ReadOnly: true}} {
		for _, how := range []string{"canceled", "given up"} {
			runInMemory(t, name+" "+how, func(t *testing.T, w *world) {
				w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: time.Second}
				runs := 0
				w.startTools(&fake{name: "slow", is: is, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					runs++
					<-ctx.Done()
					if how == "given up" {
						time.Sleep(time.Hour)
					}
					return nil, ctx.Err()
				}})
				id := w.begun(alice, w.calls("slow", args{}))
				pass(24 * time.Hour)
				t.Logf("%d runs, %s", runs, w.get(id).Status.State)
				if runs > 2 || !w.get(id).Status.State.Terminal() {
					t.Errorf("%d runs, %s", runs, w.get(id).Status.State)
				}
			})
		}
	}
}

// A job that was started after the timeout, within the grace period, is polled; a poll whose pieces and state come
// after the timeout loses neither.
func TestStrangerJobsAfterTheTimeout(t *testing.T) {
	t.Parallel()
	runInMemory(t, "start", func(t *testing.T, w *world) {
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: 10 * time.Second}
		p := newPrinter(doneAt(2))
		inner := p.call
		p.call = func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			<-ctx.Done()
			return inner(ctx, a)
		}
		w.startTools(p)
		id := w.print()
		pass(time.Hour)
		starts, polls, _ := p.did()
		if starts != 1 || polls != 2 {
			t.Errorf("%d starts, %d polls", starts, polls)
		}
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
	runInMemory(t, "poll", func(t *testing.T, w *world) {
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: 10 * time.Second}
		p := newPrinter(func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n == 1 {
				<-ctx.Done()
				return &tool.Result{Content: "page 1", Streaming: true}, json.RawMessage(`{"job":1,"page":1}`), nil
			}
			if string(state) != `{"job":1,"page":1}` {
				t.Errorf("the state is %s", state)
			}
			return &tool.Result{Content: "page 2", Streaming: n == 2}, state, nil
		})
		w.startTools(p)
		id := w.print()
		pass(time.Hour)
		got := w.get(id)
		w.wantState(got, a2a.TaskStateCompleted)
		b, _ := json.Marshal(got.Artifacts)
		t.Logf("%s", b)
	})
	runInMemory(t, "poll is given up", func(t *testing.T, w *world) {
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute, ToolGrace: 10 * time.Second}
		p := newPrinter(func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n == 1 {
				time.Sleep(10 * time.Minute)
				return &tool.Result{Content: "page 1", Streaming: true}, json.RawMessage(`{"job":1,"page":1}`), nil
			}
			return &tool.Result{Content: "page 2"}, state, nil
		})
		w.startTools(p)
		id := w.print()
		pass(time.Hour)
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}

// A tool that runs a command as package os/exec does: the timeout kills it, and the error is that it was killed.
func TestStrangerCommandOfTheStandardLibrary(t *testing.T) {
	w := newMemory(t)
	w.cfg.Limits = task.Limits{ToolTimeout: 300 * time.Millisecond, ToolGrace: 5 * time.Second}
	w.startTools(&fake{name: "slow", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		err := exec.CommandContext(ctx, "sleep", "60").Run()
		t.Logf("%v (is canceled: %t)", err, errors.Is(err, context.Canceled))
		return nil, err
	}})
	got := w.send(w.calls("slow", args{}))
	w.wantState(got, a2a.TaskStateInputRequired)
	_ = fmt.Sprint
}
