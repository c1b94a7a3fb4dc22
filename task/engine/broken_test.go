package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// An error that panics when it is asked what it says harms the call that returned it,
// and nobody else: neither when the call ends with it, nor when it comes late.
func TestErrorThatPanics(t *testing.T) {
	t.Parallel()
	for _, gated := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("gated %t late %t", gated, late), func(t *testing.T) {
				t.Parallel()
				w := newMemory(t)
				b := &brittle{world: w, runs: newCounted(), gated: gated}
				t.Cleanup(b.runs.open)
				b.broken.Store(part(""))
				w.wrap = b.kill.wrap
				w.start(b.config)
				if !late {
					b.play(t, returning, errorText, 1)
					return
				}
				b.breaks = errorText
				id := b.begin(b.calls("brittle", args{}))
				if gated {
					w.must(b.decide(alice, id, approval.Decision{ID: b.onlyOne(id).ID, Type: approval.Approve}))
				}
				b.until("the tool is entered", func() bool { return b.runs.count() == 1 })
				w.must(b.engine.Cancel(b.ctx(), alice, mustID(id)))
				b.until("the late error is recorded", func() bool { return b.audit("finished_late") > 0 })
				b.broken.Store(part(""))
				b.works(t)
			})
		}
	}
}

// part is something that a server is given, and that may break.
type part string

const (
	annotations part = "Tool.Annotations"
	toolName    part = "Tool.Name"
	description part = "Tool.Description"
	schema      part = "Tool.Schema"
	tools       part = "Toolset.Tools"
	question    part = "Presenter.Question"
	answers     part = "Presenter.Answers"
	inline      part = "Planner.Inline"
	plan        part = "Planner.Plan"
	accept      part = "Planner.Accept"
	errorText   part = "error.Error of a tool"
	payload     part = "MarshalJSON of a question"
	ending      part = "MarshalJSON of a planner's message"
	gate        part = "Tool.Gate"
	hooked      part = "Hook"
)

// moment is when a part breaks.
type moment string

const (
	making     moment = "made"      // while a message makes the task
	deciding   moment = "decided"   // while its call is decided
	returning  moment = "returned"  // when its call ends
	recovering moment = "recovered" // when the process has died while its call ran
	canceling  moment = "canceled"  // while it is canceled
)

// brittle is a world in which each part panics while it is broken.
type brittle struct {
	*world
	kill   killer
	broken atomic.Value // a part; "" for none
	runs   *counted
	gated  bool // of the tool
	breaks part // what a run of the tool breaks when it ends
}

func (b *brittle) use(p part) {
	if b.broken.Load() == p {
		panic(fmt.Sprintf("%s broke", p))
	}
}

// config puts the brittle parts into a configuration.
func (b *brittle) config(cfg *engine.Config) {
	cfg.Tools = tool.NewRegistry(tool.NewToolset("test", b.tools.all()...), &brittleSet{b})
	cfg.Presenter = &brittlePresenter{dialect.New(dialect.Config{Keywords: true}), b}
	cfg.Planner = &brittlePlanner{directPlanner(), b}
	cfg.Limits.Turns = 1 // so that one that is lost is missed
	cfg.Hooks = []task.Hook{func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
		b.use(hooked)
		return task.HookResult{}, nil
	}}
}

type brittleSet struct{ b *brittle }

func (s *brittleSet) Name() string { return "brittle" }
func (s *brittleSet) Tools(agent.ReadonlyContext) ([]tool.Tool, error) {
	s.b.use(tools)
	return []tool.Tool{&brittleTool{s.b}}, nil
}

// brittleTool holds when it is entered, and returns what may break.
type brittleTool struct{ b *brittle }

func (t *brittleTool) Name() string           { t.b.use(toolName); return "brittle" }
func (t *brittleTool) Description() string    { t.b.use(description); return "breaks" }
func (t *brittleTool) IsLongRunning() bool    { return false }
func (t *brittleTool) RequiresApproval() bool { return t.b.gated }
func (t *brittleTool) Schema() map[string]any { t.b.use(schema); return nil }
func (t *brittleTool) Annotations() tool.Annotations {
	t.b.use(annotations)
	return tool.Annotations{}
}

func (t *brittleTool) Gate(agent.ReadonlyContext, map[string]any) (bool, error) {
	t.b.use(gate)
	return t.b.gated, nil
}

func (t *brittleTool) Call(ctx tool.Context, _ map[string]any) (map[string]any, error) {
	t.b.runs.enter(ctx)
	err := t.b.runs.holdOr(ctx)
	if t.b.breaks != "" {
		t.b.broken.Store(t.b.breaks)
	}
	switch {
	case t.b.breaks == errorText:
		return nil, &brittleError{t.b}
	case err != nil:
		return nil, err
	case t.b.breaks == payload:
		return nil, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "?", Payload: &brittleJSON{t.b, payload}}}}
	}
	return map[string]any{"ok": true}, nil
}

