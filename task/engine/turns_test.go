package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/tool"
)

// What is decided while a task is at work is heard by its turn, which continues from it
// with all that runs.
func TestTurnHearsOfDecisions(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		seen := w.witness()
		w.start()
		id := w.begun(alice, w.calls("block", args{}, "transfer", args{"amount": 1, "to": "x"}))
		w.must(w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}))
		synctest.Wait()
		if n := w.tools.count("transfer"); n != 1 {
			t.Fatalf("transfer ran %d times beside its sibling, want 1", n)
		}
		w.tools.release()
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		for _, call := range []string{"c1.1", "c1.2"} {
			if r := w.mustResult(seen, id, call); r.Outcome != task.OutcomeOK {
				t.Errorf("%s ended %s, %q", call, r.Outcome, r.Error)
			}
		}
		if n := w.audit("unknown") + w.audit("finished_late"); n > 0 {
			t.Errorf("%d runs were lost on the way", n)
		}
	})
}

// bomb panics when it is written as JSON.
type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("boom") }

// A turn whose task another process has taken over does not say that its call has failed.
func TestTurnThatLostItsTaskEndsNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		first, second := make(chan struct{}), make(chan struct{})
		var runs atomic.Int32
		w.tools.extra = []tool.Tool{&fake{name: "look", is: tool.Annotations{Idempotent: true}, call: func(tool.Context, map[string]any) (map[string]any, error) {
			if runs.Add(1) == 1 {
				<-first
				return nil, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "?", Payload: bomb{}}}}
			}
			<-second
			return map[string]any{"ok": true}, nil
		}}}
		w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
		w.takeOver(func(*engine.Config) {}, w.calls("look", args{}), &runs, first, second)
	})
}

// takeOver begins a task, and has another process on the same disk take it over. Both enter
// what the application supplied, as entered counts: there the first process waits for first,
// and what it does then changes nothing for the second, which ends the task after second.
func (w *world) takeOver(configure func(*engine.Config), m *a2a.Message, entered *atomic.Int32, first, second chan struct{}) {
	w.t.Helper()
	quiet := func(cfg *engine.Config) {
		cfg.Log = zerolog.Nop()
		configure(cfg)
	}
	w.start(quiet)
	id := w.begun(alice, m)
	stop := w.stop
	w.start(quiet)
	synctest.Wait()
	if n := entered.Load(); n != 2 {
		w.t.Fatalf("it was entered %d times, want 2: the second process repeats it", n)
	}
	close(first)
	synctest.Wait()
	w.wantState(w.get(id), a2a.TaskStateWorking)
	close(second)
	synctest.Wait()
	w.wantState(w.get(id), a2a.TaskStateCompleted)
	stop()
}

// A turn that cannot continue does not fail a task that another process has taken over.
func TestTurnThatLostItsTaskFailsNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		first, second := make(chan struct{}), make(chan struct{})
		var gates atomic.Int32
		w.tools.extra = []tool.Tool{
			&fake{name: "first", is: tool.Annotations{Idempotent: true}, call: func(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }},
			&gatedFake{fake: fake{name: "exits", call: func(tool.Context, map[string]any) (map[string]any, error) {
				<-second
				return nil, nil
			}}, gate: func() bool {
				if gates.Add(1) == 1 {
					<-first
					runtime.Goexit() // which is what ends the turn
				}
				return false
			}},
		}
		var err error
		if w.cfg.Policy, err = approval.NewPolicy(approval.PolicyConfig{}); err != nil {
			t.Fatal(err)
		}
		w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
		w.takeOver(func(cfg *engine.Config) { cfg.Planner = sequence("first", "exits") }, w.message(a2a.NewTextPart("go")), &gates, first, second)
	})
}

