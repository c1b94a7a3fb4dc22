package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// printer is a Poller whose jobs are counted outside of any engine.
type printer struct {
	fake
	polling tool.Polling

	mu      sync.Mutex
	starts  int
	polls   []time.Time
	states  []string // of polls
	stopped []string // states of jobs
	owners  []string // who it was that had jobs stopped
	noStops int      // how often StopJob fails first
	poll    func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error)
}

func newPrinter(poll func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error)) *printer {
	p := &printer{fake: fake{name: "print", gated: true}, poll: poll}
	p.call = func(tool.Context, map[string]any) (map[string]any, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.starts++
		return map[string]any{"job": p.starts}, nil
	}
	return p
}

func (p *printer) IsLongRunning() bool   { return true }
func (p *printer) Polling() tool.Polling { return p.polling }

func (p *printer) Poll(ctx tool.Context, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
	p.mu.Lock()
	p.polls = append(p.polls, time.Now())
	p.states = append(p.states, string(state))
	n := len(p.polls)
	p.mu.Unlock()
	return p.poll(ctx, n, state)
}

func (p *printer) StopJob(ctx tool.Context, state json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noStops--; p.noStops >= 0 {
		return errTool
	}
	p.stopped = append(p.stopped, string(state))
	p.owners = append(p.owners, ctx.Tenant()+"/"+ctx.UserID()+"/"+ctx.FunctionCallID())
	return nil
}

// did returns how often a job was started and polled, and which were stopped.
func (p *printer) did() (starts, polls int, stopped []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts, len(p.polls), slices.Clone(p.stopped)
}

const jobOne = `{"job":1}`

// doneAt returns a poll of a job that is done at its n-th poll.
func doneAt(n int) func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
	return func(_ tool.Context, i int, _ json.RawMessage) (*tool.Result, json.RawMessage, error) {
		if i < n {
			return nil, nil, nil
		}
		return &tool.Result{Content: map[string]any{"pages": 3}}, nil, nil
	}
}

// print begins a task with an approved job. The only approval of it is that of the call.
func (w *world) print() a2a.TaskID {
	w.t.Helper()
	id := w.begun(alice, w.calls("print", args{}))
	w.approves(id)
	synctest.Wait()
	return id
}

// onlyAsked checks that a task has asked for nothing but its call.
func (w *world) onlyAsked(id a2a.TaskID) {
	w.t.Helper()
	if all := w.asked(id); len(all) != 1 || all[0].Kind != approval.KindCall {
		w.t.Errorf("%d approvals were asked, want only that of the call", len(all))
	}
}

// A long-running tool asks once, before its job is started; the job is polled, with
// growing pauses, until it is done, over as many processes as that takes.
func TestPollerOverRestarts(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		runOnEachDisk(t, fmt.Sprint("restarts ", restarts), func(t *testing.T, w *world) {
			p := newPrinter(doneAt(9))
			start := p.call
			p.call = func(ctx tool.Context, a map[string]any) (map[string]any, error) {
				tool.Report(ctx, tool.Progress{Done: 3, Total: 10})
				return start(ctx, a)
			}
			w.startTools(p)
			id := w.begun(alice, w.calls("print", args{}))
			if starts, _, _ := p.did(); starts != 0 {
				t.Fatal("a job was started before it was approved")
			}
			w.approves(id)
			for range 10 {
				synctest.Wait()
				if restarts {
					w.restart()
				}
				got := w.get(id)
				if about, _ := got.Metadata[task.ProgressKey].(map[string]any); got.Status.State == a2a.TaskStateWorking && (about["job"] != "1" || about["done"] != 3.0 || about["total"] != 10.0) {
					t.Errorf("the task says of its call %v, want job 1 and 3 of 10", about)
				}
				time.Sleep(30 * time.Second)
			}
			w.wantState(w.ended(id), a2a.TaskStateCompleted)
			starts, polls, stopped := p.did()
			if starts != 1 || polls != 9 || len(stopped) != 0 {
				t.Errorf("%d starts, %d polls, %v stopped, want 1, 9 and none", starts, polls, stopped)
			}
			for i := range p.states {
				if p.states[i] != jobOne {
					t.Errorf("poll %d gets %s, want %s", i+1, p.states[i], jobOne)
				}
			}
			if restarts {
				w.onlyAsked(id)
				return
			}
			for i, want := range []int{2, 4, 8, 16, 32, 60, 60, 60} {
				if pause := p.polls[i+1].Sub(p.polls[i]).Round(time.Second); pause != time.Duration(want)*time.Second {
					t.Errorf("pause %d is %v, want %ds", i+2, pause, want)
				}
			}
			w.onlyAsked(id)
			if got := artifact(w.get(id), "c1.1"); got == nil || !strings.Contains(fmt.Sprint(got.Parts[0].Data()), "pages:3") {
				t.Errorf("the artifact of the call is %v", got)
			}
			w.idle(t, id)
		})
	}
}

