package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A long-running tool that does not know whether its job was started is not called again
// by a timer: what is unknown comes first, whatever else its error says.
func TestDoubtAboutAJobComesFirst(t *testing.T) {
	t.Parallel()
	doubt := func() error {
		return fmt.Errorf("no answer: %w", errors.Join(tool.ErrOutcomeUnknown, &tool.Suspension{Wake: time.Now().Add(time.Minute)}))
	}
	for name, change := range map[string]func(p *printer){
		"of Call": func(p *printer) {
			p.call = func(tool.Context, map[string]any) (map[string]any, error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.starts++
				return nil, doubt()
			}
		},
		"of Poll": func(p *printer) {
			p.poll = func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
				return nil, nil, doubt()
			}
		},
		"of Poll, to be tried again": func(p *printer) {
			p.poll = func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
				return nil, nil, errors.Join(tool.ErrTryAgain, tool.ErrOutcomeUnknown)
			}
		},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			p := newPrinter(doneAt(9))
			change(p)
			w.startTools(p)
			id := w.print()
			pass(time.Hour)
			starts, polls, _ := p.did()
			if a := w.waiting(id); len(a) != 1 || a[0].Kind != approval.KindOutcome || starts != 1 || polls > 1 {
				t.Errorf("%d starts and %d polls; %d approvals are pending, want that of the outcome", starts, polls, len(a))
			}
		})
	}
}

// A job that nobody waits for any longer is stopped, also when a hook has made a result of
// the error that its call ended with.
func TestJobIsStoppedWhenAHookMakesAResult(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := newPrinter(func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
			return nil, nil, nil
		})
		p.polling = tool.Polling{Deadline: time.Minute}
		w.tools.extra = []tool.Tool{p}
		w.start(func(c *engine.Config) {
			c.ErrorHooks = []task.AfterHook{after(func(r *task.Result) error {
				r.Error, r.Content = "", json.RawMessage(`"not printed"`)
				return nil
			})}
		})
		id := w.print()
		time.Sleep(time.Hour)
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		if _, _, stopped := p.did(); len(stopped) != 1 || stopped[0] != jobOne {
			t.Errorf("jobs %v are stopped, want the one that was started", stopped)
		}
	})
}

// What a poll keeps with a checkpoint remains when the poll has nothing newer.
func TestCheckpointOfAPollRemains(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(ctx tool.Context) error{
		"not done":          func(tool.Context) error { return nil },
		"to be tried again": func(tool.Context) error { return tool.ErrTryAgain },
		"a question": func(tool.Context) error {
			return &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "continue?"}}, Wake: time.Now().Add(time.Minute)}
		},
		"too slow": func(ctx tool.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			p := newPrinter(nil)
			p.poll = func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
				if n > 1 {
					return &tool.Result{Content: "done"}, nil, nil
				}
				if err := tool.Checkpoint(ctx, json.RawMessage(`"page 2"`)); err != nil {
					t.Error(err)
				}
				return nil, nil, then(ctx)
			}
			w.startTools(p)
			id := w.print()
			time.Sleep(time.Hour)
			w.wantState(w.ended(id), a2a.TaskStateCompleted)
			if got := fmt.Sprint(p.states); got != `[{"job":1} "page 2"]` {
				t.Errorf("the polls get %s, want what the first has kept", got)
			}
		})
	}
}

// lockedPrinter holds its lock while it polls, and takes it to say how.
type lockedPrinter struct {
	*printer
	lock sync.Mutex
}

func (p *lockedPrinter) Polling() tool.Polling {
	p.lock.Lock()
	defer p.lock.Unlock()
	return tool.Polling{First: time.Millisecond, Max: time.Millisecond}
}

func (p *lockedPrinter) Poll(ctx tool.Context, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.printer.Poll(ctx, state)
}

// A poll that never lets go of a lock which its tool needs to say how it is polled is given
// up like any other, and made again.
func TestPollThatHoldsALock(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	p := &lockedPrinter{printer: newPrinter(func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
		<-hold
		return &tool.Result{Content: "done"}, nil, nil
	})}
	w.cfg.Limits = task.Limits{ToolTimeout: 20 * time.Millisecond, ToolGrace: 20 * time.Millisecond}
	p.gated = false
	w.startTools(p)
	id := w.begin(w.calls("print", args{}))
	w.until("polls are put off", func() bool {
		v, err := w.store.Read(w.ctx(), store.System(), mustID(id), store.After(0), store.Limit{})
		n := 0
		for _, e := range v.Events {
			if e.Kind == "call.suspended.v1" {
				n++
			}
		}
		return err == nil && n >= 3
	})
	release()
	w.settled(id, a2a.TaskStateCompleted)
}

