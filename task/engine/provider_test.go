package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// What is pending when the process ends is put to the provider again by the next
// one, under the same id, and an approval that is being asked about is not asked about twice.
func TestProviderAfterRestart(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var ready atomic.Bool
		var asked atomic.Int32
		var ids sync.Map
		w.cfg.ProviderWait = 10 * time.Millisecond
		w.cfg.Decider = task.ProviderDecider(func(ctx context.Context, r tool.ConfirmationRequest) (bool, error) {
			asked.Add(1)
			ids.Store(r.ApprovalID+r.Digest, true)
			if ready.Load() {
				return true, nil
			}
			<-ctx.Done()
			return false, context.Cause(ctx)
		})
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}, "transfer", args{"amount": 2, "to": "x"}))
		w.wantState(w.send(w.decision(got.ID, reject(w.pending(got)[0], "no"))), a2a.TaskStateInputRequired)
		w.stop()
		ready.Store(true)
		w.restart()
		w.must(w.engine.Follow(w.ctx(), alice, mustID(got.ID), 0, engine.UntilEnd, func([]engine.Event) error { return nil }))
		w.wantState(w.get(got.ID), a2a.TaskStateCompleted)
		if n := asked.Load(); n > 3 {
			t.Errorf("the provider was asked %d times about two approvals in two processes, want at most 3", n)
		}
		different := 0
		ids.Range(func(any, any) bool { different++; return true })
		if different != 2 {
			t.Errorf("the questions about two approvals have %d different ids and digests", different)
		}
		w.wantRuns("transfer", 1)
	})
}

// offered is a provider of which a test has the questions, and gives the answers.
type offered struct {
	asks    chan tool.ConfirmationRequest
	answers chan bool
	over    chan error // why a question ended that was not answered
}

func newOffered() *offered {
	return &offered{asks: make(chan tool.ConfirmationRequest, 16), answers: make(chan bool), over: make(chan error, 16)}
}

func (o *offered) confirm(ctx context.Context, r tool.ConfirmationRequest) (bool, error) {
	o.asks <- r
	select {
	case yes := <-o.answers:
		return yes, nil
	case <-ctx.Done():
		o.over <- context.Cause(ctx)
		return false, context.Cause(ctx)
	}
}

// states are the states of a task's log in their order, each once in a row.
func (w *world) states(id a2a.TaskID) (states []string) {
	w.t.Helper()
	for _, e := range w.events(id) {
		var r struct {
			StatusUpdate struct{ Status struct{ State string } }
		}
		if !e.Public || json.Unmarshal(e.Data, &r) != nil || r.StatusUpdate.Status.State == "" {
			continue
		}
		if s := strings.TrimPrefix(r.StatusUpdate.Status.State, "TASK_STATE_"); len(states) == 0 || states[len(states)-1] != s {
			states = append(states, s)
		}
	}
	return states
}

// The provider is told what is asked, and its yes runs the call: the client sees the
// question in a working update, and is never asked itself.
func TestProviderIsAskedFirst(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		o := newOffered()
		w.cfg.Decider, w.cfg.ProviderWait = task.ProviderDecider(o.confirm), time.Hour
		w.start()
		sent := w.sent(w.calls("transfer", args{"amount": 7, "to": "x"}))
		var shown []string
		streamed := make(chan error, 1)
		go func() {
			streamed <- w.engine.Follow(w.ctx(), alice, sent.Task, 0, engine.UntilInput, func(events []engine.Event) error {
				for _, e := range events {
					shown = append(shown, string(e.Data))
				}
				return nil
			})
		}()
		r := <-o.asks
		got := w.get(a2a.TaskID(sent.Task.String()))
		w.wantState(got, a2a.TaskStateWorking)
		if ids := w.pending(got); len(ids) != 1 || ids[0] != r.ApprovalID {
			t.Errorf("the working update asks for %v, and the provider for %s; want the same", ids, r.ApprovalID)
		}
		a := w.onlyOne(got.ID)
		want := tool.ConfirmationRequest{
			ToolCallID: "c1.1", ToolName: "transfer", Input: `{"amount":7,"to":"x"}`, Hint: a.Question(),
			ApprovalID: a.ID, TaskID: string(got.ID), ContextID: got.ContextID, Digest: a.Digest, Requester: alice.Subject,
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("the provider is asked (-want +got):\n%s", diff)
		}
		o.answers <- true
		w.must(<-streamed)
		w.wantState(w.get(got.ID), a2a.TaskStateCompleted)
		if states := fmt.Sprint(w.states(got.ID)); states != "[WORKING COMPLETED]" {
			t.Errorf("states = %s, want no input-required", states)
		}
		if last := shown[len(shown)-1]; !strings.Contains(last, "TASK_STATE_COMPLETED") {
			t.Errorf("the stream ended with %s, want the end of the task", last)
		}
	})
}

// The provider is asked while a sibling of the call still runs.
func TestProviderIsAskedWhileSiblingRuns(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		o := newOffered()
		w.cfg.Decider, w.cfg.ProviderWait = task.ProviderDecider(o.confirm), time.Hour
		w.start()
		id := w.begin(w.calls("block", args{}, "transfer", args{"amount": 7, "to": "x"}))
		<-o.asks
		o.answers <- true
		w.until("the approved call has run beside its sibling", func() bool { return w.tools.count("transfer") == 1 })
		w.tools.release()
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
	})
}