// A process that dies in a poll costs that poll and nothing else: nobody is asked.
func TestPollIsRepeatedAfterACrash(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		k := w.killer()
		p := newPrinter(func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
			switch {
			case n <= 10 && n%2 == 0: // each other poll, ten times in all
				k.die()
			case n <= 10:
				return nil, json.RawMessage(fmt.Sprintf(`"%d"`, n)), nil
			}
			return &tool.Result{Content: string(state)}, nil, nil
		})
		w.startTools(p)
		id := w.print()
		for range 20 {
			time.Sleep(2 * time.Minute)
			if k.last.dead.Load() {
				w.restart()
			}
		}
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		w.onlyAsked(id)
		if want := []string{jobOne, `"1"`, `"1"`, `"3"`, `"3"`, `"5"`}; len(p.states) < 6 || !slices.Equal(p.states[:6], want) || p.starts != 1 {
			t.Errorf("%d starts, polls with %q, want 1, and %q", p.starts, p.states, want)
		}
		if _, _, stopped := p.did(); len(stopped) != 0 {
			t.Errorf("%v stopped", stopped)
		}
	})
}

// What a poll returns: a piece, nothing, a new state, no answer, a failure, an error.
func TestPollOutcomes(t *testing.T) {
	t.Parallel()
	type poll = func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error)
	text := func(s string) *tool.Result { return piece(s) }
	for name, tt := range map[string]struct {
		poll    poll
		want    a2a.TaskState
		says    string // part of the artifact, or of the status
		polls   int
		stopped bool
	}{
		"pieces": {func(_ tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n <= 3 {
				return text(fmt.Sprintf("line %d;", n)), json.RawMessage(fmt.Sprint(n)), nil
			}
			return &tool.Result{Content: string(state)}, nil, nil
		}, a2a.TaskStateCompleted, "line 1;line 2;line 3;", 4, false},
		"try again": {func(_ tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n <= 5 {
				return text("no"), json.RawMessage(`"no"`), fmt.Errorf("connect: %w", tool.ErrTryAgain)
			}
			return &tool.Result{Content: string(state)}, nil, nil
		}, a2a.TaskStateCompleted, jobOne, 6, false},
		"too slow": {func(ctx tool.Context, n int, _ json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n == 1 {
				<-ctx.Done()
				return nil, nil, ctx.Err()
			}
			return &tool.Result{Content: "in time"}, nil, nil
		}, a2a.TaskStateCompleted, "in time", 2, false},
		"the job failed": {func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
			return &tool.Result{Error: "out of paper"}, nil, nil
		}, a2a.TaskStateFailed, "out of paper", 1, false},
		"an error": {func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
			return nil, nil, errors.New("no such job")
		}, a2a.TaskStateFailed, "no such job", 1, true},
		"a panic": {func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
			panic("broken")
		}, a2a.TaskStateFailed, "panicked", 1, true},
		"no state": {func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
			return nil, json.RawMessage(`{`), nil
		}, a2a.TaskStateFailed, "not JSON", 1, true},
		"a large state": {func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
			return nil, json.RawMessage(`"` + strings.Repeat("x", tool.MaxJobState) + `"`), nil
		}, a2a.TaskStateFailed, "at most 61440", 1, true},
		"a state of the largest size": {func(_ tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n == 1 {
				return nil, json.RawMessage(`"` + strings.Repeat("<", tool.MaxJobState-2) + `"`), nil
			}
			if n == 2 {
				return nil, nil, nil // the same one
			}
			return &tool.Result{Content: fmt.Sprint(len(state))}, nil, nil
		}, a2a.TaskStateCompleted, "61440", 3, false},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			p := newPrinter(tt.poll)
			w.startTools(p)
			id := w.print()
			time.Sleep(time.Hour)
			got := w.ended(id)
			w.wantState(got, tt.want)
			says := statusText(got)
			if a := artifact(got, "c1.1"); a != nil && tt.want == a2a.TaskStateCompleted {
				for _, part := range a.Parts {
					says += part.Text()
				}
			}
			starts, polls, stopped := p.did()
			if !strings.Contains(says, tt.says) || starts != 1 || polls != tt.polls || slices.Equal(stopped, []string{jobOne}) != tt.stopped {
				t.Errorf("it says %.200q after %d starts and %d polls, and stopped %v; want %q, 1, %d, stopped %v", says, starts, polls, stopped, tt.says, tt.polls, tt.stopped)
			}
			w.onlyAsked(id)
			w.idle(t, id)
		})
	}
}

