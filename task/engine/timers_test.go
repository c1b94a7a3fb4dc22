package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
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
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Due work that fails again and again does not hide what is due after it, however
// much there is of it.
func TestFailingWorkHidesNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: 30 * time.Millisecond, OnExpiry: approval.ExpiryCancels}})
		w.start(func(cfg *engine.Config) { cfg.Policy, cfg.Log = p, zerolog.Nop() })
		w.badRows(2500)
		w.wantState(w.ended(w.begin(w.calls("deadline", args{}))), a2a.TaskStateCanceled)
	})
}

// Nor does work that has to wait: here for calls to be resumed, while every turn is
// taken.
func TestWaitingWorkHidesNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		const many = 1100 // a store gives at most 1,000 rows at once
		wake := time.Now().Add(time.Hour)
		w.tools.extra = []tool.Tool{dozer(wake)}
		p := policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: time.Hour + time.Second, OnExpiry: approval.ExpiryCancels}})
		w.start(func(cfg *engine.Config) {
			cfg.Policy, cfg.Log = p, zerolog.Nop()
			cfg.Limits = task.Limits{Turns: 1, Queue: 1, ToolTimeout: 1000 * time.Hour}
		})
		for range many {
			w.begun(alice, w.calls("doze", args{}))
		}
		id := w.begun(alice, w.calls("deadline", args{}))
		block := w.takeTheTurn()
		pass(time.Hour + 2*time.Second)
		w.wantState(w.get(id), a2a.TaskStateCanceled)
		w.tools.release()
		w.wantState(w.ended(block), a2a.TaskStateCompleted)
	})
}

// badRows puts due rows that fail, which are due at once, into a task at rest.
func (w *world) badRows(n int) {
	w.t.Helper()
	parked := w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "x"}))
	rev := w.header(parked).Rev
	b := &store.Batch{Scope: store.System(), Task: mustID(parked), Rev: &rev}
	for i := range n {
		b.Due = append(b.Due, store.DueChange{Time: 1, Kind: "of a program to come", Key: fmt.Appendf(nil, "%d", i)})
	}
	if _, err := w.store.Append(w.ctx(), b).Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// A row that fails is tried again after 1, 2, 4 … seconds, and then every five minutes.
func TestFailingRowIsTriedLaterAndLater(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var tried atomic.Int64
		w.start(func(cfg *engine.Config) {
			cfg.Log = zerolog.Nop()
			cfg.CrashPoint = func(point string) {
				if point == env.PointDue {
					tried.Add(1)
				}
			}
		})
		w.badRows(1)
		pass(2 * time.Hour)
		if n := tried.Load(); n < 25 || n > 40 {
			t.Errorf("a bad row was tried %d times in two hours, want about 30", n)
		}
	})
}

// A row that nobody can do yet is looked at again soon, and done when it can be: here a
// timer whose task waits for a turn.
func TestWaitingRowIsLookedAtAgain(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.tools.extra = []tool.Tool{dozer(time.Now().Add(time.Minute))}
		w.start(func(cfg *engine.Config) {
			cfg.Log = zerolog.Nop()
			cfg.Limits.Turns, cfg.Limits.Queue, cfg.Limits.ToolTimeout = 1, 1, 1000*time.Hour
		})
		sleeps := w.begun(alice, w.calls("doze", args{}))
		w.takeTheTurn()
		w.begin(w.calls("write", args{"amount": 1, "to": "x"})) // the queue is full
		pass(time.Hour)
		w.wantState(w.get(sleeps), a2a.TaskStateWorking)
		w.tools.release()
		pass(6 * time.Minute)
		w.wantState(w.get(sleeps), a2a.TaskStateCompleted)
	})
}

// What the defaults of the policy say of everybody's approvals holds for the question
// what came of a call that needed none.
func TestDefaultsOfOutcomeQuestion(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Policy = defaults(t, approval.Terms{FourEyes: true})
		runs := w.counted()
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.startTools(&fake{name: "late", call: runs.holds})
		id := w.begin(w.calls("late", args{}))
		time.Sleep(2 * time.Minute)
		a := w.onlyOne(id)
		if !a.Terms.FourEyes {
			t.Errorf("every approval wants four eyes, and the question of the %s has the terms %+v", a.Kind, a.Terms)
		}
		if err := w.decide(alice, id, approval.Decision{ID: a.ID, Type: approval.Approve}); err == nil {
			synctest.Wait()
			t.Errorf("who asked for the call has decided that it runs again; it was entered %d times", runs.count())
		}
	})
}