// A provider's answer counts, also a late one. Its question ends at once when somebody else decides,
// or the task ends; and the client is asked when the provider fails, or is silent for its time.
func TestProviderHasItsTime(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context) (bool, error) {
		<-ctx.Done()
		return false, context.Cause(ctx)
	}
	decides := func(verb approval.DecisionType) func(w *world, id a2a.TaskID) error {
		return func(w *world, id a2a.TaskID) error {
			return w.decide(bob, id, approval.Decision{ID: w.onlyOne(id).ID, Type: verb})
		}
	}
	for name, tc := range map[string]struct {
		says func(ctx context.Context) (bool, error)
		do   func(w *world, id a2a.TaskID) error // while the task is left to the provider
		ends bool                                // the provider's context
		want a2a.TaskState
	}{
		"approves": {says: func(context.Context) (bool, error) { return true, nil }, want: a2a.TaskStateCompleted},
		"rejects":  {says: func(context.Context) (bool, error) { return false, nil }, want: a2a.TaskStateCanceled},
		"fails":    {says: func(context.Context) (bool, error) { return true, errors.New("no answer") }, want: a2a.TaskStateInputRequired},
		"panics":   {says: func(context.Context) (bool, error) { panic("broke") }, want: a2a.TaskStateInputRequired},
		"approved": {says: silent, do: decides(approval.Approve), ends: true, want: a2a.TaskStateCompleted},
		"rejected": {says: silent, do: decides(approval.Reject), ends: true, want: a2a.TaskStateCanceled},
		"canceled": {says: silent, do: func(w *world, id a2a.TaskID) error { return w.engine.Cancel(w.ctx(), alice, mustID(id)) }, ends: true, want: a2a.TaskStateCanceled},
		"silent": {says: silent, do: func(*world, a2a.TaskID) error {
			time.Sleep(time.Minute)
			return nil
		}, want: a2a.TaskStateInputRequired},
		"late": {says: func(context.Context) (bool, error) {
			time.Sleep(2 * time.Minute)
			return true, nil
		}, do: func(w *world, id a2a.TaskID) error {
			pass(time.Minute)
			w.wantState(w.get(id), a2a.TaskStateInputRequired)
			time.Sleep(time.Minute)
			return nil
		}, want: a2a.TaskStateCompleted},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			ended := false
			w.cfg.ProviderWait = time.Minute
			w.cfg.Decider = task.ProviderDecider(func(ctx context.Context, _ tool.ConfirmationRequest) (bool, error) {
				defer func() { ended = ctx.Err() != nil }()
				return tc.says(ctx)
			})
			w.start()
			id := w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "x"}))
			if tc.do != nil {
				w.wantState(w.get(id), a2a.TaskStateWorking)
				w.must(tc.do(w, id))
			}
			synctest.Wait()
			w.wantState(w.get(id), tc.want)
			if ended != tc.ends {
				t.Errorf("the provider's question has ended: %t, want %t", ended, tc.ends)
			}
			w.nothingDue(id)
		})
	}
}

// The provider of a tool is asked in place of that of the program about what the tool asks while it
// runs, also after a restart, and the client is not. Gates are not its business.
func TestToolProvider(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		o, ready := newOffered(), atomic.Bool{}
		w.cfg.ProviderWait = time.Hour
		confirm := func(ctx context.Context, r tool.ConfirmationRequest) (bool, error) {
			if ready.Load() {
				return o.confirm(ctx, r)
			}
			<-ctx.Done()
			return false, context.Cause(ctx)
		}
		w.cfg.ToolDeciders = map[string]task.Decider{"confirm": task.ProviderDecider(confirm), "transfer": task.ProviderDecider(confirm)}
		w.start()
		gate := w.sent(w.calls("transfer", args{"amount": 7, "to": "x"}))
		sent := w.begin(w.calls("confirm", args{"x": 1}))
		w.until("the tool has asked", func() bool { return len(w.pending(w.get(sent))) == 1 })
		w.stop()
		ready.Store(true)
		w.cfg.Decider = task.ProviderDecider(func(_ context.Context, r tool.ConfirmationRequest) (bool, error) {
			if r.ToolName == "confirm" {
				t.Errorf("the provider of the program is asked about %+v", r)
			}
			return false, errors.New("not me")
		})
		w.restart()
		if r := <-o.asks; r.ToolName != "confirm" || r.Hint != "really?" {
			t.Errorf("the provider is asked %+v", r)
		}
		w.wantState(w.get(sent), a2a.TaskStateWorking)
		o.answers <- true
		w.wantState(w.ended(sent), a2a.TaskStateCompleted)
		w.wantRuns("confirm", 1)
		if states := fmt.Sprint(w.states(sent)); states != "[WORKING COMPLETED]" {
			t.Errorf("states = %s, want no input-required", states)
		}
		w.wantState(w.get(a2a.TaskID(gate.Task.String())), a2a.TaskStateInputRequired)
		w.wantRuns("transfer", 0)
	})
}