// A poll that does not end when it is told to is made again later, however many of them
// hang; and the job ends when it is done.
func TestPollThatHangs(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		hangs := newCounted()
		p := newPrinter(func(ctx tool.Context, n int, _ json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n <= 8 {
				hangs.hold()
			}
			return doneAt(0)(ctx, n, nil)
		})
		w.cfg.Limits = task.Limits{Abandoned: 8}
		w.startTools(p)
		id := w.print()
		time.Sleep(3 * time.Hour)
		if _, polls, _ := p.did(); polls != 8 {
			t.Errorf("%d polls hang, want no more than 8", polls)
		}
		w.onlyAsked(id)
		hangs.open()
		time.Sleep(10 * time.Minute)
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		w.onlyAsked(id)
	})
}

// A job whose polls hang has a deadline, too.
func TestJobWhosePollsHangHasADeadline(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		hangs := w.counted()
		p := newPrinter(func(tool.Context, int, json.RawMessage) (*tool.Result, json.RawMessage, error) {
			hangs.hold()
			return nil, nil, nil
		})
		p.polling.Max = 30 * time.Minute
		w.cfg.Limits = task.Limits{Abandoned: 8}
		w.startTools(p)
		id := w.print()
		time.Sleep(25 * time.Hour)
		w.idleStopped(t, id, p)
		w.onlyAsked(id)
	})
}

// A job that is not done by its deadline fails its call and is stopped; its last poll is
// at the deadline, or when the server is there again.
func TestJobHasADeadline(t *testing.T) {
	for _, down := range []bool{false, true} {
		runInMemory(t, fmt.Sprint("down ", down), func(t *testing.T, w *world) {
			p := newPrinter(doneAt(1000))
			p.polling = tool.Polling{First: 10 * time.Minute, Max: time.Minute, Deadline: time.Hour}
			w.startTools(p)
			id := w.print()
			time.Sleep(25 * time.Minute)
			if down {
				w.stop()
				time.Sleep(5 * time.Hour)
				w.restart()
			}
			time.Sleep(36 * time.Minute)
			got := w.ended(id)
			w.wantState(got, a2a.TaskStateFailed)
			want := map[bool]int{false: 6, true: 3}[down]
			if _, polls, stopped := p.did(); polls != want || !slices.Equal(stopped, []string{jobOne}) || !strings.Contains(statusText(got), "not ended within 1h0m0s") {
				t.Errorf("%d polls, %v stopped, %q, want %d polls and the job stopped", polls, stopped, statusText(got), want)
			}
			w.idle(t, id)
		})
	}
}

