package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A message that cancels a call and says something else is refused, and cancels nothing.
func TestCancelCallSaysOneThing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		id := w.begun(alice, w.calls("transfer", args{"to": "bob", "amount": 1}))
		stop := func() *a2a.Part { return a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": "c1.1"}) }
		for name, parts := range map[string][]*a2a.Part{
			"with a keyword":  {stop(), a2a.NewTextPart("approve")},
			"with a decision": {stop(), a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": w.onlyOne(id).ID, "decision": "approve"}}})},
			"with data":       {stop(), a2a.NewDataPart(map[string]any{"a": 1})},
			"open":            {a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": "c1.1", "decision": "approve"})},
			"without a call":  {a2a.NewDataPart(map[string]any{"type": "call_cancel"})},
		} {
			m := w.reply(id, parts...)
			if _, err := w.sendAs(alice, m); err == nil {
				t.Errorf("%s: the message is accepted", name)
			}
			w.onlyOne(id) // still
		}
		m := w.message(stop())
		if _, err := w.sendAs(alice, m); err == nil {
			t.Error("a new task that cancels a call is accepted")
		}
	})
}

// slowPresenter presents as another does, after a pause.
type slowPresenter struct {
	task.Presenter
	pause func()
}

func (p *slowPresenter) Metadata() json.RawMessage {
	p.pause()
	return p.Presenter.Metadata()
}

// worker is a tool that has work running elsewhere, which it says whenever it is told to.
type worker struct {
	fake
	mu   sync.Mutex
	told []string
}

func (a *worker) StopJob(_ tool.Context, state json.RawMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, string(state))
	return nil
}

// A checkpoint that becomes durable while a cancel is on its way to the disk is what the
// tool is told of; a call that has kept nothing by then is not told.
func TestCancelOvertakenByACheckpoint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, during, want string }{
		"the first one": {"", `"job 1"`, `["job 1"]`},
		"a newer one":   {`"job 1"`, `"job 2"`, `["job 2"]`},
		"none":          {`"job 1"`, "", `["job 1"]`},
		"none at all":   {"", "", "[]"},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			keep, kept := make(chan string), make(chan error)
			works := &worker{fake: fake{name: "away", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				for {
					select {
					case state := <-keep:
						kept <- tool.Checkpoint(ctx, json.RawMessage(state))
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				}
			}}}
			now := func(state string) {
				if state == "" {
					return
				}
				keep <- state
				if err := <-kept; err != nil {
					t.Errorf("Checkpoint(%s) = %v", state, err)
				}
			}
			w.tools.extra = []tool.Tool{works}
			p := &slowPresenter{pause: func() {}}
			w.start(func(c *engine.Config) {
				p.Presenter, c.Presenter = c.Presenter, p
			})
			id := w.begun(alice, w.calls("away", args{}))
			now(tc.before)
			p.pause = sync.OnceFunc(func() { now(tc.during) })
			w.cancel(id)
			time.Sleep(time.Minute)
			w.wantState(w.get(id), a2a.TaskStateCanceled)
			if got := fmt.Sprint(works.told); got != tc.want {
				t.Errorf("the tool is told of %s, want %s", got, tc.want)
			}
			w.idle(t, id)
		})
	}
}

// waiter is a toolset that, after it was asked once, answers no more until its context
// ends.
type waiter struct {
	tools []tool.Tool
	asked atomic.Int32
}

func (s *waiter) Name() string { return "waiter" }

func (s *waiter) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	if s.asked.Add(1) == 1 {
		return s.tools, nil
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Whoever sends a message waits no longer than he wants to, whatever a toolset does.
func TestSendEndsWithItsContext(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		set := &waiter{tools: []tool.Tool{&fake{name: "pay", call: func(tool.Context, map[string]any) (map[string]any, error) { return args{}, nil }}}}
		w.start(func(cfg *engine.Config) { cfg.Tools = tool.NewRegistry(set) })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, err := w.engine.Send(ctx, engine.Send{By: alice, Message: w.calls("pay", args{})})
			t.Logf("Send() = %v", err)
		}()
		pass(time.Hour)
		select {
		case <-sent:
		default:
			t.Error("Send() has not returned an hour after the end of its context")
			w.engine.Stop(0)
			<-sent
		}
	})
}

// hanging is a tool whose Cancel does not return.
type hanging struct {
	fake
	door chan struct{}
}

func (h *hanging) SupportsCancellation() bool { return true }
func (h *hanging) Cancel(string) bool         { <-h.door; return true }

// Stop waits for no tool that ignores being canceled, wherever that is stuck.
func TestStopWaitsForNoToolThatCannotBeCanceled(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		h := &hanging{door: make(chan struct{})}
		h.fake = fake{name: "hanging", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil, context.Cause(ctx)
		}}
		w.startTools(h)
		w.begun(alice, w.calls("hanging", args{}))
		stopped := w.stopping(0)
		time.Sleep(time.Hour)
		if !closedNow(stopped) {
			t.Error("Stop(0) has not returned after an hour")
		}
		close(h.door)
		<-stopped
	})
}

func closedNow(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