// broken is a value that cannot be encoded.
type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { panic("broken value") }

// Values that panic, and values that are nested too deep, harm the call that they come
// from, and its task can be read.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	nested := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	asks := func(a tool.Question) func(ctx tool.Context) (map[string]any, error) {
		return func(ctx tool.Context) (map[string]any, error) {
			if r, ok := tool.Resumed(ctx); ok && len(r.Answers) > 0 {
				return args{}, nil
			}
			return nil, &tool.Suspension{Asks: []tool.Question{a}}
		}
	}
	cases := map[string]func(ctx tool.Context) (map[string]any, error){
		"a delta that panics": func(ctx tool.Context) (map[string]any, error) {
			ctx.Actions().StateDelta = map[string]any{"a": broken{}}
			return args{}, nil
		},
		"a state that panics": func(ctx tool.Context) (map[string]any, error) {
			return nil, ctx.State().Set("a", broken{})
		},
		"a result that panics":        func(tool.Context) (map[string]any, error) { return args{"a": broken{}}, nil },
		"a payload that panics":       asks(tool.Question{Kind: tool.AskConfirm, Payload: broken{}}),
		"a named payload that panics": asks(tool.Question{ID: "x", Kind: tool.AskConfirm, Payload: broken{}}),
		"a schema that panics":        asks(tool.Question{ID: "x", Kind: tool.AskForm, Schema: args{"a": broken{}}}),
		"an empty key": func(ctx tool.Context) (map[string]any, error) {
			return args{}, ctx.State().Set("", 1)
		},
		"a key of NULs": func(ctx tool.Context) (map[string]any, error) {
			return args{}, errors.Join(ctx.State().Set("a\x00b", 1), ctx.State().Set("\x00", 1), ctx.State().Set("a", 1))
		},
	}
	for _, n := range []int{999, 1001, 9990, 9997, 9998, 9999, 10000} {
		cases[fmt.Sprint("state of depth ", n)] = func(ctx tool.Context) (map[string]any, error) {
			return args{}, ctx.State().Set("a", nested(n))
		}
		cases[fmt.Sprint("result of depth ", n)] = func(ctx tool.Context) (map[string]any, error) {
			return args{"a": nested(n)}, nil
		}
		cases[fmt.Sprint("payload of depth ", n)] = asks(tool.Question{Kind: tool.AskQuestion, Hint: "?", Payload: nested(n)})
		cases[fmt.Sprint("suspended state of depth ", n)] = func(ctx tool.Context) (map[string]any, error) {
			if _, ok := tool.Resumed(ctx); ok {
				return args{}, nil
			}
			return nil, &tool.Suspension{Wake: time.Now(), State: nested(n)}
		}
	}
	for name, call := range cases {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.startTools(&fake{name: "hostile", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) { return call(ctx) }})
			id := w.begin(w.calls("hostile", args{}))
			pass(time.Minute)
			if says := statusText(w.get(id)); strings.Contains(says, "The task failed") {
				t.Errorf("the task, not the call, has failed: %.300s", says)
			}
			w.restart()
			pass(time.Minute)
			got := w.get(id)
			if s := got.Status.State; s != a2a.TaskStateCompleted && s != a2a.TaskStateFailed && s != a2a.TaskStateInputRequired {
				t.Errorf("the task is %s", s)
			}
		})
	}
}

// A tool that was a Poller when it started its job, and is none when the job is to be
// polled, is not called again unless a person says so: that might do the work twice.
func TestPollerThatIsNoneAnyMore(t *testing.T) {
	t.Parallel()
	for _, verb := range []approval.DecisionType{approval.Approve, approval.Reject} {
		runInMemory(t, string(verb), func(t *testing.T, w *world) {
			p := newPrinter(doneAt(9))
			w.startTools(p)
			id := w.print()
			calls := 0
			w.tools.extra = []tool.Tool{&fake{name: "print", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, ok := tool.Resumed(ctx); ok {
					t.Error("it is resumed with a state that is not its own")
				}
				calls++
				return args{"printed": "at once"}, nil
			}}}
			w.restart()
			pass(time.Hour)
			if a := w.waiting(id); calls != 0 || len(a) != 1 || a[0].Kind != approval.KindOutcome {
				t.Fatalf("it was called %d times, and %d approvals are pending, want that of the outcome", calls, len(a))
			}
			w.must(w.decide(bob, id, approval.Decision{ID: w.waiting(id)[0].ID, Type: verb}))
			time.Sleep(time.Hour)
			w.ended(id)
			if want := map[approval.DecisionType]int{approval.Approve: 1}[verb]; calls != want {
				t.Errorf("after %s it was called %d times, want %d", verb, calls, want)
			}
		})
	}
}