// A canceled job is stopped, between two polls and in one, also if its process dies
// before, or stopping fails at first; and with the rights of the owner of its task.
func TestCanceledJobIsStopped(t *testing.T) {
	for name, tt := range map[string]struct {
		inPoll, dies, down bool
		fails              int
	}{
		"between polls": {}, "in a poll": {inPoll: true}, "the process dies": {dies: true}, "the process dies in a poll": {inPoll: true, dies: true},
		"stopping fails": {fails: 3}, "its toolset is down": {down: true},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			k := w.killer()
			hold := newCounted()
			p := newPrinter(func(ctx tool.Context, _ int, _ json.RawMessage) (*tool.Result, json.RawMessage, error) {
				if tt.inPoll {
					return nil, nil, hold.holdOr(ctx)
				}
				return nil, nil, nil
			})
			p.noStops = tt.fails
			p.polling.First = time.Minute
			shop := &outlet{tools: []tool.Tool{p}}
			start := func(cfg *engine.Config) {
				cfg.Tools = tool.NewRegistry(tool.Filter(shop, func(ctx agent.ReadonlyContext, _ tool.Tool) bool { return ctx.UserID() == alice.Subject }))
			}
			w.start(start)
			id := w.print()
			time.Sleep(90 * time.Second)
			shop.set(tt.down)
			w.cancel(id)
			if tt.dies {
				k.die()
				w.restart(start)
			}
			time.Sleep(2 * time.Hour)
			shop.set(false)
			time.Sleep(time.Hour)
			w.wantState(w.ended(id), a2a.TaskStateCanceled)
			_, polls, stopped := p.did()
			if len(stopped) == 0 || stopped[0] != jobOne || p.owners[0] != "acme/alice/c1.1" {
				t.Errorf("%v stopped by %v, want the job, by its owner", stopped, p.owners)
			}
			if polls != 1 {
				t.Errorf("%d polls, want none after the cancel", polls)
			}
			w.idle(t, id)
		})
	}
}

// A job whose start ends only after its task was canceled is stopped.
func TestJobStartedTooLateIsStopped(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p, hold := newPrinter(doneAt(1)), newCounted()
		start := p.call
		p.call = func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			hold.hold()
			return start(ctx, a)
		}
		w.startTools(p)
		id := w.print()
		w.cancel(id)
		synctest.Wait()
		hold.open()
		time.Sleep(time.Minute)
		if starts, polls, stopped := p.did(); starts != 1 || polls != 0 || !slices.Equal(stopped, []string{jobOne}) {
			t.Errorf("%d starts, %d polls, %v stopped, want the job stopped", starts, polls, stopped)
		}
		w.idle(t, id)
	})
}

// The start of a job may ask and keep checkpoints as any call; its state is its own,
// also if it looks like ours.
func TestStartOfJobAsksAndKeeps(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		k := w.killer()
		const looks = `{"poller":1,"job":{"state":"mine","since":1}}`
		var kept []string
		p := newPrinter(doneAt(1))
		start := p.call
		p.call = func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			r, again := tool.Resumed(ctx)
			if again {
				kept = append(kept, string(r.State))
			}
			switch {
			case !again:
				return nil, &tool.Suspension{Asks: []tool.Question{{ID: "q", Kind: tool.AskQuestion, Hint: "color?"}}, State: json.RawMessage(looks)}
			case len(kept) == 1:
				if err := tool.Checkpoint(ctx, json.RawMessage(`"kept"`)); err != nil {
					return nil, err
				}
				k.die()
				return nil, errTool
			case len(kept) == 2:
				if err := tool.RequestConfirmation(ctx, "really?", nil); err != nil {
					return nil, err
				}
			}
			return start(ctx, a)
		}
		w.startTools(p)
		id := w.print()
		w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Respond, Response: []byte(`"blue"`)}))
		synctest.Wait()
		w.restart()
		synctest.Wait()
		w.approves(id)
		time.Sleep(time.Minute)
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		if want := []string{looks, `"kept"`, `"kept"`}; !slices.Equal(kept, want) || p.starts != 1 || !slices.Equal(p.states, []string{jobOne}) {
			t.Errorf("the tool was entered with %q, %d starts, polls with %q, want %q, 1 and %s", kept, p.starts, p.states, want, jobOne)
		}
	})
}