// A rejection of a call that has something running elsewhere leaves that to nobody.
func TestRejectedSuspendedCallHasItsChildCanceled(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var gated atomic.Bool
		g := &childGate{argGate: argGate{fake: fake{name: "remote"}, gate: gated.Load}}
		g.call = func(tool.Context, map[string]any) (map[string]any, error) {
			return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour), State: []byte(`"remote task 7"`)}
		}
		w.startTools(g)
		id := w.begun(alice, w.calls("remote", args{}))
		gated.Store(true)
		time.Sleep(2 * time.Hour)
		w.must(w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: approval.Reject}))
		time.Sleep(time.Hour)
		if g.told.Load() == 0 {
			t.Errorf("the call has ended (%s), and nobody has told what it runs elsewhere", w.get(id).Status.State)
		}
	})
}

type childGate struct {
	argGate
	told atomic.Int32
}

func (c *childGate) StopJob(tool.Context, json.RawMessage) error {
	c.told.Add(1)
	return nil
}

// away is a toolset that cannot be reached while it is away.
type away struct {
	is   atomic.Bool
	err  error
	list []tool.Tool
}

func (s *away) Name() string { return "away" }
func (s *away) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	if s.is.Load() {
		return nil, s.err
	}
	return s.list, nil
}

// sleeper is a tool that is suspended until a time, twice.
func sleeper(first, second time.Duration) (*fake, *counted) {
	runs := newCounted()
	return &fake{name: "sleeper", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		switch runs.enter(ctx) {
		case 1:
			return nil, &tool.Suspension{Wake: time.Now().Add(first)}
		case 2:
			if second > 0 {
				return nil, &tool.Suspension{Wake: time.Now().Add(second)}
			}
		}
		return map[string]any{"ok": true}, nil
	}}, runs
}

// A call that has been entered since its tool was out of reach has not been waiting
// since then.
func TestTroubleThatIsOverIsForgotten(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		tl, runs := sleeper(time.Hour, 48*time.Hour)
		r := &outlet{tools: []tool.Tool{tl}}
		w.startWith(r, callsOf("sleeper", `{}`))
		id := w.begun(alice, w.message(a2a.NewTextPart("go")))
		r.set(true)
		time.Sleep(26 * time.Hour)
		r.set(false)
		time.Sleep(time.Hour)
		runs.want(t, 2)
		r.set(true)
		down := time.Now()
		time.Sleep(48 * time.Hour) // the second pause is over since an hour at most
		_, says, _ := strings.Cut(statusText(w.get(id)), "since ")
		says, _, _ = strings.Cut(says, ": ")
		if since, err := time.Parse(time.RFC3339, says); err != nil || since.Before(down) {
			t.Errorf("the status says that the tool is out of reach since %q, want after %s", says, down)
		}
	})
}

// What is due and cannot be done now waits for its next try, not in the way.
func TestTimerOfUnreachableToolDoesNotStayDue(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		tl, _ := sleeper(time.Hour, 0)
		r := &outlet{tools: []tool.Tool{tl}}
		w.startWith(r, callsOf("sleeper", `{}`))
		id := w.begun(alice, w.message(a2a.NewTextPart("go")))
		r.set(true)
		time.Sleep(time.Hour + 10*time.Minute)
		before := w.header(id)
		for _, d := range w.dueOf(id) {
			if d.Time < store.MillisOf(time.Now()) {
				t.Errorf("work of kind %s, %q is due since %s", d.Kind, d.Key, d.Time.Time())
			}
		}
		// Others put due work meanwhile, each of which wakes the scheduler.
		for range 20 {
			w.begin(w.calls("sleep", args{}))
			time.Sleep(time.Second)
		}
		if n := w.header(id).Rev - before.Rev; n > 3 {
			t.Errorf("the task was changed %d times in 20 s, want no more than its tries", n)
		}
	})
}

