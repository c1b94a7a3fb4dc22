package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A call that runs is told to stop by a call from Go and by a message alike, and its planner
// reads what is known of it, also when the process dies before the tool has stopped. Nobody
// else's call is canceled.
func TestCancelCallWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err     error // of the tool, once it is told to stop; nil: it returns a result
		ignores bool
		message bool
		want    task.Outcome
	}{
		"it stops":                    {errors.New("stopped"), false, false, task.OutcomeUnknown},
		"it stops after a message":    {errors.New("stopped"), false, true, task.OutcomeUnknown},
		"it proves that it did none":  {fmt.Errorf("not sent: %w", tool.ErrNoEffect), false, true, task.OutcomeCanceled},
		"it knows that it knows not":  {errors.Join(tool.ErrNoEffect, tool.ErrOutcomeUnknown), false, false, task.OutcomeUnknown},
		"it returns a result":         {nil, false, false, task.OutcomeOK},
		"it ignores that and is left": {nil, true, false, task.OutcomeUnknown},
	} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			pay := newKeeper("pay", func(ctx tool.Context, _ int) (map[string]any, error) {
				<-ctx.Done()
				if tc.ignores {
					time.Sleep(24 * time.Hour)
				}
				return map[string]any{"paid": true}, tc.err
			})
			w.tools.extra = []tool.Tool{pay}
			seen := newWitness()
			w.cfg.Planner = seen
			w.start()
			id := w.begun(alice, w.calls("pay", args{}))
			parsed, _ := engine.ParseID(string(id))
			if err := w.engine.CancelCall(w.ctx(), bob, parsed, "c1.1"); !errors.Is(err, task.ErrTaskNotFound) {
				t.Errorf("a stranger's CancelCall() = %v, want ErrTaskNotFound", err)
			}
			var err error
			if tc.message {
				m := w.reply(id, a2a.NewDataPart(map[string]any{"type": "call_cancel", "call": "c1.1"}))
				_, err = w.sendAs(alice, m)
			} else {
				err = w.engine.CancelCall(w.ctx(), alice, parsed, "c1.1")
			}
			w.must(err)
			pass(25 * time.Hour)
			w.ended(id)
			if r := w.mustResult(seen, id, "c1.1"); r.Outcome != tc.want {
				t.Errorf("the call ended %s, %q; want %s", r.Outcome, r.Error, tc.want)
			}
			if n := len(pay.seen()); n != 1 {
				t.Errorf("the tool was entered %d times, want once", n)
			}
		})
	}
}

// A message that cancels a call and says something else is refused, and cancels nothing.
func TestCancelCallSaysOneThing(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
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

var callNamed = regexp.MustCompile(`([\w.-]+) \((c\d+\.\d+)\)`)

// saidOf returns what the final status says of each call that it names, by id, with
// the name of its tool in front.
func saidOf(t *a2a.Task) map[string]string {
	text := statusText(t)
	said := map[string]string{}
	at := callNamed.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		said[text[m[4]:m[5]]] += text[m[0]:end]
	}
	return said
}

// A task that is canceled says of each call that had been started what came of it, or
// that nobody knows: whoever cancels must not believe that nothing has happened. It
// does not say so of a call that had not been started.
func TestCanceledTaskSaysWhatHasRun(t *testing.T) {
	t.Parallel()
	ways := map[string]func(w *world, id a2a.TaskID) error{
		"canceled": func(w *world, id a2a.TaskID) error { return w.engine.Cancel(w.ctx(), alice, mustID(id)) },
		"canceled by a decision": func(w *world, id a2a.TaskID) error {
			return w.decide(bob, id, approval.Answer{ID: w.toDecide(id), Verb: approval.Cancel})
		},
		"canceled by a rejection": func(w *world, id a2a.TaskID) error {
			return w.decide(bob, id, approval.Answer{ID: w.toDecide(id), Verb: approval.Reject})
		},
	}
	for name, cancel := range ways {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			runs := w.counted()
			w.cfg.Policy = policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{CancelsTask: true}})
			w.startTools(
				&fake{name: "pay", call: runs.holds},
				&fake{name: "ask", call: func(tool.Context, map[string]any) (map[string]any, error) {
					return nil, &tool.Suspension{Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: "which one?"}}}
				}},
			)
			id := w.begin(w.calls(
				"pay", args{}, "write", args{"amount": 1, "to": "x"}, "transfer", args{"amount": 1, "to": "x"}, "fail", args{}, "ask", args{},
			))
			w.until("all but one have come to where they stay", func() bool {
				h := w.header(id)
				return runs.count() == 1 && w.tools.count("fail") == 1 && artifact(w.get(id), "c1.2") != nil && h.Pending == 2 && w.audit("finished") >= 2
			})
			w.must(cancel(w, id))
			got := w.ended(id)
			w.wantState(got, a2a.TaskStateCanceled)
			said := saidOf(got)
			for call, want := range map[string][]string{
				"c1.1": {"pay", "had been started", "its outcome is unknown"},
				"c1.2": {"write", "finished"},
				"c1.4": {"fail"},
				"c1.5": {"ask", "started"},
			} {
				for _, word := range want {
					if !strings.Contains(said[call], word) {
						t.Errorf("the status says %q of %s, want %q in it", said[call], call, word)
					}
				}
			}
			for _, call := range []string{"c1.2", "c1.4"} {
				if strings.Contains(said[call], "nobody knows") {
					t.Errorf("the status says %q of %s, which has ended", said[call], call)
				}
			}
			for _, word := range []string{"had been started", "finished", "nobody knows"} {
				if strings.Contains(said["c1.3"], word) {
					t.Errorf("the status says %q of c1.3, which was never started", said["c1.3"])
				}
			}
			runs.open()
			w.until("the late result is recorded", func() bool { return w.audit("finished_late") > 0 })
		})
	}
}

// toDecide returns the id of the approval of the call of transfer.
func (w *world) toDecide(id a2a.TaskID) string {
	for _, a := range w.waiting(id) {
		if a.Kind == approval.KindCall {
			return a.ID
		}
	}
	w.t.Fatal("no call waits to be decided")
	return ""
}

// A call whose result nobody knows is still one when its task is canceled in place of
// an answer; and where nothing had been started, nothing is said to have been.
func TestCanceledTaskAtRestSaysWhatHasRun(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		h := halt(t, w, onOutcome, engine.Config{})
		w.cancel(h.id)
		got := w.ended(h.id)
		w.wantState(got, a2a.TaskStateCanceled)
		if said := saidOf(got)["c1.1"]; !strings.Contains(said, "pay") || !strings.Contains(said, "its outcome is unknown") {
			t.Errorf("the status says %q of c1.1, want that the outcome of pay is unknown", said)
		}
		asked := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		w.cancel(asked.ID)
		text := statusText(w.ended(asked.ID))
		if strings.Contains(text, "had been started") || strings.Contains(text, "nobody knows") {
			t.Errorf("status = %q of a task whose call was never started", text)
		}
	})
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