type brittleError struct{ b *brittle }

func (e *brittleError) Error() string { e.b.use(errorText); return "breaks" }

type brittleJSON struct {
	b *brittle
	p part
}

func (j *brittleJSON) MarshalJSON() ([]byte, error) { j.b.use(j.p); return []byte(`"breaks"`), nil }

type brittlePresenter struct {
	task.Presenter
	b *brittle
}

func (p *brittlePresenter) Question(pending []*approval.Approval, no *a2a.Message) (*a2a.Message, error) {
	p.b.use(question)
	return p.Presenter.Question(pending, no)
}

func (p *brittlePresenter) Answers(m *a2a.Message, all []*approval.Approval) ([]approval.Decision, error) {
	p.b.use(answers)
	return p.Presenter.Answers(m, all)
}

type brittlePlanner struct {
	task.Planner
	b *brittle
}

func (p *brittlePlanner) Inline() bool { p.b.use(inline); return true }

func (p *brittlePlanner) Accept(ctx agent.ReadonlyContext, r *task.Request) (*a2a.Message, error) {
	p.b.use(accept)
	planner, _ := p.Planner.(task.Accepter) // the direct planner is
	return planner.Accept(ctx, r)
}

func (p *brittlePlanner) Plan(ctx context.Context, at *task.Progress) (*task.Step, error) {
	p.b.use(plan)
	s, err := p.Planner.Plan(ctx, at)
	if err == nil && s.End != nil && p.b.broken.Load() == ending {
		s.End.Message = a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewDataPart(&brittleJSON{p.b, ending}))
	}
	return s, err
}

// attempt calls a method of the engine, and makes an error of a panic that leaves it.
func attempt(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p}
		}
	}()
	return call()
}

// panicError is a panic that has left the engine.
type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// A part that panics harms at most the task that it panics for: it comes to rest, its
// turn is free for the next, and the engine stops when it is told to.
func TestPanicsHarmOneTask(t *testing.T) {
	t.Parallel()
	moments := map[moment][]part{
		making:     {annotations, toolName, description, schema, tools, question, answers, inline, plan, accept, gate, hooked},
		deciding:   {annotations, toolName, description, schema, tools, question, answers, inline, plan, gate, hooked},
		returning:  {annotations, toolName, description, schema, tools, question, answers, inline, plan, gate, hooked, payload, ending},
		recovering: {annotations, toolName, description, schema, tools, question, answers, inline, plan, gate, hooked},
		canceling:  {annotations, toolName, description, schema, tools, question, answers, inline, plan, gate, hooked},
	}
	for when, parts := range moments {
		for _, p := range parts {
			for calls, gated := range []bool{false, true, true} { // with two, one still waits to be decided
				if !gated && (when == deciding || when == canceling) {
					continue // there is nothing to decide
				}
				t.Run(fmt.Sprintf("%s, %s, gated %d", when, p, calls), func(t *testing.T) {
					t.Parallel()
					w := newMemory(t)
					b := &brittle{world: w, runs: newCounted(), gated: gated}
					t.Cleanup(b.runs.open)
					b.broken.Store(part(""))
					w.wrap = b.kill.wrap
					w.start(b.config)
					b.play(t, when, p, max(calls, 1))
				})
			}
		}
	}
}

func (b *brittle) play(t *testing.T, when moment, p part, calls int) {
	var pairs []any
	for range calls {
		pairs = append(pairs, "brittle", args{})
	}
	m := b.calls(pairs...)
	if when == making {
		b.runs.open()
		b.broken.Store(p)
	}
	var sent *engine.Sent
	err := attempt(func() (err error) {
		sent, err = b.engine.Send(b.ctx(), engine.Send{By: alice, Message: m})
		return err
	})
	b.refused(t, "Send()", err)
	if err == nil && sent.Direct == nil {
		id := a2a.TaskID(sent.Task.String())
		if b.gated || when == making {
			b.rest(id)
		}
		if when != making {
			b.goOn(t, id, when, p)
		}
		b.broken.Store(part(""))
		b.close(t, id)
	}
	b.broken.Store(part(""))
	b.works(t)
}

// refused checks that an error, if there is one, is not a panic.
func (b *brittle) refused(t *testing.T, what string, err error) {
	t.Helper()
	var left *panicError
	if errors.As(err, &left) {
		t.Errorf("%s lets a panic through: %v", what, left.value)
	}
}

