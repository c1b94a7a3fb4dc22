package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// sequence is a planner that makes one call after the other.
type sequence []string

func (sequence) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) { return nil, nil }
func (sequence) Inline() bool                                                      { return true }
func (s sequence) Plan(_ context.Context, p *task.Progress) (*task.Step, error) {
	if n := len(p.Steps); n < len(s) {
		return &task.Step{Calls: []task.PlannedCall{{Tool: s[n]}}}, nil
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// Only what a tool has set of the state, with a call that has ended, is seen by others.
func TestStateIsNotShared(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		got := make(chan any, 1)
		w.tools.extra = []tool.Tool{
			&fake{name: "sets", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				return map[string]any{}, ctx.State().Set("m", map[string]any{"limit": 1})
			}},
			&fake{name: "scribbles", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				v, _ := ctx.State().Get("m")
				if m, ok := v.(map[string]any); ok {
					m["limit"] = 1000
				}
				return nil, errors.New("it failed")
			}},
			&fake{name: "reads", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				v, _ := ctx.State().Get("m")
				m, _ := v.(map[string]any)
				got <- m["limit"]
				return map[string]any{}, nil
			}},
		}
		w.startAs(func(c *engine.Config) { c.Planner = sequence{"sets", "scribbles", "reads"} })
		id := w.begin(w.calls())
		synctest.Wait()
		w.ended(id)
		if n := fmt.Sprint(<-got); n != "1" {
			t.Errorf("a tool read limit %s, which nobody has set; the log says 1", n)
		}
	})
}

// What runs is what was shown, whatever a gate does with the arguments that it looks at.
func TestGateThatChangesArguments(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		got := make(chan map[string]any, 1)
		p := &scribbler{fake: fake{name: "pay", call: func(_ tool.Context, a map[string]any) (map[string]any, error) {
			got <- a
			return map[string]any{}, nil
		}}}
		w.tools.extra = []tool.Tool{p}
		w.startAs(func(c *engine.Config) {})
		id := w.begin(w.calls("pay", args{"amount": 1}))
		synctest.Wait()
		a := w.onlyOne(id)
		if err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Approve, Digest: a.Digest}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := fmt.Sprint((<-got)["amount"]); n != "1" {
			t.Errorf("approved with %s, ran with amount %s", a.Args, n)
		}
	})
}

type scribbler struct{ fake }

func (s *scribbler) Gate(_ agent.ReadonlyContext, a map[string]any) (bool, string, error) {
	a["amount"] = 1000
	return true, "", nil
}

// With HoldSiblings calls start only when all of them are decided: one that cannot be
// looked at yet is not.
func TestHoldWhileASiblingCannotBeReached(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		set := &away{err: errors.New("connection refused"), list: []tool.Tool{&fake{name: "pay", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) {
			return map[string]any{}, nil
		}}}}
		w.cfg.HoldSiblings = true
		all := w.tools.all()
		w.startAs(func(c *engine.Config) {
			c.Tools = tool.NewRegistry(tool.NewToolset("test", all...), set)
			c.Planner = pair{"write", "pay"}
		})
		set.is.Store(true)
		id := w.begin(w.calls())
		synctest.Wait()
		if n := w.tools.count("write"); n != 0 {
			t.Errorf("write ran %d times while its sibling is not decided, nor even looked at", n)
		}
		set.is.Store(false)
		time.Sleep(time.Minute)
		if left := w.waiting(id); len(left) != 1 {
			t.Fatalf("%d pending, want 1", len(left))
		}
		if n := w.tools.count("write"); n != 0 {
			t.Errorf("write ran %d times, and its sibling is asked about only now", n)
		}
	})
}

// pair is a planner that makes two calls at once.
type pair [2]string