// A task at work does not ask the same again each second because a timer of it cannot be
// served.
func TestTimerOfUnreachableToolAddsNoEvents(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		tl, _ := sleeper(time.Hour, 0)
		r := &outlet{tools: []tool.Tool{tl}}
		w.cfg.Limits = task.Limits{ToolTimeout: 1000 * time.Hour}
		w.startWith(r, callsOf("sleeper", `{}`, "block", `{}`, "transfer", `{"amount":1,"to":"x"}`))
		id := w.begun(alice, w.message(a2a.NewTextPart("go")))
		r.set(true)
		time.Sleep(time.Hour + 10*time.Second)
		before := w.header(id)
		time.Sleep(2 * time.Minute)
		if n := w.header(id).Pub - before.Pub; n > 5 {
			t.Errorf("%d public events in two minutes, want those of the tries, 5 at most", n)
		}
		r.set(false)
		w.tools.release()
	})
}

// A call that is asked for takes the timer of its tries with it.
func TestAskRemovesTheRetryTimer(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		pay := &fake{name: "pay", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return nil, nil }}
		r := &outlet{tools: []tool.Tool{pay}, down: true}
		w.startWith(r, callsOf("pay", `{}`))
		id := w.begun(alice, w.message(a2a.NewTextPart("go")))
		r.set(false)
		time.Sleep(2 * time.Second)
		w.onlyOne(id)
		w.nothingDue(id)
	})
}

// A toolset that is out of reach for a moment does not fail a task whose calls have
// succeeded.
func TestToolsetDownWhilePlanningFailsNoTask(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &outlet{}
		pay := &fake{name: "pay", call: func(tool.Context, map[string]any) (map[string]any, error) {
			r.set(true)
			time.AfterFunc(time.Second, func() { r.set(false) })
			return map[string]any{"paid": true}, nil
		}}
		r.tools = []tool.Tool{pay}
		w.tools.extra = nil
		w.start(func(c *engine.Config) { c.Tools = tool.NewRegistry(r) })
		got := w.send(w.calls("pay", args{}))
		w.wantState(got, a2a.TaskStateCompleted)
	})
}

// An approval is extended a bounded number of times, and not at the cost of the room for its
// decision and its result.
func TestExtensionsAreBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour}})}
		w.start()
		w.ask(alice, 1)
		list, one := w.engine.Approvals(), w.inbox(alice, 0)[0]
		var wrong *approval.Error
		for n := 1; ; n++ {
			err := list.Extend(w.ctx(), alice, one.ID, one.Digest, one.Deadline.Add(time.Duration(n)*time.Minute))
			if n <= rules.MaxExtensions && err == nil {
				continue
			}
			if n != rules.MaxExtensions+1 || !errors.As(err, &wrong) || wrong.Reason != approval.ReasonNotAllowed {
				t.Fatalf("extension %d: %v", n, err)
			}
			break
		}
		if err := list.Decide(w.ctx(), alice, approval.Decision{ID: one.ID, Type: approval.Approve, Digest: one.Digest}); err != nil {
			t.Error(err)
		}
	})
	w := newMemory(t)
	w.cfg = engine.Config{
		Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour}}), Limits: task.Limits{Task: 6 << 20},
	}
	w.start()
	sent := w.send(w.calls("transfer", args{"amount": 1, "to": strings.Repeat("x", 120<<10)}))
	id := w.pending(sent)[0]
	list := w.engine.Approvals()
	one, err := list.Get(w.ctx(), alice, id)
	w.must(err)
	var invalid *task.InvalidError
	for n := 1; n <= rules.MaxExtensions; n++ {
		if err = list.Extend(w.ctx(), alice, id, one.Digest, one.Deadline.Add(time.Duration(n)*time.Minute)); err != nil {
			break
		}
	}
	if !errors.As(err, &invalid) || invalid.Field != "until" {
		t.Errorf("extensions beyond the room of the log: %v", err)
	}
	w.wantState(w.send(w.decision(sent.ID, approve(id))), a2a.TaskStateCompleted)
}
