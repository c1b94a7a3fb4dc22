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

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/engine/internal/env"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

func policy(t *testing.T, gates ...approval.Gate) *approval.Policy {
	t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: gates})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// defaults returns a policy without gates, in which all approvals have the same terms.
func defaults(t *testing.T, terms approval.Terms) *approval.Policy {
	t.Helper()
	p, err := approval.NewPolicy(approval.PolicyConfig{Defaults: terms})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A deadline between two milliseconds is not missed: its due row has whole ones, and
// comes before it.
func TestDeadlineWithinMillisecond(t *testing.T) {
	t.Parallel()
	var clock, handled atomic.Int64 // ns
	start := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	w := newMemory(t)
	w.cfg = engine.Config{
		Policy: policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: 2500 * time.Microsecond, OnExpiry: approval.ExpiryCancels}}),
		Now:    func() time.Time { return start.Add(time.Duration(clock.Load())) },
		CrashPoint: func(point string) {
			if point == env.PointDue {
				handled.Add(1)
			}
		},
	}
	w.start()
	got := w.send(w.calls("deadline", args{}))
	clock.Store(int64(2 * time.Millisecond))
	w.until("the due row has come", func() bool { return handled.Load() > 0 })
	clock.Store(int64(3 * time.Millisecond))
	w.until("the deadline has passed", func() bool { return w.get(got.ID).Status.State == a2a.TaskStateCanceled })
}

// A task whose time has come, and that waits for a turn, is woken once: not again and
// again for as long as it waits.
func TestWakeWithoutTurn(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var handled atomic.Int64
		w.cfg.Limits = patient(1, 1)
		w.cfg.CrashPoint = func(point string) {
			if point == env.PointDue {
				handled.Add(1)
			}
		}
		w.start()
		sleeps, blocks := w.begun(alice, w.calls("sleep", args{})), w.begun(alice, w.calls("block", args{}))
		pass(30 * time.Millisecond) // the sleeper's time has come
		if w.tools.count("block") != 1 || handled.Load() == 0 {
			t.Fatalf("the turn is taken %d times, and due work was done %d times; want both once", w.tools.count("block"), handled.Load())
		}
		for range 500 {
			w.get(sleeps)
			time.Sleep(time.Millisecond)
		}
		w.wantState(w.get(sleeps), a2a.TaskStateWorking)
		w.tools.release()
		synctest.Wait()
		w.wantState(w.get(blocks), a2a.TaskStateCompleted)
		w.wantState(w.get(sleeps), a2a.TaskStateCompleted)
		if n := handled.Load(); n > 5 {
			t.Errorf("due work was done %d times, want once: when the time came, however long the task waits for its turn", n)
		}
	})
}

func TestHoldSiblings(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg = engine.Config{HoldSiblings: true}
	w.start()
	got := w.send(w.calls("write", args{"amount": 1, "to": "x"}, "transfer", args{"amount": 1, "to": "x"}))
	w.wantRuns("write", 0)
	w.wantState(w.send(w.decision(got.ID, approve(w.pending(got)[0]))), a2a.TaskStateCompleted)
	if w.tools.count("write") != 1 || w.tools.count("transfer") != 1 {
		t.Error("the held calls did not run once each")
	}
}

// A definition that changes while its call is parked is asked about again, and the
// decider of the old question is told.
func TestToolChangedWhileParked(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		old := w.pending(got)[0]
		w.tools.change = func(f *fake) {
			if f.name == "transfer" {
				f.schema = map[string]any{"type": "object", "description": "now to anybody"}
			}
		}
		w.restart()
		_, err := w.sendAs(alice, w.decision(got.ID, approve(old)))
		var said *approval.Error
		if !errors.As(err, &said) {
			t.Fatalf("a decision on the old question = %v, want an approval.Error", err)
		}
		asked := w.settled(got.ID, a2a.TaskStateInputRequired)
		fresh := w.pending(asked)
		if len(fresh) != 1 || fresh[0] == old {
			t.Fatalf("pending = %v, want a new question", fresh)
		}
		if !strings.Contains(err.Error(), fresh[0]) {
			t.Errorf("the decider was told %q, want the new id in it", err)
		}
		if n := w.tools.count("transfer"); n != 0 {
			t.Fatalf("ran %d times", n)
		}
		w.wantState(w.send(w.decision(got.ID, approve(fresh[0]))), a2a.TaskStateCompleted)
	})
}

func TestFourEyes(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{FourEyes: true}})}
	w.start()
	got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
	w.wantState(got, a2a.TaskStateWorking)
	id := w.onlyOne(got.ID).ID
	decide := func(by auth.Principal, via string) error {
		return w.engine.DecideVia(w.ctx(), via, by, engine.ScopeFor(alice, auth.Read), mustID(got.ID), approval.Decision{ID: id, Type: approval.Approve})
	}
	agentOfAlice := auth.Principal{Tenant: "acme", Subject: "agent", Roles: []string{auth.RoleRequester}, Chain: []string{"alice"}, Method: "test"}
	for name, err := range map[string]error{"the requester": decide(alice, "api"), "somebody on behalf of the requester": decide(agentOfAlice, "api"), "the A2A client": decide(bob, "a2a")} {
		var said *approval.Error
		if !errors.As(err, &said) || said.Reason != approval.ReasonNotAllowed {
			t.Errorf("%s: Decide() = %v, want %s", name, err, approval.ReasonNotAllowed)
		}
	}
	w.wantRuns("transfer", 0)
	w.must(decide(bob, "api"))
	w.settled(got.ID, a2a.TaskStateCompleted)
}