func (pair) Accept(agent.ReadonlyContext, *task.Request) (*a2a.Message, error) { return nil, nil }
func (pair) Inline() bool                                                      { return true }
func (s pair) Plan(_ context.Context, p *task.Progress) (*task.Step, error) {
	if len(p.Steps) == 0 {
		arg := []byte(`{"amount":1,"to":"x"}`)
		return &task.Step{Calls: []task.PlannedCall{{Tool: s[0], Args: arg}, {Tool: s[1], Args: arg}}}, nil
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// The same when the sibling's tool changes after both were approved, while the task
// waits for a turn.
func TestHoldWhileASiblingIsAskedAnew(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		second := &fake{name: "second", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return map[string]any{}, nil }}
		runs := newCounted()
		first := &fake{name: "first", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			runs.enter(ctx)
			return map[string]any{}, nil
		}}
		set := &away{list: []tool.Tool{first, second}}
		w.tools.extra = []tool.Tool{&fake{name: "held", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) {
			<-w.tools.blocked()
			return map[string]any{}, nil
		}}}
		w.cfg.HoldSiblings = true
		w.cfg.Limits.Turns = 1
		all := w.tools.all()
		w.startAs(func(c *engine.Config) {
			c.Tools = tool.NewRegistry(tool.NewToolset("test", all...), set)
		})
		id := w.begin(w.calls("first", args{}, "second", args{}))
		synctest.Wait()
		pending := w.waiting(id)
		held := w.begin(w.calls("held", args{}))
		synctest.Wait()
		w.begin(w.calls("block", args{})) // has the one turn
		synctest.Wait()
		// This one has the place of those of which something is decided.
		if err := w.decide(bob, held, approval.Answer{ID: w.onlyOne(held).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		for _, a := range pending {
			if err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Approve}); err != nil {
				t.Fatal(err)
			}
		}
		set.list = []tool.Tool{first, &fake{name: "second", gated: true, schema: map[string]any{"type": "object", "description": "another"}, call: second.call}}
		w.tools.release()
		synctest.Wait()
		if left := w.waiting(id); len(left) != 1 {
			t.Fatalf("%d pending, want the new question about second", len(left))
		}
		if n := runs.count(); n != 0 {
			t.Errorf("first ran %d times while second waits for a decision", n)
		}
	})
}

// A tool whose definition never stands still keeps nobody from deciding about another.
func TestRestlessToolBlocksOthers(t *testing.T) {
	timed(t, func(t *testing.T, w *world) {
		var n atomic.Int64
		set := &restless{n: &n}
		all := w.tools.all()
		w.startAs(func(c *engine.Config) { c.Tools = tool.NewRegistry(tool.NewToolset("test", all...), set) })
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}, "restless", args{}))
		synctest.Wait()
		var transfer approval.Approval
		for _, a := range w.waiting(id) {
			if a.Tool == "transfer" {
				transfer = a
			}
		}
		for range 3 {
			if err := w.decide(bob, id, approval.Answer{ID: transfer.ID, Verb: approval.Reject}); err != nil {
				t.Errorf("reject of another call = %v", err)
			}
		}
		t.Logf("%d approvals by now", len(w.asked(id)))
	})
}

type restless struct{ n *atomic.Int64 }

func (s *restless) Name() string { return "restless" }
func (s *restless) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	d := fmt.Sprintf("version %d", s.n.Add(1))
	return []tool.Tool{&fake{name: "restless", gated: true, schema: map[string]any{"type": "object", "description": d}}}, nil
}

// A provider that everybody else has answered before is told so, or not asked.
func TestProviderIsAskedWhatIsDecided(t *testing.T) {
	w := unstarted(t, &memDisk{memstore.New()})
	var once atomic.Bool
	var id atomic.Value
	gate := make(chan struct{})
	asked := make(chan context.Context, 16)
	w.startAs(func(c *engine.Config) {
		c.Planner = sequence{"write2", "transfer2"}
		c.Tools = tool.NewRegistry(tool.NewToolset("x",
			&fake{name: "write2", call: func(tool.Context, map[string]any) (map[string]any, error) { <-gate; return map[string]any{}, nil }},
			&fake{name: "transfer2", gated: true, call: func(tool.Context, map[string]any) (map[string]any, error) { return map[string]any{}, nil }}))
		c.Provider = func(ctx context.Context, _ tool.ConfirmationRequest) (bool, error) {
			asked <- ctx
			<-ctx.Done()
			return false, ctx.Err()
		}
		c.ProviderWait = time.Hour
		c.CrashPoint = func(point string) {
			i, _ := id.Load().(a2a.TaskID)
			if point != engine.PointStep || i == "" || len(w.waiting(i)) == 0 || !once.CompareAndSwap(false, true) {
				return
			}
			// The question is durable, and whoever follows the task has seen it.
			if err := w.decide(bob, i, approval.Answer{ID: w.onlyOne(i).ID, Verb: approval.Reject}); err != nil {
				t.Errorf("Decide() = %v", err)
			}
		}
	})
	task := w.begin(w.calls())
	id.Store(task)
	close(gate)
	w.ended(task)
	if !once.Load() {
		t.Fatal("the hook was not met")
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case ctx := <-asked:
		if !within(patience, ctx.Done()) {
			t.Error("the provider is asked about what has been decided, and its context does not end: it has one of 64 places until the server stops")
		}
	case <-timer.C:
	}
}

var _ = store.System