// goOn takes a task to where a part breaks, and waits for its rest.
func (b *brittle) goOn(t *testing.T, id a2a.TaskID, when moment, p part) {
	t.Helper()
	switch when {
	case deciding:
		b.runs.open()
		b.broken.Store(p)
	case returning:
		b.breaks = p
	case canceling:
		b.broken.Store(p)
		b.refused(t, "Cancel()", attempt(func() error { return b.engine.Cancel(b.ctx(), alice, mustID(id)) }))
		return
	case making, recovering:
	}
	if b.gated {
		answer := b.decision(id, approve(b.waiting(id)[0].ID))
		err := attempt(func() error {
			_, err := b.engine.Send(b.ctx(), engine.Send{By: alice, Message: answer})
			return err
		})
		b.refused(t, "the decision", err)
		if err != nil && when != deciding {
			t.Fatal(err)
		}
	}
	if when == returning || when == recovering {
		b.until("the tool is entered", func() bool { return b.runs.count() == 1 })
	}
	if when == recovering {
		b.kill.die()
		b.broken.Store(p)
		b.restart(b.config)
	}
	b.runs.open()
	b.rest(id)
}

// close brings a task to its end that is at rest.
func (b *brittle) close(t *testing.T, id a2a.TaskID) {
	t.Helper()
	if b.header(id).Phase == store.Final {
		return
	}
	if err := attempt(func() error { return b.engine.Cancel(b.ctx(), alice, mustID(id)) }); err != nil {
		t.Errorf("Cancel() of the task that waits = %v", err)
	}
	b.ended(id)
}

// works checks that other tasks still run, and that the engine stops.
func (b *brittle) works(t *testing.T) {
	t.Helper()
	other := b.begin(b.calls("write", args{"amount": 1, "to": "x"}))
	if got := b.ended(other); got.Status.State != a2a.TaskStateCompleted {
		t.Errorf("another task is %s, %q", got.Status.State, statusText(got))
	}
	stopped := b.stopping(time.Second)
	if !within(patience, stopped) {
		t.Errorf("Stop(1s) has not returned after %v", patience)
	}
}

// shy panics when it is shown as JSON.
type shy struct{ text *string }

func (s shy) MarshalJSON() ([]byte, error) { return json.Marshal(*s.text) }

// A tool that panics fails its call, whatever it panics with.
func TestPanicWithAValueThatPanics(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.startTools(&fake{name: "shy", call: func(tool.Context, map[string]any) (map[string]any, error) { panic(shy{}) }})
		w.wantState(w.ended(w.begin(w.calls("shy", args{}))), a2a.TaskStateFailed)
	})
}

// A tool that ends its goroutine has ended: its call need not wait for its time-out.
func TestToolEndsItsGoroutine(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.startTools(&fake{name: "exits", is: tool.Annotations{Idempotent: true}, call: func(tool.Context, map[string]any) (map[string]any, error) {
			runtime.Goexit()
			return nil, nil
		}})
		id := w.begin(w.calls("exits", args{}))
		time.Sleep(time.Minute)
		if got := w.get(id); got.Status.State == a2a.TaskStateWorking {
			t.Errorf("after a minute the task is %s, though nothing of it runs", got.Status.State)
		}
	})
}

// A gate that ends its goroutine leaves no task at work forever.
func TestGateEndsItsGoroutine(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		exits := false
		w.cfg.Policy = defaults(t, approval.Terms{})
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
		w.start(func(c *engine.Config) { c.Planner = sequence("first", "exits") })
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

func (g *gatedFake) Gate(agent.ReadonlyContext, map[string]any) (bool, error) {
	return g.gate(), nil
}

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
		w.startTools(
			&childStuck{fake: fake{name: "remote", call: func(tool.Context, map[string]any) (map[string]any, error) {
				return nil, &tool.Suspension{Wake: time.Now().Add(1000 * time.Hour)}
			}}, stuck: stuck},
			dozer(time.Now().Add(time.Hour)),
		)
		for range 16 {
			id := w.begun(alice, w.calls("remote", args{}))
			w.cancel(id)
		}
		other := w.begin(w.calls("doze", args{}))
		time.Sleep(24 * time.Hour)
		w.wantState(w.get(other), a2a.TaskStateCompleted)
	})
}

// hangsUp is a watcher whose jobs cannot be stopped: its agent does not answer.
type hangsUp struct{ *watcher }

func (hangsUp) StopJob(ctx tool.Context, _ json.RawMessage) error {
	<-ctx.Done()
	return ctx.Err()
}

// Tasks that are canceled while their agent does not answer delay no deadline of other tasks.
func TestCancelsAtASlowAgentDelayNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		slow := hangsUp{newWatcher("slow", finance("1"))}
		nap, naps := sleeper(5*time.Second, 0)
		w.startTools(slow, nap)
		var all []a2a.TaskID
		for range 64 {
			all = append(all, w.begin(w.calls("slow", args{})))
		}
		synctest.Wait()
		asleep := w.begin(w.calls(nap.Name(), args{}))
		synctest.Wait()
		for _, id := range all {
			w.cancel(id)
		}
		pass(6 * time.Second)
		w.wantState(w.get(asleep), a2a.TaskStateCompleted)
		naps.want(t, 2)
	})
}