func TestHooks(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg = engine.Config{Hooks: []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
		switch c.Args["to"] {
		case "nobody":
			return task.HookResult{Deny: "nobody is not paid"}, nil
		case "alias":
			return task.HookResult{Args: json.RawMessage(`{"amount":2,"to":"real"}`)}, nil
		case "broken":
			panic("hook broke")
		}
		return task.HookResult{}, nil
	}}}
	w.start()
	denied := w.send(w.calls("write", args{"amount": 1, "to": "nobody"}))
	w.wantState(denied, a2a.TaskStateFailed)
	if !strings.Contains(statusText(denied), "nobody is not paid") {
		t.Errorf("status = %q", statusText(denied))
	}
	w.wantState(w.send(w.calls("write", args{"amount": 1, "to": "alias"})), a2a.TaskStateCompleted)
	w.wantState(w.send(w.calls("write", args{"amount": 1, "to": "broken"})), a2a.TaskStateInputRequired)
	w.tools.mu.Lock()
	defer w.tools.mu.Unlock()
	if len(w.tools.runs) != 1 {
		t.Errorf("runs = %v, want the rewritten one alone", w.tools.runs)
	}
	for run := range w.tools.runs {
		if !strings.Contains(run, `{"amount":2,"to":"real"}`) {
			t.Errorf("ran %s", run)
		}
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	huge := &fake{name: "huge", call: func(tool.Context, map[string]any) (map[string]any, error) {
		return map[string]any{"x": strings.Repeat("x", 2<<20)}, nil
	}}
	w := newMemory(t)
	w.cfg.Limits = task.Limits{Task: 100_000, Pending: 2, Args: 1000}
	w.startTools(huge)
	big := strings.Repeat("y", 2000)
	for _, tc := range []struct {
		name string
		m    *a2a.Message
		says string
	}{
		{"huge result", w.calls("huge", args{}), "at most"},
		{"huge arguments", w.calls("echo", args{"big": big}), "at most 1000"},
	} {
		got := w.send(tc.m)
		w.wantState(got, a2a.TaskStateFailed)
		if text := statusText(got); !strings.Contains(text, tc.says) {
			t.Errorf("%s: status = %q, want %q in it", tc.name, text, tc.says)
		}
	}
	one := args{"amount": 1, "to": "x"}
	got := w.send(w.calls("transfer", one, "transfer", one, "transfer", one))
	if ids := w.pending(got); len(ids) != 2 {
		t.Errorf("pending = %v, want two", ids)
	}
}

func TestScopes(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		eve := auth.Principal{Tenant: "acme", Subject: "eve", Roles: []string{auth.RoleRequester}, Method: "test"}
		for _, by := range []auth.Principal{eve, {Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}}, {}} {
			if _, err := w.engine.Get(w.ctx(), by, string(got.ID)); !errors.Is(err, task.ErrTaskNotFound) {
				t.Errorf("Get() by %v = %v, want not found", by, err)
			}
			if err := w.engine.Cancel(w.ctx(), by, mustID(got.ID)); !errors.Is(err, task.ErrTaskNotFound) {
				t.Errorf("Cancel() by %v = %v, want not found", by, err)
			}
			if _, err := w.sendAs(by, w.decision(got.ID, approve(w.pending(got)[0]))); !errors.Is(err, task.ErrTaskNotFound) {
				t.Errorf("Send() by %v = %v, want not found", by, err)
			}
			if list, err := w.engine.List(w.ctx(), by, engine.Query{}); err != nil || len(list.Tasks) != 0 || list.Total != 0 {
				t.Errorf("List() by %v = %v, %v, want nothing", by, list, err)
			}
		}
		if list, err := w.engine.List(w.ctx(), alice, engine.Query{State: a2a.TaskStateInputRequired}); err != nil || len(list.Tasks) != 1 {
			t.Errorf("List() = %v, %v, want the task", list, err)
		}
		for _, id := range []string{"", "x", fmt.Sprintf("%s0", got.ID), strings.ToUpper(string(got.ID)) + "z"} {
			if _, err := w.engine.Get(w.ctx(), alice, id); !errors.Is(err, task.ErrTaskNotFound) {
				t.Errorf("Get(%q) = %v, want not found", id, err)
			}
		}
	})
}

// A hook that rewrites arguments, and a tool that changes while its call is parked:
// the new question is bound to what it shows, so that its approval runs the call.
func TestToolChangedBehindHook(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg = engine.Config{Hooks: []task.Hook{func(_ agent.ReadonlyContext, c tool.ToolCall) (task.HookResult, error) {
		n, _ := c.Args["amount"].(float64)
		return task.HookResult{Args: json.RawMessage(fmt.Sprintf(`{"amount":%v,"to":"real"}`, n+1))}, nil
	}}}
	w.start()
	got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
	w.tools.change = func(f *fake) {
		if f.name == "transfer" {
			f.schema = map[string]any{"type": "object"}
		}
	}
	w.restart()
	if _, err := w.sendAs(alice, w.decision(got.ID, approve(w.pending(got)[0]))); err == nil {
		t.Fatal("a decision on the old question was accepted")
	}
	got = w.settled(got.ID, a2a.TaskStateInputRequired)
	w.wantState(w.send(w.decision(got.ID, approve(w.pending(got)[0]))), a2a.TaskStateCompleted)
	w.wantRuns("transfer", 1)
}

// A message that could not be kept as one event is refused before anything is.
func TestLargeMessage(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		var invalid *task.InvalidError
		_, err := w.sendAs(alice, w.message(a2a.NewTextPart("/echo "+strings.Repeat("x", 1<<20))))
		if !errors.As(err, &invalid) || invalid.Field != "message" {
			t.Errorf("Send() of a message of 1 MiB = %v, want that the message is too large", err)
		}
	})
}