// Stop waits for what runs: for its grace, so that a call may end well, and then for the
// tools that were told to end.
func TestStopWaits(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Second, time.Minute} {
		runInMemory(t, fmt.Sprint(grace), func(t *testing.T, w *world) {
			var told, ended atomic.Bool
			w.startTools(&fake{name: "work", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				select {
				case <-time.After(10 * time.Second):
				case <-ctx.Done():
					told.Store(true)
					time.Sleep(time.Second / 2)
				}
				ended.Store(true)
				return map[string]any{"ok": true}, context.Cause(ctx)
			}})
			id := w.begun(alice, w.calls("work", args{}))
			start := time.Now()
			w.engine.Stop(grace)
			took := time.Since(start)
			if !ended.Load() {
				t.Errorf("grace %v: Stop has returned after %v, and the tool runs", grace, took)
			}
			enough := grace > 10*time.Second
			if told.Load() == enough {
				t.Errorf("grace %v: the tool was told to end: %t", grace, told.Load())
			}
			if want := map[bool]time.Duration{true: 10 * time.Second, false: grace + time.Second/2}[enough]; took != want {
				t.Errorf("grace %v: Stop took %v, want %v", grace, took, want)
			}
			v, err := w.store.Read(w.ctx(), store.System(), mustID(id), store.After(0), store.Limit{})
			if done := v.Header.Phase == store.Final; err != nil || done != enough {
				t.Errorf("grace %v: the task has ended: %t, %v", grace, done, err)
			}
			if _, err := w.sendAs(alice, w.calls("echo", args{})); !errors.Is(err, engine.ErrBusy) {
				t.Errorf("Send() to a stopped engine = %v, want ErrBusy", err)
			}
		})
	}
}

// Run that begins only while Stop waits leaves the calls their grace period.
func TestRunBeginsDuringStop(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.tools.extra = []tool.Tool{&fake{name: "work", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
			return map[string]any{"ok": true}, context.Cause(ctx)
		}}}
		w.prepare()
		id := w.begin(w.calls("work", args{}))
		stopped := w.stopping(time.Minute)
		synctest.Wait()
		w.run()
		<-stopped
		v, err := w.store.Read(w.ctx(), store.System(), mustID(id), store.After(0), store.Limit{})
		if err != nil || v.Header.Phase != store.Final {
			t.Errorf("the task is in phase %v, %v; want it to have ended within the grace period", v.Header.Phase, err)
		}
	})
}

// A tool that does not hear that it is told to end holds Stop up for a second, not for
// its whole grace: not when Stop tells it to, and not when its task was canceled before.
func TestStopLeavesStubbornToolsBehind(t *testing.T) {
	for _, canceled := range []bool{false, true} {
		runInMemory(t, fmt.Sprint(canceled), func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{ToolGrace: time.Hour}
			w.start()
			id := w.begun(alice, w.calls("stubborn", args{}))
			if canceled {
				w.cancel(id)
			}
			synctest.Wait()
			start := time.Now()
			w.engine.Stop(8 * time.Second)
			want := 9 * time.Second
			if canceled {
				want = time.Second // nothing is left that a grace is for
			}
			if took := time.Since(start); took != want {
				t.Errorf("canceled before: %t: Stop took %v, want %v", canceled, took, want)
			}
			w.tools.release()
			synctest.Wait()
		})
	}
}

// What panics while a decision is put fails its task, not whoever has decided: the
// decision counts.
func TestPanicFailsTheTaskNotTheDecider(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		b := &brittle{world: w, runs: newCounted(), gated: true}
		b.runs.open()
		b.broken.Store(part(""))
		w.start(func(cfg *engine.Config) {
			b.config(cfg)
			cfg.Log = zerolog.Nop()
		})
		id := w.begun(alice, w.calls("brittle", args{}))
		b.broken.Store(inline) // it is asked when the call has ended
		if err := w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Reject}); err != nil {
			t.Fatalf("the decision = %v, want it to count", err)
		}
		synctest.Wait()
		b.broken.Store(part(""))
		got := w.get(id)
		if w.wantState(got, a2a.TaskStateFailed); !strings.Contains(statusText(got), "panicked") {
			t.Errorf("the status says %q", statusText(got))
		}
		if a := w.asked(id)[0]; a.State != approval.Rejected {
			t.Errorf("the approval is %s, want what was decided", a.State)
		}
	})
}

// errHiccup refuses one batch of a turn.
var errHiccup = errors.New("the disk has hiccups")