// A poll may ask, in both ways. While it waits for an answer the deadline holds.
func TestPollAsks(t *testing.T) {
	for _, answered := range []bool{true, false} {
		runInMemory(t, fmt.Sprint("answered ", answered), func(t *testing.T, w *world) {
			var id a2a.TaskID
			p := newPrinter(func(ctx tool.Context, n int, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
				r, _ := tool.Resumed(ctx)
				switch {
				case n == 1:
					return nil, nil, &tool.Suspension{Asks: []tool.Question{{ID: "q", Kind: tool.AskQuestion, Hint: "color?"}}, State: json.RawMessage(`"asked"`)}
				case len(r.Answers) == 1 && r.Answers[0].Ask.ID == "q":
					synctest.Wait()
					if about, _ := w.get(id).Metadata[task.ProgressKey].(map[string]any); about["job"] != "asked" {
						t.Errorf("after the question the task says of its call %v, want its job", about)
					}
					return nil, json.RawMessage(string(r.Answers[0].Response)), nil
				}
				if err := tool.RequestConfirmation(ctx, "really?", nil); err != nil {
					return nil, nil, err
				}
				return &tool.Result{Content: string(state)}, nil, nil
			})
			w.startTools(p)
			id = w.print()
			time.Sleep(time.Hour)
			if !answered {
				time.Sleep(24 * time.Hour)
				if n := len(p.polls); n > 3 {
					t.Errorf("%d polls after the deadline, want one", n-1)
				}
				w.idleStopped(t, id, p)
				return
			}
			w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Respond, Response: []byte(`"blue"`)}))
			time.Sleep(time.Hour)
			w.approves(id)
			time.Sleep(time.Minute)
			w.wantState(w.ended(id), a2a.TaskStateCompleted)
			if want := []string{jobOne, `"asked"`, `"blue"`, `"blue"`}; !slices.Equal(p.states, want) || p.starts != 1 {
				t.Errorf("%d starts, polls with %q, want 1 and %q", p.starts, p.states, want)
			}
			w.idle(t, id)
		})
	}
}

// idleStopped checks that a task has failed with its job stopped.
func (w *world) idleStopped(t *testing.T, id a2a.TaskID, p *printer) {
	t.Helper()
	w.wantState(w.ended(id), a2a.TaskStateFailed)
	if _, _, stopped := p.did(); len(stopped) != 1 {
		t.Errorf("%v stopped, want the job", stopped)
	}
	w.idle(t, id)
}

// A toolset that is out of reach delays the polls of its jobs.
func TestPollOfUnreachableTool(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := newPrinter(doneAt(3))
		shop := &outlet{tools: []tool.Tool{p}}
		w.startWith(shop)
		id := w.print()
		shop.set(true)
		time.Sleep(3 * time.Hour)
		shop.set(false)
		time.Sleep(time.Hour)
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		w.onlyAsked(id)
	})
}

// A job whose tool is another by now is polled only when somebody has approved that.
func TestPollOfChangedTool(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := newPrinter(doneAt(2))
		w.startTools(p)
		id := w.print()
		w.stop()
		p.schema = map[string]any{"type": "object"}
		w.restart()
		time.Sleep(time.Hour)
		if _, polls, _ := p.did(); polls != 0 {
			t.Errorf("%d polls by a tool that nobody has approved", polls)
		}
		w.approves(id)
		time.Sleep(time.Hour)
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		if starts, polls, _ := p.did(); starts != 1 || polls != 2 {
			t.Errorf("%d starts, %d polls, want 1 and 2", starts, polls)
		}
	})
}