// A turn that cannot continue leaves its task to another one, a little later.
func TestTurnThatCannotGoOnIsTriedAgain(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var armed atomic.Bool
		w.wrap = func(h store.Handle) store.Handle {
			return &onAppend{h, func(b *store.Batch) (*store.Batch, error) {
				if b.Fence != nil && b.Rev != nil && armed.CompareAndSwap(true, false) {
					return nil, errHiccup
				}
				return b, nil
			}}
		}
		w.start(func(cfg *engine.Config) { cfg.Log = zerolog.Nop() })
		id := w.begun(alice, w.calls("block", args{}, "again", args{}))
		armed.Store(true)
		w.tools.release()
		pass(time.Minute)
		if armed.Load() {
			t.Fatal("nothing was refused")
		}
		w.wantState(w.get(id), a2a.TaskStateInputRequired) // nobody knows what came of block
		w.asksOutcome(id)
	})
}

// However many steps a planner takes, and whether it is asked within batches or not, they
// are one turn: what is counted against it are conflicts.
func TestManyStepsAreOneTurn(t *testing.T) {
	for _, inline := range []bool{true, false} {
		runInMemory(t, fmt.Sprint(inline), func(t *testing.T, w *world) {
			w.cfg.Planner = &stepper{n: 250, inline: inline, step: func(i int) *task.Step {
				return &task.Step{State: fmt.Append(nil, i)}
			}}
			w.start()
			start := time.Now()
			id := w.begun(alice, w.message(a2a.NewTextPart("go")))
			w.wantState(w.get(id), a2a.TaskStateCompleted)
			if took := time.Since(start); took > 0 {
				t.Errorf("inline %t: the task took %v, want that it waits for nothing", inline, took)
			}
		})
	}
}

// A list shows tasks as they are, also one that was canceled while it was at work: what
// is kept of it from its last rest is out of date.
func TestListShowsWhatIs(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		runs := w.counted()
		w.startTools(&fake{name: "hold", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			return nil, runs.holdOr(ctx)
		}})
		id := w.begun(alice, w.calls("hold", args{}))
		state := func() a2a.TaskState {
			l, err := w.engine.List(w.ctx(), alice, engine.Query{})
			if err != nil || len(l.Tasks) != 1 {
				t.Fatalf("List() = %v, %v, want the task", l, err)
			}
			return l.Tasks[0].State()
		}
		if got := state(); got != a2a.TaskStateInputRequired {
			t.Fatalf("the list says %s", got)
		}
		w.must(w.decide(alice, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Approve}))
		synctest.Wait()
		w.cancel(id)
		if got := state(); got != a2a.TaskStateCanceled {
			t.Errorf("the list says %s, want %s", got, a2a.TaskStateCanceled)
		}
	})
}

// A task that rests keeps nothing of its turn, whatever it waits for: an approval, a
// time, or its planner's.
func TestRestingTaskKeepsNothing(t *testing.T) {
	for name, step := range map[string]*task.Step{
		"an approval":    {Calls: []task.PlannedCall{{Tool: "transfer", Args: []byte(`{"amount":1,"to":"x"}`)}}},
		"a time":         {Calls: []task.PlannedCall{{Tool: "doze"}}},
		"the planner's":  {Wait: time.Hour},
		"an answer":      {Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("which one?"))}},
		"nothing at all": {Calls: []task.PlannedCall{{Tool: "echo"}}},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Planner = &stepper{n: 1, inline: true, step: func(int) *task.Step { return step }}
			w.startTools(dozer(time.Now().Add(time.Hour)))
			sent := w.sent(w.message(a2a.NewTextPart("go")))
			synctest.Wait()
			ctx, cancel := context.WithTimeout(w.ctx(), time.Second)
			defer cancel()
			if !sent.Ended(ctx) {
				t.Error("the turn's context has not ended")
			}
		})
	}
}

// An approval whose row is lost is decided by what the log says of it.
func TestLostRowOfAnApproval(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		id := w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "x"}))
		asked, rev := w.onlyOne(id), w.header(id).Rev
		b := &store.Batch{Scope: store.System(), Task: mustID(id), Rev: &rev}
		b.Rows = []store.RowChange{{Kind: record.KindApproval, Key: []byte(asked.ID), IfRev: store.Any, Delete: true}}
		if _, err := w.store.Append(w.ctx(), b).Wait(); err != nil {
			t.Fatal(err)
		}
		w.must(w.decide(alice, id, approval.Decision{ID: asked.ID, Type: approval.Approve}))
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		if a := w.asked(id)[0]; a.State != approval.Approved {
			t.Errorf("the row says %s", a.State)
		}
	})
}
